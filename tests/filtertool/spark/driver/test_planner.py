"""The plan of a run: even tasks, every document once."""

from __future__ import annotations

import pytest

from extract.pipeline import prepare
from extract.scenarios import scenario
from extract.subscriptions import Subscriptions

pytest.importorskip("pyspark", reason="Spark is not installed")


def test_queries_that_match_nothing_on_a_large_document() -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.spark.driver.planner import expected_plan

    dead = Subscriptions.of({"dead": "/db/nothing"})
    scheme = prepare(scenario("university").schema(), dead, 1)
    assert scheme.unsatisfiable
    (task,) = expected_plan(scheme, [InputFile("large.xml", 1 << 26)], 2).tasks
    assert not task.pieces


def test_tasks_are_even_and_have_every_document_once() -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.spark.driver.planner import plan_tasks

    documents = [InputFile(f"{n}.xml", 1 + n * n * 10) for n in range(1_000)]
    documents.append(InputFile("huge.xml", 10**9))
    plan = plan_tasks(documents, 4)
    batches = [batch for task in sorted(plan.tasks) for batch in task.batches]
    assert [one for batch in batches for one in batch] == documents
    assert plan.tasks[0].batches[0][0].name == "huge.xml"
    assert max(task.cost for task in plan.tasks[1:]) < 2e8
    assert all(sum(one.size for one in batch) < 5e6 for batch in batches[:-1] if len(batch) > 1)
