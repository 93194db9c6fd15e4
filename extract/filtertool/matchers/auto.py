"""The matcher ``auto``: for each batch the cheaper one of ``columnar`` and ``lxml``.

Columns cost the same for one question and for a thousand, some hundred calls of numpy a batch;
libxml2 costs little, but for every question and document. So libxml2 is cheaper for few questions
on a single small document, and columns for everything else. `extract bench matchers` has the
figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherReport,
    Question,
    Select,
    Unit,
    build_matcher,
)
from extract.limits import Limits

# Milliseconds, measured on one core: the cost of a batch of columns beyond that of a parsed unit,
# and the cost of a branch in libxml2, for each unit and for each of its elements.
_BATCH_MS: Final = 0.7
_BRANCH_MS: Final[Mapping[Select, float]] = {"doc": 0.011, "count": 0.02, "nodes": 0.1}
_ELEMENT_MS: Final = 0.00012


@dataclass(frozen=True, slots=True)
class AutoFactory:
    """Makes matchers that choose between ``columnar`` and ``lxml``.

    Attributes:
        fallback: Makes the lxml matcher, which answers every question.
    """

    name: str = "auto"
    consumes: Literal["xml", "table"] = "table"
    templates: bool = True
    fallback: LxmlFactory = field(default_factory=LxmlFactory)

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for these questions."""
        return AutoMatcher(questions, namespaces, self.fallback)

    def with_limits(self, limits: Limits) -> AutoFactory:
        """Returns a factory whose matchers enforce limits for one question."""
        return replace(self, fallback=self.fallback.with_limits(limits))


class AutoMatcher:
    """Answers questions by columns or by libxml2; see `AutoFactory`."""

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        fallback: LxmlFactory,
    ) -> None:
        self._questions = questions
        self._namespaces = namespaces
        self._fallback = fallback
        self._branches = sum([len(one.branches) * one.queries for one in questions])
        self._units: Counter[str] = Counter()

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: A unit cannot be evaluated.
        """
        few = lxml_is_cheaper(self._branches, [len(unit.table) for unit in units], select)
        self._units["lxml_units" if few else "columnar_units"] += len(units)
        return (self._lxml if few else self._columnar).match(units, select)

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        parts = [self._columnar] if self._units["columnar_units"] else []
        if not parts or self._units["lxml_units"]:
            parts.append(self._lxml)
        figures: Counter[str] = Counter(self._units)
        for part in reversed(parts):
            own = part.report().figures
            figures.update({k: int(n) for k, n in own.items() if not k.endswith("_questions")})
            for name, number in own.items():
                if name.endswith("_questions"):  # the columnar matcher's, if it was used
                    figures[name] = int(number)
        return MatcherReport(dict(figures))

    @cached_property
    def _columnar(self) -> Matcher:
        # Takes longer to import than libxml2 takes for few questions.
        from extract.filtertool.matchers.columnar.factory import ColumnarFactory

        factory = ColumnarFactory(fallback=self._fallback, seconds=self._fallback.seconds)
        return build_matcher(factory, self._questions, self._namespaces)

    @cached_property
    def _lxml(self) -> Matcher:
        return self._fallback.build(self._questions, self._namespaces)


def lxml_is_cheaper(branches: int, elements: Sequence[int], select: Select) -> bool:
    """Whether libxml2 takes less time than columns.

    Args:
        branches: The number of expressions.
        elements: The number of elements of each unit.
        select: Whether nodes, counts, or only matching questions are requested.

    >>> lxml_is_cheaper(3, [60], "nodes"), lxml_is_cheaper(3, [60] * 50, "nodes")
    (True, False)
    """
    branch_ms = len(elements) * _BRANCH_MS[select] + sum(elements) * _ELEMENT_MS
    return branches * branch_ms < _BATCH_MS
