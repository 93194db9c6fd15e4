"""What ``extract run`` says at its end about the time that Spark took."""

from __future__ import annotations

import pytest

from extract.cli.run_summary import show_other_ways, show_summary
from extract.cli.verbosity import Verbosity
from extract.filtertool.results.report import Report
from extract.pipeline import prepare
from extract.schema.model import Declaration, Schema
from extract.subscriptions import Subscriptions


def report(tasks: int, work: float, start: float = 5.0) -> Report:
    schema = Schema("memory", "dtd", (Declaration(0, "a"),), roots=(0,))
    made = Report(prepare(schema, Subscriptions.of({"a": "/a"}), 1), "spark", "auto", "nodes")
    made.seconds.update_by({"job": work / 2, "start_spark": start})
    made.parallel = {"cores": 2, "tasks": tasks, "one_after_the_other_s": work, "gain": 2.0}
    return made


@pytest.mark.parametrize(
    ("tasks", "work", "compared"), [(1, 60.0, False), (8, 1.0, False), (8, 60.0, True)]
)
def test_the_gain_of_spark_is_shown_where_it_says_something(
    tasks: int, work: float, compared: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    show_summary(report(tasks, work), "results", "parquet", 1.0, Verbosity.USUAL)
    shown = capsys.readouterr().out
    assert ("2.0 times as fast as one task after the other" in shown) is compared
    assert "start of Spark 5.0 s" in shown


def test_a_small_job_hears_of_ways_without_spark(capsys: pytest.CaptureFixture[str]) -> None:
    show_other_ways(report(1, 0.25))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "--engine local" in shown.err
    assert "`extract match`" in shown.err


def test_a_large_job_and_the_local_engine_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    show_other_ways(report(8, 60.0))
    show_other_ways(report(1, 0.25, start=0.0))  # Spark ran already
    local = report(1, 0.25)
    local.parallel = {}
    show_other_ways(local)
    assert capsys.readouterr().err == ""
