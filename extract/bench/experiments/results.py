"""What an experiment gives: sections with tables, charts and checks, for people and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extract.bench.table import ResultTable


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a label, parts that add up, and what is said beside it.

    Attributes:
        label: What it is about.
        parts: Name and value of each part, in the order in which they happen.
        ours: Whether it is ours, and stands out.
        remark: A word behind its value.
    """

    label: str
    parts: tuple[tuple[str, float], ...]
    ours: bool = False
    remark: str = ""

    @property
    def value(self) -> float:
        """All parts together."""
        return sum(value for _, value in self.parts)


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of bars from left to right."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """From the earliest to the latest, as parts of a whole that is 100."""

    label: str
    earliest: float
    latest: float
    everything: float


@dataclass(frozen=True, slots=True)
class SpanChart:
    """A chart of when things are delivered, in percent of the time without chunks."""

    title: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points; the last one has the name beside it."""

    name: str
    points: tuple[tuple[float, float], ...]
    ours: bool = False


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of lines on logarithmic axes: a straight line at 45 degrees is "in proportion"."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]


Chart = BarChart | SpanChart | LineChart


@dataclass(frozen=True, slots=True)
class Check:
    """Two ways to the same answers, compared in this run.

    Attributes:
        what: What was compared.
        holds: Whether they are equal.
        detail: How many comparisons, or what differs.
        decisive: Whether a difference means that we are wrong, not the other.
    """

    what: str
    holds: bool
    detail: str
    decisive: bool = True

    def __str__(self) -> str:
        verdict = "equal" if self.holds else "DIFFERENT" if self.decisive else "different"
        return f"{self.what}: {verdict}, {self.detail}"


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment, or a few that belong together."""

    title: str
    words: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """All experiments on a scenario.

    Attributes:
        title: What it is about.
        summary: A few sentences with the main figures.
        facts: Machine, versions, date, command: each figure holds for these.
        sections: The experiments.
        headline: The chart to show where there is room for one.
    """

    title: str
    summary: tuple[str, ...]
    facts: Mapping[str, str]
    sections: tuple[Section, ...]
    headline: BarChart | None = field(default=None, repr=False)

    @property
    def checks(self) -> list[Check]:
        """All comparisons."""
        return [check for section in self.sections for check in section.checks]

    @property
    def right(self) -> bool:
        """Whether no comparison found us wrong."""
        return all(check.holds or not check.decisive for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "summary": list(self.summary),
            "right": self.right,
            "sections": [
                {
                    "title": section.title,
                    "words": section.words,
                    "tables": [table.to_json() for table in section.tables],
                    "checks": [
                        {
                            "what": check.what,
                            "equal": check.holds,
                            "detail": check.detail,
                            "decisive": check.decisive,
                        }
                        for check in section.checks
                    ],
                }
                for section in self.sections
            ],
        }


def seconds(value: float) -> str:
    """A time in the unit that suits it.

    >>> seconds(0.0000042), seconds(0.0132), seconds(0.25), seconds(13.04), seconds(400)
    ('4.2 µs', '13 ms', '250 ms', '13.0 s', '400 s')
    """
    if value >= 1:
        return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
    if value >= 1e-3:
        return f"{value * 1e3:.0f} ms" if value >= 1e-2 else f"{value * 1e3:.1f} ms"
    return f"{value * 1e6:.1f} µs" if value else "0"


def times(ratio: float) -> str:
    """How many times as long.

    >>> times(0.0934), times(5.19), times(1234.5)
    ('0.093', '5.2', '1,234')
    """
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
