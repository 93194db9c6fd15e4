"""The report of a run: what ``report.json`` says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extract.chunktool.input.find import SkippedFile
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO
from extract.filtertool.results.account import Account
from extract.filtertool.results.outcome import Rejection
from extract.scheme.model import Scheme


class Report(Account):
    """The account of a run, with what ran.

    Args:
        scheme: The scheme.
        engine, matcher: The names of the engine and the matcher.
        select: What was asked for.

    Attributes:
        parallel: What was gained by running tasks in parallel; empty where it was not measured.
    """

    def __init__(self, scheme: Scheme, engine: str, matcher: str, select: Select) -> None:
        super().__init__()
        self.scheme = scheme
        self.engine = engine
        self._matcher = matcher
        self.select = select
        self.parallel: dict[str, Any] = {}

    @property
    def matcher(self) -> str:
        """The matcher that ran; for ``auto`` those that it chose, the busiest first."""
        figures = self.figures()
        ran = {name: figures.get(f"{name}_units", 0) for name in ("columnar", "lxml")}
        ran["push"] = figures.get("push_documents", 0) if figures.get("push_questions") else 0
        chosen = sorted([name for name, units in ran.items() if units], key=lambda n: -ran[n])
        return " and ".join(chosen) if self._matcher == AUTO and chosen else self._matcher

    def ran(self, scheme: Scheme, matcher: str) -> None:
        """Notes which scheme and matcher a run was for, where rows are of a part of the scheme."""
        self.scheme, self._matcher = scheme, matcher

    @property
    def kernel(self) -> str:
        """The scanners that ran, the busiest first."""
        return " and ".join(name for name, _ in self.scanners.most_common()) or "none"

    @property
    def complete(self) -> bool:
        """Whether all documents and queries were processed, with a schema that fits some document.

        Rows are right with any schema; but one that no document keeps is most likely the wrong one,
        and does not make anything faster.
        """
        rejected = self.documents["rejected"] or self.rejected_evaluations or self.scheme.rejected
        return not (rejected or self.none_conforms)

    def to_json(self) -> dict[str, Any]:
        """Returns the report as ``report.json`` has it."""
        fates = ("seen", "processed", "conforming", "whole", "nonconforming", "rejected")
        return {
            "documents": {fate: self.documents[fate] for fate in fates},
            "queries": {**self.scheme.counts(), "failing": len(self.failing_queries)},
            "schema": {
                "source": self.scheme.schema.source,
                "kind": self.scheme.schema.kind,
                "notes": list(self.scheme.schema.notes),
            },
            "matches": self.matches,
            "select": self.select,
            "rejected_evaluations": self.rejected_evaluations,
            "bytes": self.bytes,
            "seconds": {name: round(n, 3) for name, n in sorted(self.seconds.items())},
            "chunks": {
                chunk: {
                    "first_answer_ms": round(1000 * first, 3),
                    "last_answer_ms": round(1000 * last, 3),
                }
                for chunk, (first, last) in self.answer_seconds.items()
            },
            **({"parallel": self.parallel} if self.parallel else {}),
            "kernel": self.kernel,
            "matcher": self.matcher,
            "engine": self.engine,
            "scanners": dict(self.scanners),
            "notes": dict(self.notes.most_common()),
            "figures": self.figures(),
        }


def rejected_files(skipped: Iterable[SkippedFile]) -> list[Rejection]:
    """Returns the files that a search for documents passed over, as rejections."""
    return [Rejection(one.path, None, "find", one.reason) for one in skipped]


def rejected_queries(scheme: Scheme) -> list[Rejection]:
    """Returns the queries that were rejected when the scheme was made."""
    return [
        Rejection(
            None,
            one.id,
            "prepare",
            one.reason,
            one.line or None,
            one.offset if one.offset >= 0 else None,
        )
        for one in scheme.rejected
    ]
