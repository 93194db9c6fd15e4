"""Streams: every document once, also after a crash, and notes that do not pile up."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract import Scheme
from extract.pipeline import prepare
from extract.scenarios import scenario
from extract.subscriptions import Subscriptions
from tests.support.spark_runs import rows

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_document_of_a_stream_once(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    file, incoming, out, checkpoint = (
        tmp_path / name for name in ("scheme.json", "in coming", "out", "checkpoint")
    )
    incoming.mkdir()

    def arrive(*names: str, days: int | None = None) -> list[tuple[Any, ...]]:
        for name in names:
            shutil.copy(docs / name, incoming / name)
            os.utime(incoming / name, (old[name], old[name]))
        query = extract.spark.stream(
            spark, file, incoming, out, checkpoint, seconds=None, remember_days=days
        )
        query.awaitTermination()
        return [row for folder in sorted(out.iterdir()) for row in rows(folder / "matches")]

    # When they were changed: a document may come from an archive.
    old = {"0.xml": 1e9, "broken.xml": 1e9, "1.xml": 1e9 - 30 * 86_400, "2.xml": 1e9 - 30 * 86_400}
    scheme.save(file)
    first = arrive("0.xml", "broken.xml")
    assert {row[0] for row in first} == {str(incoming / "0.xml")}
    university = scenario("university")
    revised = prepare(university.schema(), Subscriptions.of({"new": "//name"}), 1)
    revised.save(file)  # counts from the next batch on
    second = arrive("1.xml")
    assert second[: len(first)] == first
    assert {row[:2] for row in second[len(first) :]} == {(str(incoming / "1.xml"), "new")}

    # As after a crash between the results and Spark's own note: the batch is given out again.
    for note in (checkpoint / "commits").glob("*1*"):
        note.unlink()
    scheme.save(file)
    shutil.rmtree(out / "00000001")
    assert arrive() == second
    assert sorted(path.name for path in out.iterdir()) == ["00000000", "00000001"]
    assert arrive("2.xml", days=7) == second  # as was asked for
    assert len(arrive()) > len(second)


def test_notes_about_old_batches_go(
    scheme: Scheme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream runs for years; Spark gives only its last batch out again."""
    from extract.filtertool.spark import streaming

    monkeypatch.setattr(streaming, "KEPT_BATCHES", 10)
    file, pins = tmp_path / "scheme.json", tmp_path / "pins"
    university = scenario("university")
    others = [
        prepare(university.schema(), Subscriptions.of({"new": f"//{name}"}), 1)
        for name in ("name", "student")
    ]
    first = {0: scheme, 15: others[0], 29: others[1]}  # the first batch that has it
    for number in range(31):
        if number in first:
            first[number].save(file)
        # As after a crash in each batch, whose scheme has to be the same then.
        for _ in range(2):
            given = streaming.BatchSchemes(file, pins).of_batch(number)
            assert given.queries == first[max(one for one in first if one <= number)].queries
    noted = sorted(path.name for path in pins.glob("batch-*"))
    assert noted == [f"batch-{number:08d}" for number in range(20, 31)]
    assert len(list(pins.iterdir())) == len(noted) + 2  # of three schemes, one is needed no more


def test_batches_record_the_scheme_of_a_database(database: str, tmp_path: Path) -> None:
    from extract.filtertool.spark import streaming

    pins, schema = tmp_path / "pins", scenario("university").schema()
    for number, name in enumerate(("name", "student", "email")):
        prepare(schema, Subscriptions.of({"q": f"//{name}"}), 1).save(database)
        streaming.BatchSchemes(database, pins).of_batch(number)
    again = [streaming.BatchSchemes(database, pins).of_batch(number) for number in range(3)]
    assert [one.subscribers[0].xpath for one in again] == ["//name", "//student", "//email"]
