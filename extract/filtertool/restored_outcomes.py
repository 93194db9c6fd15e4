"""Outcomes of documents that were matched in their plain form: with the places in the original."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described, DescribedLists
from extract.markup.plain_form import PlainForm


def restored(outcome: FilterOutcome, form: PlainForm) -> FilterOutcome:
    """Returns the outcome of one document, whose rows name bytes of the document as it came.

    Args:
        outcome: The outcome of its plain form.
        form: The plain form.
    """
    size = len(form.source)
    if isinstance(outcome, BatchOutcome):
        return replace(outcome, sizes=np.array([size], np.int64))
    findings = outcome.findings
    if form.codec and len(findings.node):
        findings = replace(findings, described=_moved(findings, form))
    return replace(outcome, bytes=size, findings=findings)


def _moved(findings: Findings, form: PlainForm) -> Described:
    lists = findings.described.lists()
    return Described([lists._replace(start=_mapped(lists, form, 2), end=_mapped(lists, form, 3))])


def _mapped(lists: DescribedLists, form: PlainForm, column: int) -> list[int | None]:
    offsets: list[int | None] = list(lists[column])  # type: ignore[arg-type]
    places = [n for n, offset in enumerate(offsets) if offset is not None]
    moved = form.originals(np.array([offsets[n] for n in places], np.int64)).tolist()
    for place, offset in zip(places, moved, strict=True):
        offsets[place] = offset
    return offsets
