"""Starting Spark, unless it runs in this process already."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from extract.errors import ExtractError
from extract.filtertool.spark.java import require_java, use_java

# Four attempts: a task whose worker was killed is tried again also on one machine (FACTS.md).
_ATTEMPTS: Final = 4
LOCAL: Final = f"local[*,{_ATTEMPTS}]"

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


@contextlib.contextmanager
def open_context(
    master: str | None = None, name: str = "extract", conf: Mapping[str, str] | None = None
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
    context = _start(master, name, conf or {})
    try:
        yield context
    finally:
        context.stop()


def local_session(
    master: str | None = None, name: str = "extract", conf: Mapping[str, str] | None = None
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


def _start(master: str | None, name: str, given: Mapping[str, str]) -> SparkContext:
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        use_java(require_java())
    # Spark would start the python3 that is first in the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _QUICK)
    conf = SparkConf().setAppName(name)
    for key, value in {**settings(master), **given}.items():
        conf.set(key, value)
    quiet = str(conf.get("spark.master", "")).startswith("local")
    # Everything that Spark and its workers say on one machine, for the case that it fails. On a
    # cluster some of it is for the user: that there are no free executors, for example.
    with tempfile.TemporaryFile() as said:
        try:
            streams = {"stdout": said, "stderr": said} if quiet else {}
            gateway = SparkContext._gateway or launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
            return SparkContext(conf=conf, gateway=gateway)
        except Exception as error:  # py4j has many
            hint = "`extract doctor` shows what is missing; --engine local does without Spark"
            raise ExtractError(f"Spark does not start: {_reason(error, said)}", hint) from error


def _reason(error: Exception, said: IO[bytes]) -> str:
    """Returns the best line about why Spark did not start."""
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if re.search(r"Error|Exception|error:|cannot|not find", line)]
    if telling:
        return telling[-1 if isinstance(error, PySparkException) else 0].strip()
    return next(iter(str(error).splitlines()), type(error).__name__)
