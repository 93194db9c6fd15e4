"""A matcher that does to Spark's workers what clusters do. Workers import it by its name."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherReport,
    Question,
    Select,
    Unit,
    UnlimitedFactory,
)


@dataclass(frozen=True)
class FaultyFactory(UnlimitedFactory):
    """Builds matchers that answer as ``lxml`` does, but for one fault.

    Attributes:
        fault: ``kill`` ends the worker, ``executor`` the JVM that started it, ``raise`` fails the
            task, ``hang`` never ends it, and with ``full`` a worker's files cannot grow, as on a
            full disk.
        marker: A file that is made before the fault; where it is there, there is no fault.
        only: Faults happen only on units that have these bytes.
        again: Whether there is a fault each time.
    """

    fault: Literal["kill", "executor", "full", "hang", "raise"]
    marker: str
    only: bytes = b""
    again: bool = False

    name = "faulty"
    consumes: Literal["xml"] = "xml"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In a worker, when the job has arrived."""
        self.__dict__.update(state)
        if self.fault == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        return FaultyMatcher(self, LxmlFactory().build(questions, namespaces))


@dataclass
class FaultyMatcher:
    plan: FaultyFactory
    matcher: Matcher

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        if self.plan.fault != "full" and any(self.plan.only in (one.xml or b"") for one in units):
            self._fail()
        return self.matcher.match(units, select)

    def report(self) -> MatcherReport:
        return self.matcher.report()

    def _fail(self) -> None:
        marker = Path(self.plan.marker)
        try:
            marker.touch(exist_ok=self.plan.again)
        except FileExistsError:
            return
        if self.plan.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.plan.fault == "executor":  # it started a daemon, of which we are a fork
            status = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
            os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
            signal.pause()
        if self.plan.fault == "hang":
            signal.pause()
        raise RuntimeError("a fault that was asked for")
