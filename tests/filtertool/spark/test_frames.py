"""DataFrames: the contract's columns, every row once, columns of documents, the data source."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import extract
from extract import Scheme
from extract.filtertool.matchers.protocol import Select
from tests.support.spark_documents import write_poison
from tests.support.spark_faults import FaultyFactory

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CONTRACT = {
    "nodes": [
        ("document", "string"),
        ("query", "string"),
        ("node", "string"),
        ("name", "string"),
        ("start", "bigint"),
        ("end", "bigint"),
        ("ordinal", "bigint"),
        ("path", "string"),
        ("value", "string"),
        ("text", "string"),
    ],
    "count": [("document", "string"), ("query", "string"), ("count", "bigint")],
    "doc": [("document", "string"), ("query", "string")],
}


def test_frames_have_the_columns_of_the_contract(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    selects: list[Select] = ["nodes", "count", "doc"]
    for select in selects:
        frame = extract.spark.run(spark, scheme, str(docs), select=select)
        assert frame.dtypes == CONTRACT[select]


def test_a_frame_is_lazy_and_has_every_row(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    frame = extract.spark.run(spark, scheme, [str(docs / "1.xml"), f"file://{docs}/0.xml"])
    shutil.copy(docs / "2.xml", docs / "1.xml")  # nothing was read yet
    found = sorted(map(repr, map(tuple, frame.collect())))
    wanted = [
        (name, m.query, m.node, m.name, m.start, m.end, m.ordinal, m.path, m.value, m.text)
        for name, file in ((str(docs / "1.xml"), "1.xml"), (f"file://{docs}/0.xml", "0.xml"))
        for m in extract.match(scheme, docs / file)
    ]
    assert found == sorted(map(repr, wanted))


def test_one_evaluation_accounts_for_everything(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    paths = [docs / "0.xml", docs / "broken.xml", docs / "odd.xml"]
    table = extract.spark.results(spark, scheme, list(map(str, paths))).toArrow()
    found = table.to_pylist()
    accounts = {row["document"]: row for row in found if row["kind"] == "account"}
    assert {Path(name).name: row["fate"] for name, row in accounts.items()} == {
        "0.xml": "conforming",
        "broken.xml": "rejected",
        "odd.xml": "nonconforming",
    }
    matches = [row for row in found if row["kind"] == "match"]
    assert sum(row["rows"] for row in accounts.values()) == len(matches)
    assert accounts[str(docs / "0.xml")]["bytes"] == (docs / "0.xml").stat().st_size
    (rejected,) = [row for row in found if row["kind"] == "rejected"]
    assert (rejected["document"], rejected["line"]) == (str(docs / "broken.xml"), 1)


def test_documents_of_a_column(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    good = (docs / "0.xml").read_bytes()
    data = [(7, good, "x"), (8, b"<db>", "y"), (9, None, "z")]
    frame = spark.createDataFrame(data, "number int, content binary, more string")
    found = extract.spark.match(frame, scheme, id="number", select="count", tagged=True).collect()
    counts = {row["query"]: row["count"] for row in found if row["kind"] == "match"}
    assert counts == {query: n for _, query, n in extract.count(scheme, good)}
    assert {row["document"] for row in found if row["kind"] == "rejected"} == {"8", "9"}

    small = extract.spark.project(frame, scheme)
    assert small.columns == ["number", "more", "content", "error"]
    reduced = {row["number"]: row for row in small.collect()}
    assert bytes(reduced[7]["content"]) == extract.Prefilter(scheme).project(good)
    assert reduced[7]["error"] is None
    assert "8" not in (reduced[8]["error"] or "")
    assert bytes(reduced[8]["content"]) == b"<db>"
    assert reduced[8]["error"]
    assert reduced[9]["content"] is None


def test_documents_as_a_table(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    spark.dataSource.register(extract.spark.ExtractSource)
    reader = spark.read.format("extract").option("scheme", str(tmp_path / "scheme.json"))
    frame = reader.option("select", "count").load(str(docs / "0.xml"))
    assert frame.dtypes == CONTRACT["count"]
    found = {(row["query"], row["count"]) for row in frame.collect()}
    assert found == {(query, n) for _, query, n in extract.count(scheme, docs / "0.xml")}
    tagged = reader.option("tagged", "true").load(str(docs / "broken.xml")).collect()
    assert [row["kind"] for row in tagged] == ["rejected", "account"]


def test_a_frame_takes_the_file_of_a_scheme(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    counts = [
        extract.spark.run(spark, one, str(docs), select="doc").count()
        for one in (scheme, tmp_path / "scheme.json")
    ]
    assert counts[0] == counts[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_a_document_that_kills_is_rejected_alone_in_a_frame(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    large: bool,
) -> None:
    from extract.filtertool.spark import frames

    if large:
        request.getfixturevalue("all_large")
    write_poison(docs / "1.xml")
    faulty = FaultyFactory("kill", str(tmp_path / "marker"), b"POISON", again=True)
    monkeypatch.setattr(frames, "load_matcher", lambda *_: faulty)
    found = extract.spark.results(spark, scheme, str(docs), select="count").toArrow().to_pylist()
    fates = {row["document"]: row["fate"] for row in found if row["kind"] == "account"}
    assert [fates[str(docs / f"{n}.xml")] for n in range(3)] == [
        "conforming",
        "rejected",
        "conforming",
    ]
    reasons = {row["document"]: row["reason"] for row in found if row["kind"] == "rejected"}
    assert len(reasons) == 3
    assert "was killed" in reasons[str(docs / "1.xml")]
    counts = {row["query"]: row["count"] for row in found if row["document"] == str(docs / "0.xml")}
    assert {query: n for _, query, n in extract.count(scheme, docs / "0.xml")}.items() <= (
        counts.items()
    )
