"""Which files hold many documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.chunktool.input.find import search_inputs
from extract.chunktool.input.messages.form import MessageForm, MessageOptions


@pytest.mark.parametrize(
    ("name", "options", "form"),
    [
        ("a.xml", MessageOptions(), None),
        ("jsonl", MessageOptions(), None),
        ("a.NDJSON.GZ", MessageOptions(), MessageForm("ndjson")),
        ("a.jsonl", MessageOptions(column="x", names="y"), MessageForm("ndjson", "", "x", "y")),
        ("a.feather", MessageOptions(), MessageForm("arrow")),
        ("a.parquet", MessageOptions(records="r"), MessageForm("parquet")),
        ("part-0", MessageOptions(column="x"), MessageForm("parquet", "", "x")),
        ("a.xml", MessageOptions(records="p:r"), MessageForm("xml", "p:r")),
        ("-", MessageOptions(kind="ndjson"), MessageForm("ndjson")),
        ("a.jsonl", MessageOptions(kind="xml"), MessageForm("xml")),
    ],
)
def test_forms(name: str, options: MessageOptions, form: MessageForm | None) -> None:
    assert options.form_of(name) == form


def test_directories_are_searched_for_what_was_asked_for(tmp_path: Path) -> None:
    for name in ("a.xml", "b.jsonl", "c.parquet", "d.parquet.zst"):
        (tmp_path / name).write_bytes(b"x")

    def names(options: MessageOptions) -> list[str]:
        found = search_inputs([str(tmp_path)], options).documents
        return [Path(one.name).name for one in found]

    assert names(MessageOptions()) == ["a.xml"]
    assert names(MessageOptions(records="r")) == ["a.xml"]
    assert names(MessageOptions(kind="ndjson")) == ["b.jsonl"]
    assert names(MessageOptions(kind="parquet")) == ["c.parquet", "d.parquet.zst"]
    assert names(MessageOptions(column="x")) == ["b.jsonl", "c.parquet", "d.parquet.zst"]
