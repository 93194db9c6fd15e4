"""Results of FLWR queries on Spark: the rows of the local engine, also of large documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import extract
from extract.filtertool.options import Options

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = {
    "xpath": "//a",
    "plain": "for $a in /d/a where $a/b = 1 return <r>{ $a/@id }{ $a/b }</r>",
    "pairs": "<o>{ for $a in //a where $a/b[. = $a/@id] return <r>{ $a }</r> }</o>",
    "first": "<o>{ for $a in /d/a[1] return <r>{ $a/b }</r> }</o>",
}


@pytest.fixture(scope="module")
def scheme() -> extract.Scheme:
    return extract.prepare(extract.Subscriptions.of(QUERIES))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    directory = tmp_path / "docs"
    directory.mkdir()
    for count in (1, 500):
        parts = "".join(f'<a id="{n}"><b>{n % 3}</b></a>' for n in range(count))
        directory.joinpath(f"{count}.xml").write_text(f"<d>{parts}</d>")
    directory.joinpath("bad.xml").write_text("<d>")
    return directory


def local(scheme: extract.Scheme, docs: Path) -> list[tuple[Any, ...]]:
    names = [str(docs / "1.xml"), str(docs / "500.xml")]
    return sorted(row for name in names for row in extract.outputs(scheme, name, name=name))


@pytest.mark.usefixtures("all_large")
def test_frames_have_the_rows_of_the_local_engine(
    spark: SparkSession, scheme: extract.Scheme, docs: Path
) -> None:
    wanted = local(scheme, docs)
    assert len(wanted) == 5
    frame = extract.spark.run(spark, scheme, str(docs), select="output")
    assert frame.dtypes == [("document", "string"), ("query", "string"), ("output", "string")]
    assert sorted(map(tuple, frame.collect())) == wanted
    contents = [(str(one), one.read_bytes()) for one in sorted(docs.iterdir())]
    column = spark.createDataFrame(contents, "path string, content binary")
    assert sorted(map(tuple, extract.spark.match(column, scheme, select="output").collect())) == (
        wanted
    )


@pytest.mark.usefixtures("all_large")
def test_a_stream_has_the_rows_of_the_local_engine(
    spark: SparkSession, scheme: extract.Scheme, docs: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "scheme.json", tmp_path / "out"
    scheme.save(file)
    checkpoint = tmp_path / "checkpoint"
    query = extract.spark.stream(
        spark, file, docs, out, checkpoint, options=Options("output"), seconds=None
    )
    query.awaitTermination()
    (batch,) = out.iterdir()
    found = [tuple(row.values()) for row in pq.read_table(batch / "matches").to_pylist()]
    assert sorted(found) == local(scheme, docs)
    rejected = pq.read_table(batch / "rejected").to_pylist()
    assert [row["document"] for row in rejected] == [str(docs / "bad.xml")]
