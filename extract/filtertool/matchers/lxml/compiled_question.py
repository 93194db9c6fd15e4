"""A question as libxml2 evaluates it: compiled when it is first asked, for any number of units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.cost_bound import Bound
from extract.filtertool.matchers.lxml.document_parts import divide
from extract.filtertool.matchers.lxml.parsed_unit import NO_VARIABLES, Variables, compiled
from extract.filtertool.matchers.protocol import Question
from extract.xpath.functions import Type
from extract.xpath.parameters import divided
from extract.xpath.parser import parse
from extract.xpath.types import may_be_document

_FEW: Final = 4  # queries of one question whose constants are kept as variables

# Expressions that are looked at more closely: they may select the document node.
_DOCUMENT_NODE: Final = re.compile(r"node\(\)|/\.|\.\.|\)\[|\)/|/\s*(?:[|)]|$)")


def better_as_written(question: Question) -> bool:
    """Whether libxml2 evaluates the query as written faster than its branches.

    libxml2 unites node sets by comparing every node with every other: those of the operands of
    ``|``, and those that ``//`` selects below each of many nodes. Expanded branches have more of
    both.
    """
    if not question.original:
        return False
    if question.type is not Type.NODES:
        return any("|" in xpath or "//" in xpath for xpath in question.branches)
    # The document node is no match and must not be counted: `/ | //a` stays as it is.
    return any("//" in xpath for xpath in question.branches) and "|" not in question.original


class CompiledQuestion:
    """A question that is compiled on first use.

    Args:
        question: The question.
        namespaces: Prefix to namespace URI.
        limit: The estimated cost from which it may take very long.
        written: Whether to evaluate the query as written wherever that is known.

    Attributes:
        branches: The expressions that are evaluated.
        type: The type of the result.
        queries: The number of queries.
    """

    def __init__(
        self,
        question: Question,
        namespaces: Mapping[str, str],
        limit: float,
        written: bool = False,
    ) -> None:
        self.branches, self.type, _, self._constants = question
        self.queries = question.queries
        self._only: Sequence[Variables] = (NO_VARIABLES,)
        if self._constants is not None and self.queries <= _FEW:
            self._only = [self._constants.variables(number) for number in range(self.queries)]
            self._constants = None
        if question.original if written else better_as_written(question):
            self.branches = (question.original,)
        self._namespaces = namespaces
        self._limit = limit

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables of a question with one branch."""
        places = divided(self.branches[0])[1]
        return tuple(dict.fromkeys([f"{one.type}{one.number + 1}" for one in places]))

    @cached_property
    def divided(self) -> DividedQuestion | None:
        """The question with variables for what has one value in a document; None if nothing has."""
        found = divide(self.branches)
        if found is None:
            return None

        def compiled_question(branches: tuple[str, ...], type_: Type) -> CompiledQuestion:
            return CompiledQuestion(Question(branches, type_), self._namespaces, self._limit)

        parts = {
            name: compiled_question((xpath,), Type.STRING) for name, xpath in found.parts.items()
        }
        return DividedQuestion(compiled_question(found.xpaths, self.type), parts)

    def values(self) -> Iterator[Variables]:
        """Returns the constants of each query, as variables."""
        if self._constants is None:
            return iter(self._only)
        return map(self._constants.variables, range(self.queries))

    @cached_property
    def _bounds(self) -> list[Bound]:
        return [Bound(xpath, self._limit) for xpath in self.branches]

    @cached_property
    def allowed(self) -> float:
        """The number of elements up to which no branch takes very long."""
        return min([bound.allowed for bound in self._bounds], default=math.inf)

    def affords(
        self,
        elements: int,
        named: Callable[[], Mapping[str, int]],
        widest: Callable[[], float],
    ) -> bool:
        """Whether no branch takes very long on a unit.

        Args:
            elements: The number of its elements.
            named: Counts them by local name.
            widest: Returns the most nodes that have one parent.
        """
        return all(bound.affords(elements, named, widest) for bound in self._bounds)

    @cached_property
    def countable(self) -> bool:
        """Whether libxml2's count of nodes is the right one: it counts the document node, too."""
        return not any(map(_may_be_document, self.branches))

    @cached_property
    def compiled(self) -> list[Any]:
        """The branches."""
        return self._all("{}")

    @cached_property
    def counting(self) -> list[Any]:
        """The branches inside ``count()``."""
        return self._all("count({})")

    @cached_property
    def existing(self) -> list[Any]:
        """The branches inside ``boolean()``."""
        return self._all("boolean({})")

    def _all(self, form: str) -> list[Any]:
        return [compiled(form.format(xpath), self._namespaces) for xpath in self.branches]


def _may_be_document(xpath: str) -> bool:
    if not _DOCUMENT_NODE.search(xpath):
        return False
    try:
        return may_be_document(parse(xpath))
    except QuerySyntaxError:  # a branch may be longer than a query
        return True


class DividedQuestion(NamedTuple):
    """A question, and what its variables stand for.

    Attributes:
        question: The question.
        parts: For each variable what its value is, which is no node set.
    """

    question: CompiledQuestion
    parts: Mapping[str, CompiledQuestion]
