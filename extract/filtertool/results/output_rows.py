"""What FLWR queries made, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.push.engine_answers import EngineOutputs
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described, DescribedLists

OUTPUT: Final = "output"  # the kind of such rows
_MANY: Final = 32  # results of a document from which on columns are faster than lists


class WrittenOutputs(NamedTuple):
    """What the engine wrote for a document: results, and subscribers of those that are too long."""

    results: Findings
    too_long: list[int]


def outputs_by_document(written: EngineOutputs, documents: int) -> list[WrittenOutputs]:
    """What the engine wrote, document by document."""
    bounds = np.searchsorted(written.unit, np.arange(documents + 1)).tolist()
    offsets = np.concatenate([np.zeros(1, np.int64), written.end])
    return [_written(written, offsets, slice(*pair)) for pair in pairwise(bounds)]


def _written(written: EngineOutputs, offsets: NDArray[np.int64], rows: slice) -> WrittenOutputs:
    """Some rows of what the engine wrote: those of one document."""
    numbers, texts = written.query[rows], written.text[rows]
    if not len(numbers):
        return WrittenOutputs(Findings.none(), [])
    first, end = int(texts.min()), int(texts.max()) + 1
    too_long: list[int] = []
    if written.too_long[first:end].any():
        bad = written.too_long[texts] != 0
        too_long = numbers[bad].tolist()
        numbers, texts = numbers[~bad], texts[~bad]
    own = offsets[first : end + 1]
    described = Described([_texts(own, written.bytes)])
    return WrittenOutputs(_rows(numbers, texts - np.int32(first), described), too_long)


def _texts(offsets: NDArray[np.int64], data: bytes) -> Any:
    """Texts as values, which rows refer to."""
    if len(offsets) > _MANY:
        from extract.filtertool.results.node_batches import value_batch

        return value_batch(OUTPUT, offsets, data)
    return _lists([data[start:end].decode() for start, end in pairwise(offsets.tolist())])


def output_findings(made: Sequence[tuple[int, str]]) -> Findings:
    """Results as rows, whose value is the result."""
    numbers = np.array([number for number, _ in made], np.int32)
    described = Described([_lists([text for _, text in made])])
    return _rows(numbers, np.arange(len(made), dtype=np.int32), described)


def _lists(texts: Sequence[str]) -> DescribedLists:
    """Texts as values, one by one."""
    no: list[None] = [None] * len(texts)
    return DescribedLists([OUTPUT] * len(texts), [*no], [*no], [*no], [*no], [*texts], [*no])


def _rows(numbers: NDArray[np.int32], texts: NDArray[np.int32], described: Described) -> Findings:
    """Rows of results: for these subscribers, these of the texts."""
    nothing = np.empty(0, np.int64)
    return Findings(numbers, nothing, texts, np.zeros(len(numbers), np.int64), described)
