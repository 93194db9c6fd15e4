"""Starting Spark, unless it runs in this process already."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from extract.errors import ExtractError
from extract.filtertool.spark.java import require_java, use_java
from extract.filtertool.spark.jvm import LaunchedJvm, can_launch
from extract.filtertool.spark.worker.without_pandas import VARIABLE as WITHOUT_PANDAS

# Four attempts: a task whose worker was killed is tried again also on one machine (FACTS.md).
_ATTEMPTS: Final = 4
LOCAL: Final = f"local[*,{_ATTEMPTS}]"

_NAME: Final = "extract"  # what Spark's pages call a job

# Documents never pass through the JVM: it has little to do, and compiling it well takes longer than
# most jobs. Spark then starts in half the time.
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


# What Spark would remember of work that is over. A stream lists every document once, and nobody
# looks at pages of Spark that are switched off.
_FORGETFUL: Final = {
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",  # of files that were listed: 250 MB
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
}

# For a context that ends with the block in which it was opened: all tasks there are ours.
_OWN: Final = {f"spark.executorEnv.{WITHOUT_PANDAS}": "1"}

launched: list[LaunchedJvm] = []  # ahead; at most one


@contextlib.contextmanager
def open_context(
    master: str | None = None, name: str = _NAME, conf: Mapping[str, str] | None = None
) -> Iterator[SparkContext]:
    """Opens Spark: that which runs in this process, or one that ends with the block.

    Args:
        master: Where to run; by default on all cores of this machine, or where ``spark-submit``
            says.
        name: What Spark's pages call the job.
        conf: Settings of Spark, by their names; they count more than ours.

    Raises:
        ExtractError: There is no Java that Spark runs on, or Spark does not start.
    """
    active = SparkContext._active_spark_context
    if active is not None:
        use_this_python(active)
        yield active
        return
    context = _start(master, name, {**_OWN, **(conf or {})})
    try:
        yield context
    finally:
        context.stop()


def local_session(
    master: str | None = None, name: str = _NAME, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Returns a Spark session: the active one, or a new one on this machine or on a master.

    Raises:
        ExtractError: There is no Java that Spark runs on, or Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    context = SparkContext._active_spark_context or _start(master, name, conf or {})
    return SparkSession(context)


def settings(master: str | None) -> dict[str, str]:
    """Returns settings of Spark that hold where the user has not decided."""
    if master is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has decided all
        return {}
    master = with_attempts(master or LOCAL)
    chosen = {
        "spark.master": master,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    }
    if master.startswith("local"):
        chosen |= {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": _QUICK,
            "spark.log.level": "ERROR",
            **_FORGETFUL,
        }
    if master.startswith("local") and hasattr(socket, "AF_UNIX"):
        # On TCP every task waits some 25 ms for a packet that is held back.
        chosen["spark.python.unix.domain.socket.enabled"] = "true"
    return chosen


def use_this_python(context: SparkContext) -> None:
    """Lets the workers of a session on this machine run the Python that runs this process.

    A session that another program has started takes the ``python3`` that is first in the path. It
    need not have extract: that of ``.venv/bin/python script.py`` has not. What the user has chosen
    stays, and so does what a cluster has.
    """
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if not chosen and str(context.master).startswith("local"):
        context.pythonExec = sys.executable


def with_attempts(master: str) -> str:
    """Returns a master that tries a task again also on one machine.

    >>> with_attempts("local[2]"), with_attempts("local"), with_attempts("spark://host:7077")
    ('local[2,4]', 'local[1,4]', 'spark://host:7077')
    """
    if master == "local":
        return f"local[1,{_ATTEMPTS}]"
    return re.sub(r"^local\[([\d*]+)\]$", rf"local[\1,{_ATTEMPTS}]", master)


def launch_ahead(master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
    """Launches Spark's JVM, so that it starts while the caller prepares what Spark is to do.

    The next `open_context` with the same arguments connects to it. Where Spark runs already, or
    where ``spark-submit`` has started it, nothing happens.

    Args:
        master, conf: As for `open_context`.

    Raises:
        ExtractError: There is no Java that Spark runs on, or it cannot be started.
    """
    if SparkContext._gateway is None and can_launch() and not launched:
        _choose_programs()
        launched.append(_launch(_settings(master, _NAME, {**_OWN, **(conf or {})})))


def _settings(master: str | None, name: str, given: Mapping[str, str]) -> dict[str, str]:
    conf = SparkConf().setAppName(name)
    for key, value in {**settings(master), **given}.items():
        conf.set(key, value)
    return dict(conf.getAll())


def _choose_programs() -> None:
    """Chooses the Java and the Python that Spark starts, where the user has not."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        use_java(require_java())
    # Spark would start the python3 that is first in the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _QUICK)


def _launch(conf: Mapping[str, str]) -> LaunchedJvm:
    # Everything that Spark and its workers say on one machine, for the case that it fails. On a
    # cluster some of it is for the user: that there are no free executors, for example.
    quiet = conf.get("spark.master", "").startswith("local")
    try:
        return LaunchedJvm(conf, quiet)
    except OSError as error:
        raise _not_started(str(error)) from error


def _start(master: str | None, name: str, given: Mapping[str, str]) -> SparkContext:
    if not launched:
        _choose_programs()
    chosen = _settings(master, name, given)
    conf = SparkConf().setAll(list(chosen.items()))
    if SparkContext._gateway is not None or not can_launch():
        return _make_context(conf, None)
    jvm = launched.pop() if launched else _launch(chosen)
    if jvm.conf != chosen:  # it was launched for something else
        jvm.end()
        jvm = _launch(chosen)
    return _make_context(conf, jvm)


def _make_context(conf: SparkConf, jvm: LaunchedJvm | None) -> SparkContext:
    """Makes a context in a JVM; None for that which runs, or that pyspark launches.

    Raises:
        ExtractError: It does not start.
    """
    try:
        gateway = SparkContext._gateway if jvm is None else jvm.connect()
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:  # py4j has many
        reason = _reason(error, None if jvm is None else jvm.said)
        if jvm is not None and SparkContext._gateway is None:
            jvm.end()
        raise _not_started(reason) from error
    if jvm is not None and jvm.said is not None:
        jvm.said.close()
    return context


def _not_started(reason: str) -> ExtractError:
    hint = "`extract doctor` shows what is missing; --engine local does without Spark"
    return ExtractError(f"Spark does not start: {reason}", hint)


def _reason(error: Exception, said: IO[bytes] | None) -> str:
    """Returns the best line about why Spark did not start."""
    lines: list[str] = []
    if said is not None:
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if re.search(r"Error|Exception|error:|cannot|not find", line)]
    if telling:
        return telling[-1 if isinstance(error, PySparkException) else 0].strip()
    return next(iter(str(error).splitlines()), type(error).__name__)
