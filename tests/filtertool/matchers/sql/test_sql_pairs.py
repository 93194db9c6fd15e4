"""Pairs of documents and subscriptions, as joins give them, come out in order and each once."""

from __future__ import annotations

import numpy as np
import pytest

_values = pytest.importorskip("extract.filtertool.matchers.sql._values")


@pytest.mark.parametrize("documents", [1, 7, 40])
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_pairs_in_order(documents: int, count: int) -> None:
    random = np.random.default_rng(documents * 1000 + count)
    unit = random.integers(0, documents, count, np.int32)
    seq = random.integers(-5, 50, count, np.int64)
    for order in (np.arange(count), np.argsort(seq), np.argsort(-seq), np.lexsort((seq, unit))):
        units, seqs = _values.ordered_pairs(unit[order], seq[order], documents)
        pairs = list(zip(units.tolist(), seqs.tolist(), strict=True))
        assert pairs == sorted(set(zip(unit.tolist(), seq.tolist(), strict=True)))


def test_a_document_that_is_not_there() -> None:
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match="not there"):
            _values.ordered_pairs(np.array([wrong], np.int32), np.array([1]), 2)
