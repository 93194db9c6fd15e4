"""Structured Streaming: documents that arrive in a directory or in a feed, each filtered once.

Spark's checkpoint records which documents belong to which batch; after a crash Spark repeats the
last batch. So each batch writes a directory of its own, which appears complete or not at all, and
which a repetition of the batch replaces. The scheme of a batch is recorded before the batch begins:
a scheme that is revised while the stream runs is used from the next batch on, and not in a
repetition.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from extract.chunktool.input.find import InputFile, input_file, with_messages
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions
from extract.client.address import is_feed
from extract.files import whole_file
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.directory import REPORT, result_directory
from extract.filtertool.output.writers import Format
from extract.filtertool.spark.engine import run_into_directory
from extract.filtertool.spark.feed_results import FeedTarget
from extract.filtertool.spark.feed_source import FeedArrivals
from extract.scheme.fingerprint import absolute_scheme, scheme_fingerprint
from extract.scheme.model import Scheme

_PINNED: Final = "extract-schemes"  # directories in the checkpoint
_FETCHED: Final = "extract-fetched"
_RESULTS: Final = "extract-results"
_EVER: Final = 36_500  # days
KEPT_BATCHES: Final = 100  # batches whose schemes are recorded, as many as in Spark's own log


def stream(
    spark: SparkSession,
    scheme: str | Path,
    documents: str | Path,
    directory: str | Path,
    checkpoint: str | Path,
    *,
    options: Options | None = None,
    matcher: str = AUTO,
    form: Format = "parquet",
    pattern: str = "*.xml*",
    most: int = 10_000,
    seconds: float | None = 10.0,
    remember_days: int | None = None,
    messages: MessageOptions = AS_NAMED,
) -> StreamingQuery:
    """Filters documents as they arrive, until the returned query is stopped.

    Every batch of documents has a directory of results in ``directory``, such as ``00000007``, as
    `extract run` writes it; ``spark.read.parquet("directory/*/matches")`` reads them all. A
    document must be complete when it appears: write it elsewhere on the same file system, and
    rename it. A document that is overwritten later is not read again.

    Documents may come out of a feed of a broker (``extract serve``), and results may go into one:
    then ``documents`` or ``directory`` is its URL, ``http://host:8080/feeds/orders``. A token is
    found as `extract.Client` finds it, in the environment. Each query that matches a document is a
    document of the feed, ``<match document="..." query="..." count="...">``, with the rows as
    ``<node>`` elements; each rejection is a ``<rejected>``. They are published once, also when a
    batch is repeated within a day; after that, at least once.

    Args:
        spark: The session.
        scheme: The scheme's file, or the URL of a database. It is read again before each batch:
            changes by ``extract subs`` apply from the next batch on.
        documents: The directory, which workers and driver must see; or the URL of a feed.
        directory: Where the results go, which workers and driver must see; or the URL of a feed.
        checkpoint: A directory in which Spark records its progress. A stream with the same
            checkpoint continues where it was. With a feed, workers must see it, too.
        options: How to filter.
        matcher: The name of the matcher.
        form: The format of the results in a directory.
        pattern: The names of documents.
        most: The largest number of documents in a batch.
        seconds: The time between looking for documents; None to filter the present ones, and end.
        remember_days: How long Spark remembers, in memory, which documents it has seen; None for
            ever. A document that was changed so many days before the newest one, and arrives after
            it, is never filtered.
        messages: What is known of files that hold many documents; ``pattern`` must fit them.
    """
    noted = Path(checkpoint).absolute()
    chosen = options or Options()
    factory = load_matcher(matcher)
    schemes = BatchSchemes(scheme, noted / _PINNED)
    arrivals: FeedArrivals | FileArrivals
    if is_feed(documents):
        arrivals = FeedArrivals(str(documents), most, noted / _FETCHED)
    else:
        arrivals = FileArrivals(documents, pattern, most, remember_days, messages)
    target: FeedTarget | DirectoryTarget
    if is_feed(directory):
        target, form = FeedTarget(str(directory), noted / _RESULTS), "jsonl"
    else:
        target = DirectoryTarget(Path(directory).absolute())
    target.check()

    def filter_batch(batch: DataFrame, number: int) -> None:
        started = time.perf_counter()

        def run(partial: Path) -> None:
            job = Job(schemes.of_batch(number), factory, chosen)
            with arrivals.inputs(batch) as inputs:
                context = batch.sparkSession.sparkContext
                report = run_into_directory(context, job, inputs, partial, form)
            report.seconds["batch"] = time.perf_counter() - started
            text = json.dumps(report.to_json(), indent=1, ensure_ascii=False)
            (partial / REPORT).write_text(f"{text}\n", encoding="utf-8", errors="replace")

        target.write(number, run)

    writer = arrivals.frame(spark).writeStream.foreachBatch(filter_batch)
    writer = writer.option("checkpointLocation", os.path.abspath(checkpoint))
    if seconds is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{seconds} seconds").start()


class DirectoryTarget:
    """A directory with a directory of results for each batch; a repetition replaces its own."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def check(self) -> None:
        """Makes the directory.

        Raises:
            OSError: It cannot be made.
        """
        self._top.mkdir(parents=True, exist_ok=True)

    def write(self, number: int, run: Callable[[Path], None]) -> None:
        """Has the results of a batch written."""
        with result_directory(self._top / f"{number:08d}") as partial:
            run(partial)


class FileArrivals:
    """Documents that appear in a directory; see `stream` for the arguments."""

    def __init__(
        self,
        documents: str | Path,
        pattern: str,
        most: int,
        remember_days: int | None,
        messages: MessageOptions,
    ) -> None:
        self._documents = documents
        self._pattern = pattern
        self._most = most
        self._days = _EVER if remember_days is None else remember_days
        self._messages = messages

    def frame(self, spark: SparkSession) -> DataFrame:
        """Returns the documents as a stream."""
        return (
            spark.readStream.format("binaryFile")
            .schema("path string, modificationTime timestamp, length bigint, content binary")
            .option("pathGlobFilter", self._pattern)
            .option("recursiveFileLookup", "true")
            .option("maxFilesPerTrigger", self._most)
            .option("maxFileAge", f"{self._days}d")
            .load(os.path.abspath(self._documents))
        )

    @contextmanager
    def inputs(self, batch: DataFrame) -> Iterator[list[InputFile]]:
        """The documents of a batch."""
        # Only paths: workers read the documents themselves.
        paths = [row["path"] for row in batch.select("path").collect()]
        yield sorted([with_messages(_input(path), self._messages) for path in paths])


def _input(uri: str) -> InputFile:
    """Returns a document of the local file system by its path, named as in `extract run`."""
    if uri.startswith("file:"):
        return input_file(unquote("/" + uri[len("file:") :].lstrip("/")))
    return InputFile(uri, 1)


class BatchSchemes:
    """Records the scheme of each batch, so that a repetition uses the same one.

    Args:
        current: The file or database with the current scheme.
        pins: The directory of schemes, and of the records of batches.
    """

    def __init__(self, current: str | Path, pins: Path) -> None:
        self._current = absolute_scheme(current)
        self._pins = pins
        self._loaded: tuple[str, Scheme] | None = None

    def of_batch(self, number: int) -> Scheme:
        """Returns the scheme of a batch: the recorded one, or the current one."""
        self._pins.mkdir(parents=True, exist_ok=True)
        pin = self._pins / f"batch-{number:08d}"
        if not pin.exists():
            digest = scheme_fingerprint(self._current)
            if not self._file(digest).exists():
                Scheme.load(self._current).save(self._file(digest))  # with all its members
            with whole_file(pin) as stream:
                stream.write(digest.encode())
            if number % KEPT_BATCHES == 0:
                self._forget(number - KEPT_BATCHES)
        digest = pin.read_text(encoding="ascii")
        if self._loaded is None or self._loaded[0] != digest:
            self._loaded = (digest, Scheme.load(self._file(digest)))
        return self._loaded[1]

    def _forget(self, before: int) -> None:
        """Removes the records of earlier batches, and schemes that no later batch has."""
        used = set()
        for pin in self._pins.glob("batch-*"):
            if int(pin.name.removeprefix("batch-")) < before:
                pin.unlink()
            else:
                used.add(self._file(pin.read_text(encoding="ascii")))
        for file in self._pins.glob("*.json*"):  # with the files of members beside them
            if not any(file.name.startswith(one.name) for one in used):
                file.unlink()

    def _file(self, digest: str) -> Path:
        return self._pins / f"{digest}.json"
