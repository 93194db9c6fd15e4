"""The flow of a document: how many modules it passes between `DocumentFilter.process` and Parquet.

``python -m tests.filtertool.test_flow`` prints the way, module by module.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

import extract
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.writers import open_writer

PACKAGE = Path(extract.__file__).parent
SCHEMA = PACKAGE.parent / "schemas" / "university.dtd"
STUDENTS = b"".join(b"<student id='s%d'><name>n</name></student>" % n for n in range(500))
QUERIES = {"names": "//student/name", "one": "/db/student[@id = 's7']/name"}


class Call(NamedTuple):
    """A call of a function of the package."""

    module: str
    function: str


@dataclass(frozen=True)
class Flow:
    """The calls that a document has caused, in their order."""

    calls: tuple[Call, ...]

    @classmethod
    def of(cls, work: Callable[[], object]) -> Flow:
        """Notes the calls of functions of the package while something is done."""
        calls: list[Call] = []

        def note(frame: FrameType, event: str, _: Any) -> None:
            file = Path(frame.f_code.co_filename)
            name = frame.f_code.co_qualname
            # A value that is asked for its size is no step on the way.
            if event == "call" and file.is_relative_to(PACKAGE) and not name.endswith("__len__"):
                module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
                calls.append(Call(module, name))

        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)
        return cls(tuple(calls))

    def changes(self, rooms: tuple[str, ...] = ()) -> int:
        """Counts the changes of module; a package in ``rooms`` counts as one module."""
        places = [
            next((room for room in rooms if call.module.startswith(room)), call.module)
            for call in self.calls
        ]
        return sum(one != other for one, other in pairwise(places))

    def __str__(self) -> str:
        modules, functions = {call.module for call in self.calls}, set(self.calls)
        lines = [
            f"{len(modules)} modules, {len(functions)} functions, {len(self.calls)} calls, "
            f"{self.changes()} changes of module"
        ]
        for module, calls in groupby(self.calls, key=lambda call: call.module):
            names = list(dict.fromkeys(call.function for call in calls))
            lines.append(f"  {module}: {', '.join(names)}")
        return "\n".join(lines)


def flow_of(matcher: str, queries: dict[str, str], document: bytes) -> Flow:
    """The flow of a document that is not the first, through a filter and into Parquet."""
    schema = extract.Schema.load(SCHEMA, root="db")
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries), 2)
    ready = document_filter(scheme, load_matcher(matcher), Options())
    with tempfile.TemporaryDirectory() as directory:
        writer = open_writer(Path(directory), "parquet", ready.plan.ids, "nodes")

        def one() -> None:
            (done,) = ready.process([("d", document)])
            writer.write(done.document, done.findings)
            writer.reject(done.rejections)

        for _ in range(3):
            one()
        flow = Flow.of(one)
        writer.close()
    return flow


@pytest.mark.parametrize("matcher", ["lxml", "columnar"])
def test_a_document_does_not_go_in_circles(matcher: str) -> None:
    flow = flow_of(matcher, QUERIES, b"<db>" + STUDENTS + b"</db>")
    # What a matcher does inside of its package is its own.
    own = ("filtertool.matchers.columnar", "filtertool.matchers.lxml")
    assert flow.changes(own) <= 78, f"\n{flow}"
    assert [call for call in flow.calls if call.function == "open_source"][1:] == []


def main() -> None:
    """Prints the flow with each matcher."""
    for matcher in ("lxml", "columnar"):
        print(matcher, flow_of(matcher, QUERIES, b"<db>" + STUDENTS + b"</db>"))


if __name__ == "__main__":
    main()
