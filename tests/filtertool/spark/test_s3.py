"""Documents behind URIs: listed once, opened by workers. Here from a small S3 of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract import Scheme
from extract.chunktool.input.find import InputFile, find_inputs
from extract.chunktool.input.remote import RangeReader, RemoteFile, file_version
from extract.errors import DocumentError
from extract.filtertool.spark.driver import planner
from tests.support.spark_documents import write_documents
from tests.support.spark_s3 import s3

pytest.importorskip("pyspark", reason="Spark is not installed")
if not hasattr(pytest.importorskip("pyarrow.fs"), "S3FileSystem"):
    pytest.skip("pyarrow has no S3 here", allow_module_level=True)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = "s3://key:secret@"


def names(found: list[InputFile], options: str) -> list[str]:
    assert all(one.name.endswith(options) for one in found)
    return [one.name.removesuffix(options).removeprefix(KEYS) for one in found]


def test_documents_are_found_and_read() -> None:
    objects = {
        "bucket/docs/a.xml": b"<a/>" * 9,
        "bucket/docs/b.nitf": b"<b/>",
        "bucket/docs/deep/c d%20#.xml": b"<c/>",
        "bucket/docs/deep/packed.xml.gz": b"gzip",
    }
    with s3(objects) as options:
        found = find_inputs([f"{KEYS}bucket/docs{options}"])
        assert names(found, options) == [
            "bucket/docs/a.xml",
            "bucket/docs/deep/c%20d%2520%23.xml",
            "bucket/docs/deep/packed.xml.gz",
        ]
        assert [one.size for one in found] == [36, 4, 32]  # what is gzipped has more, about
        assert [RemoteFile(one.name).read() for one in found] == [b"<a/>" * 9, b"<c/>", b"gzip"]
        assert names(find_inputs([f"{KEYS}bucket/docs/*.nitf{options}"]), options) == [
            "bucket/docs/b.nitf"
        ]
        hadoop = f"s3a://key:secret@bucket/docs/a.xml{options}"
        (one,) = find_inputs([hadoop])
        assert one == InputFile(hadoop, 36)
        assert file_version(one)[0] == 36
        with RangeReader(one) as document:
            assert document.read(34, 99) == b"/>"
        with pytest.raises(DocumentError, match="no such file"):
            find_inputs([f"{KEYS}bucket/none{options}"])
    assert file_version(one) == (-1, 0)


@pytest.mark.parametrize("large", [False, True])
def test_the_rows_are_those_of_files(
    spark: SparkSession,
    scheme: Scheme,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    large: bool,
) -> None:
    docs = write_documents(tmp_path / "docs")
    files = sorted(docs.rglob("*.xml*"))
    if large:
        monkeypatch.setattr(planner, "LARGE", 1)
        monkeypatch.setattr(planner, "PIECE", 1_000)

    def rows(uri: str, top: str, options: str = "") -> list[Any]:
        found = extract.spark.results(spark, scheme, uri, "count").toArrow().to_pylist()
        for row in found:
            row["document"] = row["document"].removeprefix(top).removesuffix(options)
        return sorted(map(repr, found))

    objects = {f"bucket/{path.relative_to(tmp_path)}": path.read_bytes() for path in files}
    with s3(objects) as options:
        found = rows(f"{KEYS}bucket/docs{options}", f"{KEYS}bucket/docs/", options)
    assert found == rows(str(docs), f"{docs}/")
