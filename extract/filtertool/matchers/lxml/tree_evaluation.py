"""The evaluation of questions on one unit, whose tree is parsed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from extract.errors import MatcherError
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.lxml.compiled_question import CompiledQuestion, DividedQuestion
from extract.filtertool.matchers.lxml.parsed_unit import (
    ParsedUnit,
    Unplaced,
    Variables,
    local_names,
    open_in_child,
    plain,
    select_in_child,
    value_in_child,
)
from extract.filtertool.matchers.node_refs import NodeRefs, TableRefs
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.processes.sandbox import Before, NoAnswer, shared_sandbox
from extract.limits import Limits
from extract.xpath.functions import Type

DIVIDED_FROM: Final = 200  # elements up to which nothing is gained by evaluating a part once
_FEW: Final = 100  # nodes for which an array is not worth while


class TreeEvaluation:
    """Evaluates questions on one unit.

    Args:
        xml: The unit: a well-formed document.
        size: Its number of elements, or more.
        table: Returns its table, as references to nodes need it; called if nodes are selected.
        namespaces: Prefix to namespace URI.
        limits: The time and memory of a question that may take very long and so runs in a process
            of its own.

    Attributes:
        guarded: How many questions ran in a process of their own.

    Raises:
        etree.XMLSyntaxError: The unit is not well-formed.
    """

    def __init__(
        self,
        xml: bytes,
        size: int,
        table: Callable[[], TableRefs],
        namespaces: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self.guarded = 0
        self._opening = Before(object(), open_in_child, (xml,))
        self._parsed = ParsedUnit(xml)
        self._size = size
        self._table = table
        self._namespaces = namespaces
        self._limits = limits
        self._values_of_parts: dict[tuple[Any, ...], float | str | bool | None] = {}
        self._named: Counter[str] | None = None
        self._most_children: float | None = None

    def answer(
        self,
        collector: Collector,
        question: CompiledQuestion,
        values: Variables,
        unit: int,
        query: int,
        select: Select,
    ) -> None:
        """Answers one query; an error is a failure of that query.

        Args:
            collector: Takes the answer.
            question: The question of the query.
            values: Its constants.
            unit, query: The numbers that the answer gets.
            select: What to select.

        Raises:
            MatcherError: The unit's table does not fit its tree.
        """
        try:
            self._answer(collector, question, values, unit, query, select)
        except MatcherError:
            raise
        except Exception as error:  # includes errors of functions such as re:test()
            if is_out_of_memory(error):  # not the question's fault
                raise MemoryError from error
            collector.fail(unit, query, self._reason(error))

    def _answer(
        self,
        collector: Collector,
        question: CompiledQuestion,
        values: Variables,
        number: int,
        index: int,
        select: Select,
    ) -> None:
        if self._size > DIVIDED_FROM and question.divided is not None:
            question, values = self._divided(question, question.divided, values)
        guarded = self._is_long(question)
        self.guarded += guarded
        if question.type is not Type.NODES:
            collector.value(number, index, self._value(question, values, guarded))
        elif select == "nodes" and not guarded:
            found = self._parsed.listed(question.compiled, values)
            if not found:
                return
            if len(found) <= _FEW and self._table().are_elements_in_order(found):
                collector.listed(number, index, found)
            else:
                collector.nodes(number, index, self._unique(NodeRefs.of(found)))
        elif guarded or not question.countable:
            refs = self._select(question, values, guarded)
            if not len(refs):
                return
            if select == "nodes":
                collector.nodes(number, index, self._unique(refs))
            elif len(question.branches) > 1 and select == "count":
                collector.count(number, index, len(self._unique(refs)))
            else:
                collector.count(number, index, len(refs))
        else:
            collector.count(number, index, self._count(question, values, select))

    def _divided(
        self, whole: CompiledQuestion, divided: DividedQuestion, values: Variables
    ) -> tuple[CompiledQuestion, Variables]:
        """The question to evaluate, and its variables: those of its parts are computed once.

        A part that fails or takes long may never be evaluated by libxml2, or only after another
        filter: then the question stays as it is.
        """
        further = dict(values)
        for name, part in divided.parts.items():
            value = self._value_of_part(part, values)
            if value is None:
                return whole, values
            further[name] = value
        return divided.question, further

    def _value_of_part(
        self, part: CompiledQuestion, values: Variables
    ) -> float | str | bool | None:
        known, own = self._values_of_parts, {name: values[name] for name in part.variables}
        key = (part.branches, *own.values())
        if key not in known:
            known[key] = None
            if not self._is_long(part):
                try:
                    known[key] = self._value(part, own, False)
                except Exception as error:
                    if is_out_of_memory(error):
                        raise
        return known[key]

    def _is_long(self, question: CompiledQuestion) -> bool:
        return self._size > question.allowed and not self._affords(question)

    def _value(
        self, question: CompiledQuestion, values: Variables, guarded: bool
    ) -> float | str | bool:
        if guarded:
            args = (question.branches[0], self._namespaces, values)
            value: float | str | bool = self._in_child(value_in_child, args)
            return value
        return plain(question.compiled[0](self._parsed.tree, **values))

    def _select(self, question: CompiledQuestion, values: Variables, guarded: bool) -> NodeRefs:
        if guarded:
            args = (question.branches, self._namespaces, values)
            refs: NodeRefs = self._in_child(select_in_child, args)
            return refs
        return self._parsed.select(question.compiled, values)

    def _unique(self, refs: NodeRefs) -> NodeRefs:
        """Nodes of the tree as nodes of the table: each once, in document order."""
        return self._table().unique(refs)

    def _in_child(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        seconds, memory = self._limits.query_seconds, self._limits.query_memory
        return shared_sandbox().call(
            function, *args, seconds=seconds, memory=memory, before=self._opening
        )

    def _count(self, question: CompiledQuestion, values: Variables, select: Select) -> int:
        """Counts the nodes that a query selects, without listing them where possible."""
        tree = self._parsed.tree
        if select == "doc":
            return int(any(exists(tree, **values) for exists in question.existing))
        counts = [int(count(tree, **values)) for count in question.counting]
        if sum(map(bool, counts)) <= 1:
            return sum(counts)
        filled = [branch for branch, n in zip(question.compiled, counts, strict=True) if n]
        return len(self._unique(self._parsed.select(filled, values)))

    def _reason(self, error: Exception) -> str:
        if isinstance(error, NoAnswer):
            return error.reason(self._limits)
        if isinstance(error, Unplaced):
            return f"it selects {error}, which has no place in a chunk"
        return f"libxml2 cannot evaluate it: {error}"

    def _affords(self, question: CompiledQuestion) -> bool:
        """Whether a question does not take very long, by the names of the elements."""
        named = self._counted_names()
        return question.affords(sum(named.values()), lambda: named, self._widest)

    def _widest(self) -> float:
        """The most nodes that have one parent."""
        if self._most_children is None:
            # Between two children there may be a text.
            widest = max(map(len, self._parsed.tree.getroot().iter()))
            self._most_children = 2.0 * widest + 1
        return self._most_children

    def _counted_names(self) -> Counter[str]:
        """The number of elements by local name."""
        if self._named is None:
            self._named = local_names(self._parsed.tree)
        return self._named
