"""The protocol of matchers: the interface between units and answers, for all matchers.

A `MatcherFactory` is found by its name (`extract.filtertool.matchers.registry`), sent to the
workers, and there builds a `Matcher` for a set of questions, once. The matcher then answers them
for many units: a *unit* is a chunk of a document, or all that a document's chunks have together.

To add one from another package: write a factory, register it under the entry point group
``extract.matchers``, and run the contract suite on it (`extract.testing.matcher_contract`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.limits import Limits
from extract.xpath.functions import Type

Select = Literal["doc", "count", "nodes"]


class Question(NamedTuple):
    """What is asked of a unit: one canonical query, or those of its branches that belong there.

    Attributes:
        branches: XPath expressions from the document node, in canonical form and with the scheme's
            prefixes. Node sets are united; of other types there is only one.
        type: What it gives.
        original: The query as it was written, if all of its branches are here; else empty. A unit
            has only edges of the schema, so it gives the same there.
    """

    branches: tuple[str, ...]
    type: Type = Type.NODES
    original: str = ""


class Unit:
    """A document, or a part of it, that answers questions.

    Args:
        table: Its nodes; offsets are into `NodeTable.data`.
        xml: The same as XML, or what makes it when it is asked for.

    Attributes:
        table: Its nodes.
    """

    __slots__ = ("_xml", "table")

    def __init__(self, table: NodeTable, xml: bytes | Callable[[], bytes] | None = None) -> None:
        self.table = table
        self._xml = xml

    @property
    def xml(self) -> bytes | None:
        """A well-formed document with these nodes and no others; what it has as the ``n``-th
        element is row ``n`` of the table. None where no matcher asked for XML."""
        if callable(self._xml):
            self._xml = self._xml()
        return self._xml


@dataclass(frozen=True, slots=True)
class Nodes:
    """Selected nodes as columns, sorted by unit, question and document order, each node once.

    Attributes:
        unit: Which of the units.
        question: Which of the questions.
        refs: The nodes.
    """

    unit: NDArray[np.int32]
    question: NDArray[np.int32]
    refs: NodeRefs

    def __len__(self) -> int:
        return len(self.refs)

    def where(self, chosen: NDArray[np.bool_]) -> Nodes:
        """Returns those for which a mask is true."""
        return Nodes(self.unit[chosen], self.question[chosen], self.refs.where(chosen))


class Value(NamedTuple):
    """What a question that is no node set gave: a number, a string or a boolean."""

    unit: int
    question: int
    value: float | str | bool


class Failure(NamedTuple):
    """A question that could not be answered on a unit; the others were."""

    unit: int
    question: int
    reason: str


@dataclass(frozen=True, slots=True)
class Answers:
    """What a matcher found on some units.

    Attributes:
        unit, question, count: How many nodes each question selected where it selected any, sorted
            by unit and question. For ``doc`` the counts are 1, however many there are.
        nodes: The nodes; None unless ``nodes`` were asked for.
        values: One for each unit and question that is no node set.
        failures: Questions that were not answered.
    """

    unit: NDArray[np.int32]
    question: NDArray[np.int32]
    count: NDArray[np.int64]
    nodes: Nodes | None = None
    values: Sequence[Value] = ()
    failures: Sequence[Failure] = ()


@dataclass(frozen=True, slots=True)
class MatcherReport:
    """What a matcher reports of its work: figures with units in their names.

    Attributes:
        figures: Such as ``{"columnar_questions": 990, "lxml_questions": 10}``.
    """

    figures: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Matcher(Protocol):
    """Answers a set of questions on one unit after another."""

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: None of the questions can be answered on a unit.
        """

    def report(self) -> MatcherReport:
        """Returns what was done so far."""


@runtime_checkable
class UpdatableMatcher(Matcher, Protocol):
    """A matcher whose questions can change. Optional: any other matcher is built anew."""

    def update(self, added: Sequence[Question], removed: Collection[int]) -> None:
        """Changes the questions, from the next call of `match` on.

        The questions that stay keep their order and close up; those that are added come behind
        them. So a matcher of questions ``q`` then answers as one that is built for
        ``[each for n, each in enumerate(q) if n not in removed] + added``. What it has reported so
        far stays reported.

        Args:
            added: New questions.
            removed: Numbers of questions, as they were before.

        Raises:
            IndexError: There is no question of such a number; then nothing has changed.
        """


@runtime_checkable
class MatcherFactory(Protocol):
    """Builds matchers; must be picklable."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def consumes(self) -> Literal["xml", "table"]:
        """``"xml"`` if it needs `Unit.xml`, ``"table"`` if the node table is enough.

        A matcher that needs XML is asked chunk by chunk; one that does not is asked about all that
        the chunks of a document have, at once.
        """

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """A matcher for these questions.

        Args:
            questions: What to answer; results are numbered as these are.
            namespaces: Prefix to namespace URI, for all branches.
        """

    def with_limits(self, limits: Limits) -> MatcherFactory:
        """Returns a factory whose matchers keep to limits for one question on one unit.

        Those are `Limits.query_seconds` and `Limits.query_memory`. A question that passes one is a
        failure with the reason `Limits.passed`. A factory that holds no limits returns itself; it
        can inherit that from `UnlimitedFactory`.

        Args:
            limits: The limits of whoever filters documents.
        """


class UnlimitedFactory:
    """Base class for factories whose matchers hold no limits of their own.

    A document that takes too long is then given up as a whole, by the engine.
    """

    __slots__ = ()

    def with_limits(self, limits: Limits) -> Self:
        """Returns the factory as it is."""
        return self
