"""Says of the queries of a scheme how the push engine finds them, and which it does not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from extract.filtertool.matchers.push.question_report import QuestionReport, explain_question
from extract.filtertool.push_queries import question_of
from extract.scheme.model import Scheme
from extract.xpath.functions import Type


@dataclass(frozen=True, slots=True)
class PushQueryReport:
    """How the push engine finds one query.

    Attributes:
        question: Its access predicates, or why it is not taken.
        queries: How many queries have its template: the same form, with other constants.
        nodes: Whether the engine also takes it where nodes are selected.
    """

    question: QuestionReport
    queries: int
    nodes: bool = True

    def to_json(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        question = self.question
        return {
            "taken": not question.refused,
            "refused": question.refused,
            "access": [asdict(one) for one in question.access],
            "queries": self.queries,
        }

    def lines(self) -> Iterator[str]:
        """Yields the report in words."""
        if self.question.refused:
            reason = f"push engine: does not decide {self.question.refused}"
            yield f"{reason}; other matchers answer the query"
            return
        shared = f"one of {self.queries:,} queries" if self.queries > 1 else "the only query"
        several = len(self.question.access) > 1
        yield f"push engine: {shared} of its template"
        for number, access in enumerate(self.question.access, 1):
            branch = f", alternative {number}" if several else ""
            yield f"  found by{branch}: {access.found_by}"
            if access.or_by:
                yield f"  or, if documents show that it is rarer: {'; '.join(access.or_by)}"
        if not self.nodes:
            yield "  with --select nodes its value is a row, also where it is false"


@dataclass(frozen=True, slots=True)
class PushSummary:
    """Which queries of a scheme the push engine takes.

    Attributes:
        taken: How many it takes.
        refused: How many it does not take, by reason; the most frequent first.
    """

    taken: int
    refused: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Returns the summary as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        refused = sum(self.refused.values())
        if not refused:
            return f"push engine: decides all of {self.taken:,} queries"
        reasons = [f"{count:,} for {reason}" for reason, count in list(self.refused.items())[:3]]
        more = ", …" if len(self.refused) > 3 else ""
        total = self.taken + refused
        return (
            f"push engine: decides {self.taken:,} of {total:,} queries; "
            f"not: {', '.join(reasons)}{more}"
        )


def explain_push(scheme: Scheme, identifier: str) -> PushQueryReport | None:
    """Reports on one subscription; None for one that is evaluated on no document.

    Args:
        scheme: The scheme.
        identifier: The id of the subscription.
    """
    for later in scheme.later:
        if later.subscriber.id == identifier:
            return PushQueryReport(QuestionReport(later.language, ()), 1)
    row = scheme.directory.find(identifier)
    form = int(scheme.directory.forms[row]) if row >= 0 else -1
    if form < 0:
        return None
    question = question_of(scheme, form, np.array([row]))
    members = int(np.count_nonzero(scheme.directory.forms == form))
    return PushQueryReport(explain_question(question), members, question.type is Type.NODES)


def push_summary(scheme: Scheme) -> PushSummary:
    """Reports on all queries of a scheme that can match."""
    taken, refused = 0, Counter([one.language for one in scheme.later])
    forms, first, counts = np.unique(scheme.directory.forms, return_index=True, return_counts=True)
    for form, row, count in zip(forms.tolist(), first.tolist(), counts.tolist(), strict=True):
        if form < 0:
            continue
        reason = explain_question(question_of(scheme, form, np.array([row]))).refused
        if reason:
            refused[reason] += count
        else:
            taken += count
    return PushSummary(taken, dict(refused.most_common()))
