"""The results of all tasks of a document, as one account."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.limits import Limits

pytest.importorskip("pyspark", reason="Spark is not installed")


def test_a_document_that_one_task_rejects_is_rejected(tmp_path: Path) -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.results.account import Account
    from extract.filtertool.spark.worker.document_results import DocumentResults
    from extract.filtertool.spark.worker.task_output import FinishedTask, TaskOutput
    from extract.filtertool.spark.worker.tasks import Task

    good, bad = Account(matches=5), Account()
    good.documents.update(["seen", "processed", "conforming"])
    bad.documents.update(["seen", "rejected"])

    def total(*accounts: Account) -> Account:
        task = Task(1, 1, ((InputFile("a.xml", 1),),), (0,))
        finished = [FinishedTask(task, TaskOutput("", account)) for account in accounts]
        return DocumentResults(finished, tmp_path, "nodes", Limits()).account()

    rejected = total(good, bad, good)
    assert (rejected.matches, rejected.documents) == (0, bad.documents)
    assert total(good, good).matches == 10
    assert total(good, good).documents["seen"] == 1
