"""What the processes of a job hold and use, from Linux's /proc."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was seen after a round.

    Attributes:
        memory_mb: Resident memory of all processes together.
        java_mb: That of Java among them, which fills its heap before it tidies up.
        handles: Open files, pipes and sockets of all of them.
        processes: How many there are.
        cpu_ms: Processor time for a document since the last look.
    """

    memory_mb: float
    java_mb: float
    handles: int
    processes: int
    cpu_ms: float


class Meter:
    """Looks at this process and all below it."""

    def __init__(self) -> None:
        self._cpu = _cpu_seconds(_family())

    def look(self, documents: int) -> Figures:
        """The figures, after so many documents since the last look."""
        family = _family()
        before, self._cpu = self._cpu, _cpu_seconds(family)
        spent = max(0.0, self._cpu - before)
        memory, java = (
            sum(map(_pages, some)) * _PAGE / 1e6 for some in (family, filter(_is_java, family))
        )
        handles = sum(_handles(one) for one in family)
        return Figures(memory, java, handles, len(family), 1000 * spent / max(1, documents))


def _family() -> list[int]:
    """This process and its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue  # it has just ended
            parents.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for one in found:
        found += parents.get(one, [])
    return found


def _cpu_seconds(family: Sequence[int]) -> float:
    """Of the processes, and of those that they have waited for."""
    total = 0
    for one in family:
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def _pages(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0


def _is_java(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip() == "java"
    except OSError:
        return False


def _handles(process: int) -> int:
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return 0


def verdict(rounds: Sequence[Figures]) -> list[str]:
    """What does not stay flat: the end against the middle; empty if everything does.

    >>> flat = [Figures(100, 50, 10, 1, 5.0)] * 20
    >>> verdict(flat)
    []
    >>> verdict([Figures(100 + 10 * n, 50, 10 + n, 1, 5.0 + n) for n in range(20)])
    ['memory: 170 to 270 MB', 'handles: 17 to 27', 'processor time: 12.00 to 22.00 ms a document']
    """
    quarter = len(rounds) // 4
    if quarter < 2:
        return ["too few rounds to say anything"]
    middle, end = rounds[quarter : 2 * quarter], rounds[-quarter:]

    def both(name: str) -> tuple[float, float]:
        first, last = (median([getattr(one, name) for one in part]) for part in (middle, end))
        return first, last

    wrong = []
    first, last = both("memory_mb")
    if last > 1.1 * first + 10:
        wrong.append(f"memory: {first:.0f} to {last:.0f} MB")
    first, last = both("handles")
    if last > first + 4:
        wrong.append(f"handles: {first:.0f} to {last:.0f}")
    first, last = both("cpu_ms")
    if last > 1.3 * first:
        wrong.append(f"processor time: {first:.2f} to {last:.2f} ms a document")
    return wrong
