"""Documents that a worker may have died of: each is filtered in a child, and may be rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from extract.errors import DocumentError
from extract.filtertool.processes.guard import exit_reason
from extract.filtertool.processes.isolation import ChildExit, each_in_child
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.limits import Limits

_T = TypeVar("_T")


def process_isolated(
    documents: Iterable[_T],
    process: Callable[[_T], DocumentOutcome],
    name: Callable[[_T], str],
    limits: Limits,
    begin: Callable[[], object] | None = None,
) -> Iterator[DocumentOutcome]:
    """Processes documents, or pieces of one, in a child; one that kills the child is rejected.

    Args:
        documents: The documents.
        process: Processes one of them.
        name: What a document is called.
        limits, begin: As for `each_in_child`.
    """
    every = list(documents)
    for one, answer in zip(every, each_in_child(every, process, limits, begin), strict=True):
        if isinstance(answer, ChildExit):
            yield _rejected(name(one), answer.status, limits)
        else:
            yield answer


def _rejected(name: str, status: int | None, limits: Limits) -> DocumentOutcome:
    reason, hint = exit_reason(status, limits)
    rejection = Rejection(name, None, "filter", reason)
    error = DocumentError(reason, hint, name)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
