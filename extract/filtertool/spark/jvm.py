"""Launches the JVM of Spark while Python does something else.

pyspark launches a JVM and waits for it, which takes a second or more. Here both are apart: a
command launches the JVM as soon as it knows that it needs one, prepares its work, and connects
then. A JVM that nobody connects to ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

_LOOK: Final = 0.02  # seconds between two looks whether the JVM answers
_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"


class LaunchedJvm:
    """A JVM that is starting or runs.

    Args:
        conf: The settings of Spark that it is launched with.
        quiet: Whether what it says is kept in a file, and not written to the streams of this
            process.

    Attributes:
        process: The process.
        said: The file with what it has said; None if it is not quiet.

    Raises:
        OSError: It cannot be launched.
    """

    def __init__(self, conf: Mapping[str, str], quiet: bool) -> None:
        self.conf = dict(conf)
        with contextlib.ExitStack() as stack:
            said = stack.enter_context(tempfile.TemporaryFile()) if quiet else None
            self.said: IO[bytes] | None = said
            self._folder = Path(tempfile.mkdtemp(prefix="extract-jvm-"))
            stack.callback(shutil.rmtree, self._folder)
            self._answer = self._folder / "connection"
            command = [os.path.join(str(_find_spark_home()), "bin", "spark-submit")]
            command += [part for one in conf.items() for part in ("--conf", "=".join(one))]
            command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
            answer = {"_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._answer)}
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # when this end closes, the JVM ends
                stdout=said,
                stderr=said,
                env={**os.environ, "SPARK_CONNECT_MODE": "0", **answer},
                process_group=0,  # Ctrl-C is for this process, which stops Spark in order
            )
            stack.pop_all()
        atexit.register(self.end)

    def connect(self) -> Any:
        """Waits until the JVM answers; returns py4j's gateway to it.

        Raises:
            PySparkRuntimeError: The JVM has ended.
        """
        while not self._answer.is_file():
            if self.process.poll() is not None:
                raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            time.sleep(_LOOK)
        with self._answer.open("rb") as file:
            port, secret = read_int(file), UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
        shutil.rmtree(self._folder, ignore_errors=True)
        os.environ.update({_PORT: str(port), _SECRET: str(secret)})
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        gateway.proc = self.process
        atexit.unregister(self.end)
        return gateway

    def end(self) -> None:
        """Ends the JVM, whatever it is doing, and closes what it has said."""
        atexit.unregister(self.end)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.said is not None:
            self.said.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def can_launch() -> bool:
    """Says whether a JVM can be launched here; where not, pyspark does it in its own way."""
    return sys.platform != "win32" and _PORT not in os.environ
