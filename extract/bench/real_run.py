"""A whole run next to a script with lxml: the same documents, queries and number of processes."""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_sets import RealSet
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.options import Options
from extract.pipeline import run
from extract.scheme import Scheme
from extract.subscriptions import Subscriptions

_SELECT: Final[Select] = "count"
_SAMPLE: Final = 200  # queries
_STARTING: Final = 2.0  # seconds of a process before it works, on a busy machine


class RunSeconds(NamedTuple):
    """Processor time of all processes: of the script, and of `extract run --engine local`.

    What is lost in the noise of starting may be 0 or less.
    """

    loop: float
    ours: float


def run_seconds(one: RealSet, scheme: Scheme) -> RunSeconds:
    """Measures a run and a script with lxml, both without what they take for the smallest document,
    once for each process: that is their start.

    Args:
        one: The documents and queries.
        scheme: The scheme of the queries.
    """
    jobs = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        tiny, every = Path(folder, "tiny"), Path(folder, "every")
        smallest = min(one.documents, key=len)
        for path, documents in ((tiny, (smallest,) * jobs), (every, one.documents)):
            path.mkdir()
            for number, document in enumerate(documents):
                (path / f"{number}.xml").write_bytes(document)

        def ours(path: Path) -> Callable[[], object]:
            files = sorted(map(str, path.iterdir()))
            into = f"{path}.ours"
            return lambda: run(scheme, files, into, options=Options(_SELECT), jobs=jobs)

        def loop(path: Path) -> Callable[[], object]:
            files = sorted(map(str, path.iterdir()))
            return lambda: _script(one.queries, files, Path(f"{path}.loop"), jobs)

        spent = {
            (name, path): _processor_seconds(work(path))
            for path in (tiny, every)
            for name, work in (("ours", ours), ("loop", loop))
        }
    return RunSeconds(
        spent["loop", every] - spent["loop", tiny], spent["ours", every] - spent["ours", tiny]
    )


def is_quick(one: RealSet, seconds: float) -> bool:
    """Whether the loop takes less for all documents, by a sample of the queries.

    One XPath can take libxml2 minutes: so the sample runs in a process that is ended if need be.
    """
    start = multiprocessing.get_context("spawn")
    sample = one.part(_SAMPLE, len(one.documents))
    worker = start.Process(target=_loop, args=(sample.queries, sample.documents))
    worker.start()
    worker.join(_STARTING + seconds * len(sample.queries) / len(one.queries))
    if worker.is_alive():
        worker.kill()
        worker.join()
        return False
    return worker.exitcode == 0


def _loop(queries: Subscriptions, documents: tuple[bytes, ...]) -> None:
    loop = PlainLoop(queries, _SELECT)
    for document in documents:
        loop.rows(document)


def _script(queries: Subscriptions, files: list[str], into: Path, jobs: int) -> None:
    """What one would write: each process compiles the queries, takes files and writes Parquet."""
    into.mkdir()
    shares = [files[number::jobs] for number in range(jobs)]
    start = multiprocessing.get_context("spawn")
    workers = [
        start.Process(target=_share, args=(queries, share, into / f"{number}.parquet"))
        for number, share in enumerate(shares)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _share(queries: Subscriptions, files: list[str], into: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    loop = PlainLoop(queries, _SELECT)
    tables = [loop.table(path, Path(path).read_bytes()) for path in files]
    if tables:
        parquet.write_table(pa.concat_tables(tables, promote_options="permissive"), into)


def _processor_seconds(work: Callable[[], object]) -> float:
    """What this process and its children take for some work."""

    def spent() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum([one.ru_utime + one.ru_stime for one in both])

    before = spent()
    work()
    return spent() - before
