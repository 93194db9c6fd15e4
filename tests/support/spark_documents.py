"""Documents and queries that tests of the Spark engine share."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from extract import Scheme
from extract.pipeline import prepare
from extract.scenarios import scenario
from extract.subscriptions import Subscription, Subscriptions


@cache
def university_scheme() -> Scheme:
    """Queries of all kinds: for pieces, for whole documents, rejected, dead, of later versions."""
    university = scenario("university")
    queries = {one.id: one.xpath for one in university.queries(40)}
    queries |= {"many": "count(//student)", "wrong": "//[", "none": "/db/zzz", "mark": "//name"}
    later = Subscription("later", "//name[ends-with(., 'n')]/upper-case(.)", version="2.0")
    return prepare(university.schema(), Subscriptions.of([*queries.items(), later]), 3)


@cache
def document(seed: int) -> bytes:
    """A document of the university scenario."""
    return b"".join(scenario("university").document(8_000, seed=seed))


def write_documents(folder: Path) -> Path:
    """Good documents, and one of each kind that makes trouble."""
    (folder / "deep").mkdir(parents=True)
    for n in range(4):
        (folder / f"{n}.xml").write_bytes(document(n))
    (folder / "deep" / "9.xml.gz").write_bytes(gzip.compress(document(9)))
    (folder / "broken.xml").write_bytes(b"<db><student>")
    (folder / "odd.xml").write_bytes(b"<db><student><zzz><name>Z</name></zzz></student></db>")
    (folder / "empty.xml").write_bytes(b"")
    return folder


def write_poison(path: Path) -> None:
    """Gives a document a name in its middle that has the bytes ``POISON``."""
    data = path.read_bytes()
    middle = data.index(b"<name>", len(data) // 2) + len(b"<name>")
    path.write_bytes(data[:middle] + b"POISON " + data[middle:])
