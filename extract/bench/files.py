"""``extract bench files``: very many small files, and the same messages in one file of each form.

What the file system costs is measured alone, and next to it what extract and a plain loop with lxml
make of the same files.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
from lxml import etree
from pyarrow import parquet

from extract.bench.stock import alerts, messages, stock_schema
from extract.bench.table import ResultTable
from extract.chunktool.input.find import InputFile, search_inputs
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions
from extract.filtertool.options import Options
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.pipeline import run as run_pipeline
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

_MESSAGES: Final = 100_000
_ALERTS: Final = 100_000
_A_FOLDER: Final = 1_000  # files
_BATCH: Final = 4_096
_TIMES: Final = 3  # that everything is measured; the best counts

Row = list[str | int | float]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures all on one core, in processor seconds of all processes."""
    count, registered = max(20, int(_MESSAGES * scale)), max(20, int(_ALERTS * scale))
    scheme = prepare(stock_schema(), Subscriptions.of(alerts(registered)), 1)
    quotes = list(messages(count))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        files = _write_files(place / "docs", quotes)
        matched = _in_process(scheme, quotes)
        rows = [
            ["in this process, extract.Filter", "match", *_best(matched, count)],
            *_many_files(scheme, place, files),
        ]
        for name, (path, options) in _write_forms(place, quotes).items():
            rows.append([name, "run", *_best(_running(scheme, place, path, options), count)])
    plain = next(row for row in rows if row[1] == "open, read and lxml's parse")
    for row in rows:
        row.append(float(plain[2]) / max(1e-9, float(row[2])))
    columns = ("messages", "step", "seconds", "messages a second", "x lxml's loop")
    title = f"{count:,} messages of {sum(map(len, quotes)) // count} bytes, {registered:,} alerts"
    remarks = (
        "run: extract run --engine local --select doc -j 1, from finding files to Parquet files, "
        "without the scheme;",
        "it compiles the alerts, and hands batches and rows from process to process. Files are in "
        "the cache of the system.",
    )
    return ResultTable(f"{title}, one core", columns, rows, remarks)


def _seconds() -> float:
    """Processor seconds of this process and of those that have ended."""
    return sum(os.times()[:4])


def _best(work: Callable[[], object], count: int) -> Row:
    """The shortest time, and how many messages a second that is."""
    times = []
    for _ in range(_TIMES):
        started = _seconds()
        work()
        times.append(_seconds() - started)
    return [min(times), int(count / max(0.01, min(times)))]  # the system counts hundredths


def _in_process(scheme: Scheme, quotes: list[bytes]) -> Callable[[], object]:
    ready = Filter(scheme)
    documents = [(f"m{number}", quote) for number, quote in enumerate(quotes)]

    def work() -> None:
        for start in range(0, len(documents), _BATCH):
            ready.table(documents[start : start + _BATCH])

    return work


def _running(
    scheme: Scheme, place: Path, path: Path, options: MessageOptions = AS_NAMED
) -> Callable[[], object]:
    def work() -> None:
        found = search_inputs([str(path)], options).documents
        shutil.rmtree(place / "out", ignore_errors=True)
        report = run_pipeline(scheme, found, place / "out", options=Options("doc"), jobs=1)
        assert report.complete, report.examples

    return work


def _many_files(scheme: Scheme, place: Path, files: list[str]) -> list[Row]:
    """What each step on many files takes: of the system, of lxml, and of extract."""
    name = f"{len(files):,} files"

    def system() -> None:
        for path in files:
            file = os.open(path, os.O_RDONLY)
            os.read(file, 1 << 16)
            os.close(file)

    def plain() -> None:
        for path in files:
            with open(path, "rb") as file:
                file.read()

    def parsed() -> None:
        for path in files:
            with open(path, "rb") as file:
                etree.fromstring(file.read())

    def found() -> list[InputFile]:
        return list(search_inputs([str(place / "docs")]).documents)

    count = len(files)
    steps: dict[str, Callable[[], object]] = {
        "the system's open, read, close": system,
        "Python's open and read": plain,
        "open, read and lxml's parse": parsed,
        "find them": found,
        "run": _running(scheme, place, place / "docs"),
    }
    rows: list[Row] = [[name, step, *_best(work, count)] for step, work in steps.items()]
    one = Path(files[0])
    rows.append(["1 file", "run", *_best(_running(scheme, place, one), 1)])
    return rows


def _write_files(folder: Path, quotes: list[bytes]) -> list[str]:
    """A file for each message; their paths."""
    paths = []
    for number, quote in enumerate(quotes):
        inside = folder / f"{number // _A_FOLDER:04d}"
        if not number % _A_FOLDER:
            inside.mkdir(parents=True)
        paths.append(f"{inside}/{number:07d}.xml")
        with open(paths[-1], "wb", 0) as file:
            file.write(quote)
    return paths


def _write_forms(place: Path, quotes: list[bytes]) -> dict[str, tuple[Path, MessageOptions]]:
    """One file with all messages, in each form."""
    (place / "all.xml").write_bytes(b"\n".join(quotes))
    (place / "feed.xml").write_bytes(b"<feed>" + b"\n".join(quotes) + b"</feed>")
    texts = [quote.decode() for quote in quotes]
    with (place / "all.ndjson").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"document": text}) + "\n" for text in texts)
    table = pa.table({"document": texts})
    parquet.write_table(table, place / "all.parquet")
    with (
        pa.OSFile(str(place / "all.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    return {
        "one file, --messages xml": (place / "all.xml", MessageOptions(kind="xml")),
        "one file, --records stock": (place / "feed.xml", MessageOptions(records="stock")),
        "one file, NDJSON": (place / "all.ndjson", AS_NAMED),
        "one file, Parquet": (place / "all.parquet", AS_NAMED),
        "one file, Arrow": (place / "all.arrow", AS_NAMED),
    }
