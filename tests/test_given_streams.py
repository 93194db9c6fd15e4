"""Documents that other programs hold: one that cannot be read is rejected alone, by every door."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import extract
from extract import DocumentError, Filter, Joins, Prefilter, Scheme, Subscriptions
from extract.filtertool.matchers.protocol import Select

GOOD = b"<a><b>1</b></a>"


class Reads:
    """A stream of which nothing is known but `read`."""

    def __init__(self, *parts: Any) -> None:
        self._parts = list(parts)

    def read(self, size: int = -1) -> Any:
        part = self._parts.pop(0) if self._parts else b""
        if isinstance(part, BaseException):
            raise part
        return part


def reads(*parts: Any) -> Any:
    return Reads(*parts)


class FailingSeek(io.BytesIO):
    def seek(self, *where: Any) -> int:
        raise ValueError("no seek today")


class FailingTell(io.BytesIO):
    def tell(self) -> int:
        raise RuntimeError("no tell today")


class FailingName(io.BytesIO):
    @property
    def name(self) -> str:
        raise ZeroDivisionError


class FailingReadInto(Reads):
    def readinto(self, target: Any) -> Any:
        raise KeyError("no buffer")


class Unequal(Reads):
    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


class FailingPath(os.PathLike[str]):
    def __fspath__(self) -> str:
        raise RuntimeError("no path today")


def closed() -> io.BytesIO:
    stream = io.BytesIO(GOOD)
    stream.close()
    return stream


def released() -> memoryview:
    view = memoryview(bytearray(GOOD))
    view.release()
    return view


# What is given, and a part of the reason for which it is rejected.
REJECTED: dict[str, tuple[Callable[[], Any], str]] = {
    "closed file": (closed, "closed file"),
    "ValueError": (lambda: Reads(ValueError("broken pipe of mine")), "broken pipe of mine"),
    "error later": (lambda: Reads(b"<a>", RuntimeError("half a document")), "half a document"),
    "error, then a document": (lambda: Reads(OSError("first half is lost"), GOOD), "first half"),
    "KeyError": (lambda: Reads(KeyError("k")), "k"),
    "StopIteration": (lambda: Reads(StopIteration()), "StopIteration"),
    "OSError": (lambda: Reads(OSError(5, "input/output error")), "input/output error"),
    "text": (lambda: Reads("<a><b>1</b></a>"), "opened for bytes"),
    "None": (lambda: Reads(None), "does not wait"),
    "None after a document": (lambda: Reads(GOOD, None), "does not wait"),
    "a number": (lambda: Reads(5), "returned int, not bytes"),
    "released view": (released, "released"),
    "encoding that libxml2 lacks": (
        lambda: b'<?xml version="1.0" encoding="latin-1"?><a><b>1</b></a>',
        "ncoding",
    ),
    "path that raises": (FailingPath, "no path today"),
    "path with NUL": (lambda: "a\0b", "null byte"),
    "surrogate": (lambda: "\ud800.xml", "surrogates"),
}
TAKEN: dict[str, Callable[[], Any]] = {
    "bytearray": lambda: bytearray(GOOD),
    "view": lambda: memoryview(b"x" + GOOD)[1:],
    "every second byte": lambda: memoryview(bytes(c for b in GOOD for c in (b, 0)))[::2],
    "stream of bytearrays": lambda: Reads(bytearray(GOOD)),
    "stream of views": lambda: Reads(memoryview(GOOD)),
    "more than asked for": lambda: Reads(b"<a><b>1</b>" + b" " * (1 << 23) + b"</a>"),
    "in small parts": lambda: Reads(*[GOOD[at : at + 1] for at in range(len(GOOD))]),
    "no seek": lambda: FailingSeek(GOOD),
    "no tell": lambda: FailingTell(GOOD),
    "no name": lambda: FailingName(GOOD),
    "no readinto": lambda: FailingReadInto(GOOD),
    "no comparison": lambda: Unequal(GOOD),
}
NO_DOCUMENT: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "number": lambda: 5,
    "object": object,
    "text stream": lambda: io.StringIO("<a/>"),
    "XML as a string": lambda: "<a/>",
}
WAYS: dict[str, tuple[Select, str]] = {
    "doc": ("doc", "auto"),
    "count": ("count", "auto"),
    "nodes": ("nodes", "auto"),
    "output": ("output", "auto"),
    "lxml": ("nodes", "lxml"),
}


def scheme_for(select: Select) -> Scheme:
    query = "for $b in //b return <c>{ $b }</c>" if select == "output" else "//b"
    return extract.prepare(Subscriptions.of({"q": query, "other": query}))


@pytest.fixture(scope="module", params=list(WAYS))
def ready(request: pytest.FixtureRequest) -> Filter:
    select, matcher = WAYS[request.param]
    return Filter(scheme_for(select), select=select, matcher=matcher)


def rows(table: Any) -> list[str]:
    names: list[str] = table.column(0).to_pylist()
    return names[::2]  # two queries match each document


@pytest.mark.parametrize("kind", REJECTED)
def test_a_document_that_cannot_be_read_is_rejected_alone(ready: Filter, kind: str) -> None:
    made, reason = REJECTED[kind]
    table = ready.table([("before", GOOD), ("bad", made()), ("after", GOOD)])
    assert rows(table) == ["before", "after"]
    (rejected,) = ready.rejected.to_pylist()
    assert rejected["document"] == "bad"
    assert reason in rejected["reason"]
    each = [(name, len(part)) for name, part in ready.each([("bad", made()), ("after", GOOD)])]
    assert each == [("bad", 0), ("after", 2)]


@pytest.mark.parametrize("kind", TAKEN)
def test_a_stream_may_be_poor(ready: Filter, kind: str) -> None:
    table = ready.table([("before", GOOD), ("poor", TAKEN[kind]()), ("after", GOOD)])
    assert rows(table) == ["before", "poor", "after"]


@pytest.mark.parametrize("kind", NO_DOCUMENT)
def test_what_is_no_document_is_a_type_error_before_any_is_read(ready: Filter, kind: str) -> None:
    stream = io.BytesIO(GOOD)
    with pytest.raises(TypeError):
        ready.table([("first", stream), ("no document", NO_DOCUMENT[kind]())])
    assert stream.tell() == 0


@pytest.mark.parametrize("name", [None, 5, b"bytes", Path("a.xml"), ("a",)])
def test_a_name_is_a_string(ready: Filter, name: Any) -> None:
    stream = io.BytesIO(GOOD)
    with pytest.raises(TypeError, match="the name of a document is a string"):
        ready.table([("first", stream), (name, GOOD)])
    with pytest.raises(TypeError, match="the name of a document is a string"):
        ready.table([("first", GOOD), (name, GOOD)])
    assert stream.tell() == 0
    with pytest.raises(TypeError, match="the name of a document is a string"):
        list(ready.each([(name, GOOD)]))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_not_about_the_document_passes(ready: Filter, error: type[BaseException]) -> None:
    with pytest.raises(error):
        ready.table([("before", GOOD), ("bad", reads(b"<a>", error()))])


def join_rejections(document: Any, name: Any = "n") -> list[str]:
    joins = Joins({"j": "S//b->x FOLLOWED BY{x=y, 9} S//b->y"})
    joins.process("S", name, document, 1)
    return [one.reason for one in joins.rejected]


DOORS: dict[str, Callable[[Any], Any]] = {
    "match": lambda document: list(extract.match(scheme_for("nodes"), document)),
    "count": lambda document: list(extract.count(scheme_for("count"), document)),
    "outputs": lambda document: list(extract.outputs(scheme_for("output"), document)),
    "by_priority": lambda document: list(extract.by_priority(scheme_for("nodes"), document)),
    "project": lambda document: Prefilter(scheme_for("nodes")).project(document),
    "open": lambda document: Prefilter(scheme_for("nodes")).open(document),
    "write": lambda document: Prefilter(scheme_for("nodes")).write(document, io.BytesIO()),
    "chunk": lambda document: [one.xml() for one in extract.chunk(scheme_for("nodes"), document)],
}


@pytest.mark.parametrize("kind", REJECTED)
@pytest.mark.parametrize("door", DOORS)
def test_one_document_that_cannot_be_read_is_a_document_error(door: str, kind: str) -> None:
    made, reason = REJECTED[kind]
    with pytest.raises(DocumentError) as caught:
        DOORS[door](made())
    assert reason in caught.value.reason


@pytest.mark.parametrize("kind", TAKEN)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_poor_streams(door: str, kind: str) -> None:
    assert DOORS[door](TAKEN[kind]())


@pytest.mark.parametrize("kind", NO_DOCUMENT)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_is_no_document(door: str, kind: str) -> None:
    with pytest.raises(TypeError):
        DOORS[door](NO_DOCUMENT[kind]())


def test_the_name_of_one_document_is_a_string() -> None:
    name: Any = 5
    for call in (extract.match, extract.count, extract.by_priority):
        with pytest.raises(TypeError, match="the name of a document is a string"):
            list(call(scheme_for("nodes"), GOOD, name=name))
    with pytest.raises(TypeError, match="the name of a document is a string"):
        join_rejections(GOOD, name)


@pytest.mark.parametrize("kind", REJECTED)
def test_joins_reject_a_document_that_cannot_be_read(kind: str) -> None:
    made, reason = REJECTED[kind]
    (rejected,) = join_rejections(made())
    assert reason in rejected


@pytest.mark.parametrize("kind", TAKEN)
def test_joins_take_poor_streams(kind: str) -> None:
    assert join_rejections(TAKEN[kind]()) == []


@pytest.mark.parametrize("kind", NO_DOCUMENT)
def test_joins_refuse_what_is_no_document(kind: str) -> None:
    with pytest.raises(TypeError):
        join_rejections(NO_DOCUMENT[kind]())


def test_a_large_stream_is_read_once_for_outputs() -> None:
    """One above the size that the engine takes was read again where it had ended."""
    ready = Filter(scheme_for("output"), select="output")
    large = b"<a><b>1</b>" + (b" " * 1023 + b"\n<c/>") * (1 << 15) + b"</a>"
    table = ready.table([("once", reads(large)), ("file", io.BytesIO(large)), ("bytes", large)])
    assert rows(table) == ["once", "file", "bytes"]
