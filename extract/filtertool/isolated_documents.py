"""Filters each suspect document in a child process; one that kills its child is rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from extract.errors import DocumentError
from extract.filtertool.processes.guard import exit_reason
from extract.filtertool.processes.isolation import each_in_child
from extract.filtertool.processes.workers import ChildExit
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.limits import Limits

_T = TypeVar("_T")


def process_isolated(
    documents: Iterable[_T],
    process: Callable[[_T], FilterOutcome],
    name: Callable[[_T], str],
    limits: Limits,
    begin: Callable[[], object] | None = None,
) -> Iterator[FilterOutcome]:
    """Processes documents, or pieces of one, in a child; one that kills the child is rejected.

    Args:
        documents: The documents.
        process: Processes one document.
        name: Returns a document's name.
        limits, begin: As for `each_in_child`.
    """
    suspects = list(documents)
    for document, answer in zip(
        suspects, each_in_child(suspects, process, limits, begin), strict=True
    ):
        if isinstance(answer, ChildExit):
            yield _rejected(name(document), answer.status, limits)
        else:
            yield answer


def _rejected(name: str, status: int | None, limits: Limits) -> DocumentOutcome:
    reason, hint = exit_reason(status, limits)
    rejection = Rejection(name, None, "filter", reason)
    error = DocumentError(reason, hint, name)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
