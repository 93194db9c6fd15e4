"""Rows of nodes that are handed to Arrow in one block."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest

import extract
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.output import arrow
from extract.filtertool.output.arrow import SCHEMAS

pytestmark = pytest.mark.skipif(not native_available(), reason="the engine is not compiled")

QUERIES = {
    "elements": "//a",
    "attributes": "//@x",
    "texts": "//text()",
    "comments": "//comment() | //processing-instruction()",
    "truth": "count(//a) > 1",
    "number": "count(//a) div 3",
    "string": "string(//a)",
    "é": "//a[2]",
}
DOCUMENTS = [
    ("one", b"<r><a x='1'>t</a><a>\xc3\xa9</a><!--c--><?p i?></r>"),
    ("two \udcff", b"<r/>"),
    ("", b"<r><a/></r>"),
    ("four", ("<r><a>" + "ß" * 300 + "</a></r>").encode()),
]


def ready(matcher: str = "auto") -> extract.Filter:
    return extract.Filter(extract.prepare(extract.Subscriptions.of(QUERIES)), "nodes", matcher)


def test_the_rows_are_those_of_lxml_and_outlive_the_filter() -> None:
    own = ready()
    table = own.table(DOCUMENTS)
    del own
    gc.collect()
    table.validate(full=True)
    assert table.schema == SCHEMAS["nodes"]
    assert table.to_pylist() == ready("lxml").table(DOCUMENTS).to_pylist()
    assert table["start"].null_count == table["path"].null_count == 3 * len(DOCUMENTS)
    part = table.slice(2, 3)
    del table
    gc.collect()
    assert part.num_rows == len(part.to_pylist()) == 3


def test_rows_that_are_too_large_for_a_batch_go_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = ready().table(DOCUMENTS).to_pylist()
    monkeypatch.setattr(arrow, "RECORD_BATCH_BYTES", 100)
    assert ready().table(DOCUMENTS).to_pylist() == wanted


def test_without_what_fills_batches_the_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ready().table(DOCUMENTS).to_pylist()
    monkeypatch.setattr(arrow, "row_filler", lambda: None)
    assert ready().table(DOCUMENTS).to_pylist() == wanted


def test_numbers_that_nothing_has_are_refused() -> None:
    from extract.filtertool.matchers.push._node_columns import NodeColumns
    from extract.filtertool.output._node_rows import IdTexts, node_rows

    ids, row = IdTexts(pa.array(["a"])), np.zeros(1, np.int32)
    nodes = NodeColumns.__new__(NodeColumns)
    for counts, error in (([1], IndexError), ([2], ValueError)):
        with pytest.raises(error):
            node_rows(
                SCHEMAS["nodes"], nodes, ids, [b"d"], counts, row, row, row.astype(np.int64), 9
            )
