"""Calls to the JVM from a thread: an interrupt ends the command and not the call."""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_interrupt_does_not_break_a_call_to_the_jvm() -> None:
    from extract.filtertool.spark.driver.job_progress import in_thread

    ended, over = Event(), Event()

    def talk() -> None:
        signal.raise_signal(signal.SIGINT)  # which the main thread is told of
        over.wait(60)
        ended.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            in_thread(talk)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ended.is_set()
    over.set()
    assert ended.wait(60)


def test_a_call_to_the_jvm_without_an_active_session(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    from extract.filtertool.spark.driver.job_progress import in_thread

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    assert in_thread(lambda: "started") == "started"
