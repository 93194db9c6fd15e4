"""The protocol of matchers: the interface between units and answers, for all matchers.

The `registry` finds a `MatcherFactory` by its name. The factory is sent to the workers, where it
builds a `Matcher` for a set of questions, once. The matcher then answers them for many units: a
*unit* is a chunk of a document, or the projection of all its chunks together.

To add one from another package: write a factory, register it under the entry point group
``extract.matchers``, and run the contract suite on it (`extract.testing.matcher_contract`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import NodeRefs
from extract.limits import Limits
from extract.subscriptions.constants import Constants
from extract.xpath.functions import Type
from extract.xpath.parameters import filled

Select = Literal["doc", "count", "nodes", "output"]


class Question(NamedTuple):
    """What is asked of a unit: one canonical query, or many that differ in their constants alone.

    A query may have further branches that are evaluated on other units.

    Attributes:
        branches: XPath expressions from the document node, in canonical form and with the scheme's
            prefixes. Node sets are united; a question of another type has one branch. A parameter
            is a variable, ``$string1`` or ``$number2``.
        type: The type of the result.
        original: The query as written, if all of its branches are here; otherwise empty. A unit
            only has edges of the schema, so the query has the same result there.
        constants: The constants of the queries; None for one query, without parameters.
    """

    branches: tuple[str, ...]
    type: Type = Type.NODES
    original: str = ""
    constants: Constants | None = None

    def key(self, epoch: int = 0) -> Hashable:
        """What identifies the normal form that is asked, whatever numbers forms have.

        Args:
            epoch: How often prefixes may have got another meaning since the first queries.
        """
        return epoch, self.branches, self.type

    @property
    def queries(self) -> int:
        """The number of queries."""
        return 1 if self.constants is None else len(self.constants)

    def each(self) -> Iterator[Question]:
        """Yields a question for each query, without parameters."""
        if self.constants is None:
            yield self
            return
        for number in range(len(self.constants)):
            yield self.one(number)

    def one(self, number: int) -> Question:
        """The question for one query, without parameters."""
        if self.constants is None:
            return self
        row = self.constants.row(number)
        branches = tuple([filled(branch, row) for branch in self.branches])
        return Question(branches, self.type, filled(self.original, row))


def numbering(questions: Sequence[Question]) -> NDArray[np.int64]:
    """The number of each question's first query, and at the end the number of all queries.

    Answers refer to queries by these numbers: those of the first question come first, in the order
    of their constants, then those of the second, and so on.
    """
    return np.cumsum([0, *[question.queries for question in questions]], dtype=np.int64)


class Unit:
    """A document, or a part of it, on which questions are evaluated.

    Args:
        table: Its nodes; offsets are into `NodeTable.data`.
        xml: The same nodes as XML, or a function that makes the XML on demand.

    Attributes:
        table: Its nodes.
    """

    __slots__ = ("_xml", "table")

    def __init__(self, table: NodeTable, xml: bytes | Callable[[], bytes] | None = None) -> None:
        self.table = table
        self._xml = xml

    @property
    def xml(self) -> bytes | None:
        """A well-formed document with exactly these nodes; its ``n``-th element is row ``n`` of the
        table. None where no matcher needs XML."""
        if callable(self._xml):
            self._xml = self._xml()
        return self._xml


@dataclass(frozen=True, slots=True)
class Nodes:
    """Selected nodes as columns, sorted by unit, query and document order, each node once.

    Attributes:
        unit: Index of the unit.
        question: Number of the query, as `numbering` counts them.
        refs: The nodes.
    """

    unit: NDArray[np.int32]
    question: NDArray[np.int32]
    refs: NodeRefs

    def __len__(self) -> int:
        return len(self.refs)

    def where(self, chosen: NDArray[np.bool_]) -> Nodes:
        """Returns the nodes for which a mask is true."""
        return Nodes(self.unit[chosen], self.question[chosen], self.refs.where(chosen))


class Value(NamedTuple):
    """The value of a query that is no node set: a number, a string or a boolean."""

    unit: int
    question: int
    value: float | str | bool


class Failure(NamedTuple):
    """A query that could not be answered on a unit; the others were."""

    unit: int
    question: int
    reason: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a matcher on units.

    Attributes:
        unit, question, count: The number of nodes that each query selects, where it is not 0,
            sorted by unit and query. For ``doc`` the counts are 1, however many nodes there are.
            Queries are numbered as by `numbering`.
        nodes: The nodes; None unless ``nodes`` were requested.
        values: One for each unit and each query that is no node set.
        failures: Queries that were not answered.
    """

    unit: NDArray[np.int32]
    question: NDArray[np.int32]
    count: NDArray[np.int64]
    nodes: Nodes | None = None
    values: Sequence[Value] = ()
    failures: Sequence[Failure] = ()


@dataclass(frozen=True, slots=True)
class MatcherReport:
    """The figures of a matcher's work, with units in their names.

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
            MatcherError: No question can be answered on a unit.
        """

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""


@runtime_checkable
class UpdatableMatcher(Matcher, Protocol):
    """A matcher whose questions can change. Optional: any other matcher is built again."""

    def update(self, added: Sequence[Question], removed: Collection[int]) -> None:
        """Changes the questions, from the next call of `match` on.

        The remaining questions keep their order and close up; added questions come behind them. So
        a matcher of questions ``q`` then answers as one that is built for
        ``[each for n, each in enumerate(q) if n not in removed] + added``. The figures reported so
        far stay.

        Args:
            added: New questions.
            removed: Numbers of questions, as they were before.

        Raises:
            IndexError: There is no question with such a number; then nothing has changed.
        """


@runtime_checkable
class MatcherFactory(Protocol):
    """Builds matchers; must be picklable."""

    @property
    def name(self) -> str:
        """The matcher's name for users."""

    @property
    def consumes(self) -> Literal["xml", "table"]:
        """``"xml"`` if it needs `Unit.xml`, ``"table"`` if the node table is enough.

        A matcher that needs XML evaluates chunk by chunk; any other evaluates all chunks of a
        document at once.
        """

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for questions.

        Args:
            questions: The questions; answers refer to their indices.
            namespaces: Prefix to namespace URI, for all branches.
        """

    def with_limits(self, limits: Limits) -> MatcherFactory:
        """Returns a factory whose matchers enforce limits for one question on one unit.

        The limits are `Limits.query_seconds` and `Limits.query_memory`. A question that exceeds one
        is a failure with the reason `Limits.passed`. A factory without limits returns itself; it
        can inherit this method from `UnlimitedFactory`.

        Args:
            limits: The limits of the filter.
        """


@runtime_checkable
class TemplateFactory(MatcherFactory, Protocol):
    """A factory whose matchers take questions with constants. Optional: see `build_matcher`."""

    @property
    def templates(self) -> bool:
        """Whether they do."""


def build_matcher(
    factory: MatcherFactory, questions: Sequence[Question], namespaces: Mapping[str, str]
) -> Matcher:
    """Builds a matcher; one that takes no constants gets a question for each query.

    Args:
        factory: Makes the matcher.
        questions, namespaces: As for `MatcherFactory.build`.
    """
    if not (isinstance(factory, TemplateFactory) and factory.templates):
        questions = [each for question in questions for each in question.each()]
    return factory.build(questions, namespaces)


class UnlimitedFactory:
    """Base class for factories whose matchers enforce no limits.

    The engine then gives up a document that takes too long as a whole.
    """

    __slots__ = ()

    def with_limits(self, limits: Limits) -> Self:
        """Returns the factory itself."""
        return self
