"""Joins on Spark: the rows of the local engine, whatever the windows, streams and stages."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract.errors import JoinError
from tests.support.commands import run
from tests.support.join_streams import (
    DEEP_QUERIES,
    QUERIES,
    comparable,
    content,
    deep_stream,
    locally,
    stream_of,
)

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = [
    ("query", "string"),
    ("left", "string"),
    ("right", "string"),
    *[(name, "bigint") for name in ("left_seq", "right_seq", "left_time", "right_time")],
    ("bindings", "map<string,string>"),
    ("output", "string"),
]


def frame(spark: SparkSession, documents: list[Any]) -> DataFrame:
    schema = "position bigint, stream string, name string, content binary, time string"
    rows = [(place, stream, name or None, *rest) for place, stream, name, *rest in documents]
    return spark.createDataFrame(rows, schema)


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(["follows", "both", "last", "after", "hidden", "p1", "p2", "ps"], id="chain"),
        pytest.param(list(QUERIES), id="longest", marks=pytest.mark.slow),
    ],
)
def test_rows_and_rejections_are_those_of_one_process(
    spark: SparkSession, chosen: list[str]
) -> None:
    documents = stream_of(Random(1), 40)
    queries = {name: QUERIES[name] for name in chosen}
    rows, rejected = locally(extract.Joins(queries), documents)
    assert {row.query for row in rows} == set(queries)
    assert {one.stage for one in rejected} == {"late", "read"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = extract.spark.join(spark, extract.Joins(queries), frame(spark, documents))
    assert found.dtypes == COLUMNS
    assert comparable(found.collect()) == comparable(rows)
    texts = [f"{one.document}: {one.reason}" for one in rejected]
    assert sorted([str(one.message) for one in told]) == sorted(texts)


def test_a_published_document_that_cannot_be_read_stops_nothing(spark: SparkSession) -> None:
    rows, rejected = locally(extract.Joins(DEEP_QUERIES), deep_stream())
    given = frame(spark, deep_stream())
    found = extract.spark.join(spark, extract.Joins(DEEP_QUERIES), given, tagged=True).collect()
    joined = [row for row in found if row["rejection"] is None]
    assert comparable(joined) == comparable(rows)
    told = [tuple(row["rejection"]) for row in found if row["rejection"] is not None]
    assert sorted(map(repr, told)) == sorted([repr(tuple(one)) for one in rejected])


def test_the_command_writes_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{name}\t{QUERIES[name]}" for name in ("follows", "p1", "ps")]
    Path("joins.tsv").write_text("\n".join(lines), encoding="utf-8")
    random = Random(3)
    for stream in "ab":
        Path(stream).mkdir()
        for number in range(12):
            text = content(random).decode().replace("<r>", f"<r t='{random.randrange(9)}'>")
            Path(stream, f"{number}.xml").write_text("<r" if number == 9 else text)
    facts = {}
    for engine in ("local", "spark"):
        options = ("--time", "/*/@t", "--engine", engine, "-o", engine, "--format", "jsonl")
        assert run("join", "--queries", "joins.tsv", "a=a", "b=b", *options).exit_code == 1
        facts[engine] = json.loads(Path(engine, "report.json").read_text())
    for kind in ("joined", "rejected"):
        ours, theirs = [
            sorted(Path(engine, kind, "part-00000.jsonl").read_text().splitlines())
            for engine in ("spark", "local")
        ]
        assert ours == theirs != []
    assert facts["spark"]["engine"] == "spark"
    assert facts["spark"]["rows"] == facts["local"]["rows"] > 0
    for name in ("documents", "queries", "rejections"):
        assert facts["spark"][name] == facts["local"][name]
    done = run(
        "join", "--queries", "joins.tsv", "a=a", "--engine", "spark", "--state", "s", "-o", "x"
    )
    assert done.exit_code == 2
    assert "--engine local" in done.output


def test_streams_of_directories_in_the_order_of_their_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    for stream, tag in (("a", "o"), ("b", "p")):
        (tmp_path / stream).mkdir()
        (tmp_path / stream / "1.xml").write_text(f"<{tag}><k>1</k></{tag}>")
    joins = extract.Joins({"q": "a//o->x[k->i] FOLLOWED BY{i=j, 1} b//p->y[k->j]"})
    places = {"a": str(tmp_path / "a"), "b": [str(tmp_path / "b" / "1.xml")]}
    [row] = extract.spark.join(spark, joins, places).collect()
    assert (row["left_seq"], row["right_seq"], row["right_time"] - row["left_time"]) == (0, 1, 1)
    assert extract.spark.join(spark, joins, dict(reversed(places.items()))).collect() == []


def test_a_published_stream_takes_no_documents(spark: SparkSession) -> None:
    joins = extract.Joins({"q": "a//o->x JOIN{x=y, 1} a//o->y PUBLISH p"})
    with pytest.raises(JoinError, match="published by a query"):
        extract.spark.join(spark, joins, frame(spark, [(0, "p", "d", b"<o/>", "0")]))


def test_a_stream_has_the_rows_of_one_process_also_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Documents in three batches, and a new query from the checkpoint after the first."""
    queries = {n: QUERIES[n] for n in ("follows", "both", "last", "hidden", "p1", "p2", "q", "qs")}
    documents = stream_of(Random(5), 40)
    documents[5] = (*documents[5][:2], "", *documents[5][3:])  # null in the frame
    rows, rejected = locally(extract.Joins(queries), documents)
    assert {one.stage for one in rejected} == {"late", "read"}
    assert {row.query for row in rows} == set(queries)
    source, sink = tmp_path / "in", tmp_path / "out"
    source.mkdir()

    def arrive(number: int) -> None:
        batch = frame(spark, documents[14 * number : 14 * number + 14]).coalesce(1)
        batch.write.parquet(str(tmp_path / f"batch{number}"))
        [file] = (tmp_path / f"batch{number}").glob("*.parquet")
        file.rename(source / f"{number}.parquet")

    def take() -> None:
        reader = spark.readStream.schema(frame(spark, documents[:1]).schema)
        arriving = reader.option("maxFilesPerTrigger", 1).parquet(str(source))
        found = extract.spark.join(spark, extract.Joins(queries), arriving, tagged=True)
        writer = found.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.format("parquet").trigger(availableNow=True).start(str(sink))
        query.awaitTermination()

    for number in range(3):
        arrive(number)
        if number != 1:
            take()
    found = spark.read.parquet(str(sink)).collect()
    joined = [row for row in found if row["rejection"] is None]
    assert comparable(joined) == comparable(rows)
    told = [tuple(row["rejection"]) for row in found if row["rejection"] is not None]
    assert sorted(map(repr, told)) == sorted([repr(tuple(one)) for one in rejected])
