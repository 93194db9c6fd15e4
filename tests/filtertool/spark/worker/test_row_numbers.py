"""Ordinals of rows that come from several pieces."""

from __future__ import annotations

import numpy as np

from extract.filtertool.results.findings import Findings
from extract.filtertool.spark.worker.row_numbers import RowNumbering


def test_a_failed_query_has_no_rows_in_any_piece() -> None:
    def found(who: list[int]) -> Findings:
        none = Findings.none()
        ordinals = np.arange(len(who))
        nodes = np.zeros(len(who), np.int32)
        return Findings(np.array(who, np.int32), none.count, nodes, ordinals, none.described)

    joined = RowNumbering(3, np.array([5, 0, 0]), without={1})
    first = joined.add(found([0, 1]))
    second = joined.add(found([0, 1, 2]))
    assert (first.subscriber.tolist(), first.ordinal.tolist()) == ([0], [5])
    assert (second.subscriber.tolist(), second.ordinal.tolist()) == ([0, 2], [6, 2])
