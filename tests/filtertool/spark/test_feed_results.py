"""Results as documents of a feed: well-formed, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

pytest.importorskip("pyspark", reason="Spark is not installed")

from extract.filtertool.spark.feed_results import match_document, rejected_document


def test_what_stands_in_rows_cannot_break_the_document() -> None:
    nasty = "a\"b'c<d>&\x00\ufffe\ud800\n\u20ac"
    row = {"node": "text", "name": nasty, "path": nasty, "start": 1, "end": None, "value": nasty}
    tree = etree.fromstring(match_document(nasty, nasty, [row, row]))
    assert tree.get("count") == "2"
    assert tree.get("query", "").startswith("a\"b'c<d>&")
    (node, _) = tree
    assert node.get("end") is None
    assert (node.text or "").endswith("\u20ac")
    _, text = rejected_document({"document": nasty, "query": None, "reason": nasty, "line": 3})
    rejected = etree.fromstring(text)
    assert (rejected.tag, rejected.get("line"), rejected.get("query")) == ("rejected", "3", None)


def test_values_that_were_left_out() -> None:
    row = {"node": "element", "path": "/a[1]", "value": None}
    text = match_document("d", "q", [row])
    assert text == (
        b'<match document="d" query="q" count="1"><node node="element" path="/a[1]"/></match>'
    )


def test_documents_come_from_the_files_of_a_directory(tmp_path: Path) -> None:
    from extract.filtertool.spark.feed_results import result_documents

    for name in ("matches", "rejected"):
        (tmp_path / name).mkdir()
    (tmp_path / "matches" / "part-1.jsonl").write_text(
        '{"document": "d", "query": "q", "count": 3}\n{"document": "d", "query": "r", "count": 1}\n'
    )
    (tmp_path / "rejected" / "part-0.jsonl").write_text(
        '{"document": "e", "query": null, "stage": "scan", "reason": "cut", "line": 1}\n'
    )
    assert list(result_documents(tmp_path)) == [
        ("d", b'<match document="d" query="q" count="3"/>'),
        ("d", b'<match document="d" query="r" count="1"/>'),
        ("e", b'<rejected document="e" stage="scan" reason="cut" line="1"/>'),
    ]
