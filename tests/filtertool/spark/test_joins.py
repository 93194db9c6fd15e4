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
from extract.filtertool.joins.joined import Joined
from tests.support.commands import run

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
QUERIES = {
    "follows": "a//o->x[k->i] FOLLOWED BY{i=j, 3} b//o->y[k->j]",
    "both": "S//o->x[k->i][n->m] JOIN{i=j AND m=l, 2} S//o->y[k->j][n->l]",
    "last": "a//o->x[k->i] JOIN{i=j, 2 EVENTS} S//o->y[k->j]",
    "after": "S//o->x[k->i] FOLLOWED BY{i=j, 3 EVENTS} b//o->y[n->j]",
    "hidden": "a//o->x JOIN{x/k=y/n, 1} b//o->y",
    "p1": 'SELECT <o t="{i}">{i}</o> FROM a//o->x[k->i] JOIN{i=j, 1} b//o->y[n->j] PUBLISH p',
    "p2": "SELECT <o>{i}{j}</o> FROM a//o->x[k->i] FOLLOWED BY{i=j, 2} b//o->y[k->j] PUBLISH p",
    "q": "SELECT <o>{i}</o> FROM p//o->x[k->i] JOIN{i=j, 2 EVENTS} a//o->y[n->j] PUBLISH q",
    "pq": "q//o->x[k->i] JOIN{i=j, 3 EVENTS} p//o->y[k->j]",
    "qs": "q//o->x[k->i] FOLLOWED BY{i=j, 2} S//o->y[k->j]",
    "r": "SELECT <o>{i}</o> FROM S//o->x[k->i] JOIN{i=j, 1 EVENTS} S//o->y[k->j] PUBLISH r",
    "r2": "SELECT <o>{i}</o> FROM q//o->x[k->i] JOIN{i=j, 2 EVENTS} p//o->y[k->j] PUBLISH r",
    "end": "r//o->x[k->i] JOIN{i=j, 2 EVENTS} p//o->y[k->j]",
}


def content(random: Random) -> bytes:
    parts = [f"<{tag}>{random.choice('1234')}</{tag}>" for tag in random.choices("kkn", k=3)]
    return f"<r><o>{''.join(parts)}</o><o><k>{random.choice('125')}</k></o></r>".encode()


def stream_of(random: Random, number: int) -> list[tuple[int, str, str, bytes, str]]:
    """Documents as they arrive: out of order, some of them late, some malformed."""
    documents = []
    for place in range(number):
        data = b"<r><o>" if random.random() < 0.1 else content(random)
        time = place / 2 - random.choice([0, 0, 0, 1, 2.5, 9])
        documents.append((place, random.choice("abc"), f"d{place}", data, str(time)))
    return documents


def locally(joins: extract.Joins, documents: list[Any]) -> tuple[list[Joined], list[Any]]:
    rows: list[Joined] = []
    rejected: list[Any] = []
    for _, stream, name, data, time in documents:
        rows += joins.process(stream, name, data, time)
        rejected += joins.rejected
    return rows, rejected


def comparable(rows: list[Any]) -> list[Any]:
    return sorted([(*row[:7], sorted(row[7].items()), row[8]) for row in rows])


def frame(spark: SparkSession, documents: list[Any]) -> DataFrame:
    schema = "position bigint, stream string, name string, content binary, time string"
    return spark.createDataFrame(documents, schema)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_rows_and_rejections_are_those_of_one_process(spark: SparkSession, seed: int) -> None:
    documents = stream_of(Random(seed), 40)
    rows, rejected = locally(extract.Joins(QUERIES), documents)
    assert {row.query for row in rows} == set(QUERIES)
    assert {one.stage for one in rejected} == {"late", "read"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = extract.spark.join(spark, extract.Joins(QUERIES), frame(spark, documents))
    assert found.dtypes == COLUMNS
    assert comparable(found.collect()) == comparable(rows)
    texts = [f"{one.document}: {one.reason}" for one in rejected]
    assert sorted([str(one.message) for one in told]) == sorted(texts)


def test_the_command_writes_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{name}\t{QUERIES[name]}" for name in ("follows", "p1", "p2", "q", "pq")]
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
