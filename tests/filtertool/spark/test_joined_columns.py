"""Metadata as columns of rows: on Spark the same as without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

import extract
from extract.chunktool.input.find import find_inputs
from extract.errors import SubscriptionsError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import Format
from extract.pipeline import run as run_pipeline
from tests.support.spark_documents import university_scheme, write_documents
from tests.support.spark_runs import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

JOINED = ("owner", "tags", "floor=team.floor")


@pytest.fixture(scope="module")
def scheme() -> extract.Scheme:
    """The scheme of the other tests, with metadata that every second subscription has."""
    from dataclasses import replace

    plain = university_scheme()

    def owned(one: extract.Subscription, number: int) -> extract.Subscription:
        if number % 2:
            return one
        tags = [f"t{number}", "x"] if number % 4 else []
        metadata = {"owner": f"o{number}", "tags": tags, "team": {"floor": number}}
        return replace(one, metadata=metadata)

    every = [one for query in plain.queries for one in query.subscribers]
    some = [
        extract.Subscription(one.id, one.absolute, plain.namespaces, one.weight) for one in every
    ]
    subscriptions = [owned(one, number) for number, one in enumerate(some)]
    return extract.prepare(plain.schema, extract.Subscriptions.of(subscriptions), 3)


def run_both(
    spark: SparkSession, scheme: extract.Scheme, docs: Path, select: Select, form: Format
) -> tuple[Path, Path]:
    """Runs both engines; returns where their rows are."""
    from extract.filtertool.spark.engine import run_into_directory

    options = Options(select, joined=JOINED)
    out, there = docs.parent / "out", docs.parent / "local"
    with result_directory(out) as partial:
        job = Job(scheme, load_matcher(), options)
        run_into_directory(spark.sparkContext, job, find_inputs([str(docs)]), partial, form)
        (partial / "report.json").write_text("{}")
    paths = [str(path) for path in sorted(docs.rglob("*.xml*"))]
    run_pipeline(scheme, paths, there, options=options, form=form, jobs=1)
    return out / "matches", there / "matches"


@pytest.mark.parametrize("pieces", ["none", "few", "many"])
@pytest.mark.parametrize(
    ("select", "form"), [("nodes", "parquet"), ("nodes", "jsonl"), ("count", "parquet")]
)
def test_the_same_rows(
    spark: SparkSession,
    scheme: extract.Scheme,
    tmp_path: Path,
    select: Select,
    form: Format,
    pieces: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from extract.filtertool.spark.driver import number_rows, planner

    if pieces != "none":
        monkeypatch.setattr(planner, "LARGE", 1)
        monkeypatch.setattr(planner, "LEAST", 1)
        monkeypatch.setattr(planner, "PIECE", 1_000)
        monkeypatch.setattr(planner, "PIECES_A_TASK", 0 if pieces == "many" else 1_000)
        monkeypatch.setattr(number_rows, "IN_DRIVER", 0 if pieces == "many" else 1 << 20)
    out, there = run_both(spark, scheme, write_documents(tmp_path / "docs"), select, form)
    assert rows(out) == rows(there)
    if form == "parquet":
        schemas = {parquet.read_schema(file) for file in out.iterdir()}
        assert schemas == {parquet.read_schema(there / "part-00000.parquet")}
        owners = parquet.read_table(out).column("owner").to_pylist()
        assert None in owners
        assert len(set(owners)) > 2


def test_frames(spark: SparkSession, scheme: extract.Scheme, tmp_path: Path) -> None:
    docs = write_documents(tmp_path / "docs")
    options = Options(joined=JOINED)
    frame = extract.spark.run(spark, scheme, str(docs / "0.xml"), options=options)
    assert frame.columns[-3:] == ["owner", "tags", "floor"]
    run_pipeline(scheme, [str(docs / "0.xml")], tmp_path / "out", options=options, jobs=1)
    wanted = rows(tmp_path / "out" / "matches")
    found = [tuple(row.values()) for row in frame.toArrow().to_pylist()]
    assert sorted(found, key=repr) == wanted
    with pytest.raises(SubscriptionsError, match="already have a column 'kind'"):
        extract.spark.run(spark, scheme, str(docs), options=Options(joined=("kind=owner",)))
