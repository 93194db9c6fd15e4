"""The context that the rules share while one query is normalised."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from extract.schema.places import Place
from extract.transtool.branch import PartialBranch, Spine
from extract.transtool.explain import why_dead
from extract.transtool.knowledge import Knowledge
from extract.transtool.rules.simplify_filter import simplify_filter, united
from extract.xpath.ast import ANY_NAME, ANY_NODE, Expr, LocationPath, NameTest, Step, Union

_UPWARD: Final = frozenset({"parent", "ancestor", "ancestor-or-self"})
_ANY_ELEMENT: Final = (ANY_NAME, ANY_NODE)
_MOST_REMEMBERED: Final = 100_000

# How a path looks that starts above its context node; a name or string may look so, too.
_LOOKS_UP: Final = re.compile(r"\.\.|parent::|ancestor")

# Simplifies a predicate: `extract.transtool.rules.simplify_filter` provides it.
Simplifier = Callable[[Spine, Expr, "Context"], tuple[Expr, ...] | None]

# Normalises a path from a spine's start: `extract.transtool.normalise` provides it.
Expander = Callable[[LocationPath, Spine, int], Sequence[PartialBranch]]


class Context:
    """The schema's knowledge, the normalisation of filters, and notes about the present query.

    Attributes:
        know: Answers questions about paths in the schema.
        room: The number of branches that the present query may still gain.
        fired: Names of the rules that changed the present query.
    """

    def __init__(self, know: Knowledge, expand: Expander) -> None:
        self.know = know
        self.room = know.limits.branches
        self.fired: set[str] = set()
        self._why: Callable[[], str] | None = None
        self._depth = -1
        self._expand = expand
        self._nodes: dict[tuple[Spine, Expr], tuple[Expr | None, frozenset[str]]] = {}
        self._filters: dict[tuple[Spine, Expr], tuple[tuple[Expr, ...] | None, frozenset[str]]] = {}
        self._starts: dict[tuple[int, int], Spine] = {}
        self._noted: list[Spine] = []
        self.document = Spine(None, None, know.places.document, 0, True, self._noted)

    def begin(self) -> None:
        """Drops the notes about the previous query, and the spines that only it has."""
        for spine in self._noted:
            spine.forget()
        self._noted.clear()
        self.room = self.know.limits.branches
        self.fired = set()
        self._why = None
        self._depth = -1

    @property
    def dead_end(self) -> str:
        """The deepest missing edge so far, as a sentence; empty if there is none."""
        return "" if self._why is None else self._why()

    def affords(self, branches: int) -> bool:
        """Whether one branch may become so many."""
        return branches <= max(self.room, 1)

    def is_dead(self, branch: PartialBranch) -> bool:
        """Whether the schema has no node where the branch's tail leads; if so, notes the edge."""
        if self.know.live(branch.tail) & branch.spine.place.bit:
            return False
        self.missing(branch.spine, branch.tail)
        return True

    def missing(self, spine: Spine, tail: tuple[Step, ...]) -> None:
        """Notes that the schema has no edge that continues a spine; the deepest such note stays."""
        if spine.absolute and len(spine.names) > self._depth:
            self._depth = len(spine.names)
            # The sentence is made when it is known that all branches end: most queries go on.
            self._why = partial(_missing_edge, self.know, spine, tail)

    # -- filters

    def enter(
        self, spine: Spine, test: NameTest, place: Place, predicates: tuple[Expr, ...]
    ) -> Spine | None:
        """Returns the spine with one more step; None if its filters cannot hold there."""
        longer = spine.child(test, place)
        if not predicates:
            return longer
        simple = self.simplify(longer, predicates)
        if simple is None:
            return None
        return spine.child(test, place, simple)

    def simplify(self, spine: Spine, predicates: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        """Returns the predicates in normal form at the spine; None if they cannot hold."""
        simple = simplify_filter(spine, predicates, self)
        if simple is None:
            for predicate in predicates:
                if simplify_filter(spine, (predicate,), self) is None:
                    self._note_filter(spine, predicate)
                    break
        if simple != predicates:
            self.fired.add("simplify_filter")
        return simple

    def filters(
        self, spine: Spine, predicate: Expr, simplify: Simplifier
    ) -> tuple[Expr, ...] | None:
        """Returns what ``simplify`` makes of a predicate; queries of one set share most of them."""
        if _LOOKS_UP.search(str(predicate)):  # at what is above, which is not the same for all
            return simplify(spine, predicate, self)
        key = (self._start(spine), predicate)
        known = self._filters.get(key)
        if known is None:
            if len(self._filters) > _MOST_REMEMBERED:
                self._filters.clear()
            fired, self.fired = self.fired, set()
            try:
                filters = simplify(spine, predicate, self)
            finally:
                own, self.fired = self.fired, fired
                self.fired |= own
            known = self._filters[key] = filters, frozenset(own)
        self.fired |= known[1]
        return known[0]

    def _note_filter(self, spine: Spine, predicate: Expr) -> None:
        if spine.absolute and len(spine.names) > self._depth:
            self._depth = len(spine.names)
            self._why = partial(_failing_filter, self.know, spine, predicate)

    def is_certain(self, spine: Spine, path: Expr) -> bool:
        """Whether a path of one upward step selects a node, judging by the spine itself."""
        if not isinstance(path, LocationPath) or path.absolute or len(path.steps) != 1:
            return False
        if spine.parent is None:
            return False
        step = path.steps[0]
        return (
            step.axis in _UPWARD
            and not step.predicates
            and any(
                self._passes(s, step) and (not s.place.unknown or step.test in _ANY_ELEMENT)
                for s in self._above(spine, step)
            )
        )

    def nodes(self, spine: Spine, expr: LocationPath | Union) -> Expr | None:
        """Returns a path inside a filter in normal form; None if it selects nothing here."""
        if isinstance(expr, Union):
            parts = [self.nodes(spine, p) if isinstance(p, LocationPath) else p for p in expr.parts]
            possible = [p for p in parts if p is not None]
            return united(possible) if possible else None
        if expr.absolute:
            start = self.document
        else:
            if expr.steps[0].axis in _UPWARD and spine.parent is not None:
                return None if self._climbs_to_nothing(spine, expr) else expr
            start = self._start(spine)
        if start.leads_along(expr.steps, self.know.prefixes):
            return expr  # each step is an edge that the schema has: there is nothing to rewrite
        key = (start, expr)
        cached = self._nodes.get(key)
        if cached is None:
            if len(self._nodes) > _MOST_REMEMBERED:
                self._nodes.clear()
            cached = self._nodes[key] = self._find_nodes(start, expr)
        self.fired |= cached[1]
        selected = cached[0]
        if selected is None or selected == expr or expr.absolute:
            return selected
        # A path ``./..`` may have become ``..``, about which the spine knows more.
        paths = selected.parts if isinstance(selected, Union) else (selected,)
        left = [p for p in paths if not self._climbs_to_nothing(spine, p)]
        return selected if len(left) == len(paths) else united(left) if left else None

    def _find_nodes(self, start: Spine, path: LocationPath) -> tuple[Expr | None, frozenset[str]]:
        fired, room = self.fired, self.room
        # The end of an absolute path in a filter is no note about the query: the result is cached,
        # and the next query with the same path would not get the note.
        notes = self._why, self._depth
        self.fired, self.room = set(), self.know.limits.filter_branches
        try:
            branches = self._expand(path, start, self.know.limits.size)
            if not branches:
                return None, frozenset(self.fired)
            if len(branches) == 1 and branches[0].xpath == str(path):
                return path, frozenset()
            nodes = united([b.path for b in branches])
            if nodes == path:
                return path, frozenset()
            return nodes, frozenset(self.fired)
        finally:
            self.fired, self.room = fired, room
            self._why, self._depth = notes

    def _start(self, spine: Spine) -> Spine:
        """Returns the start of relative paths in a filter of this spine."""
        start = spine.inner
        if start is None:
            place = spine.place
            on_path = spine.on_path & place.reach
            key = (place.index, on_path)
            start = self._starts.get(key)
            if start is None:
                start = self._starts[key] = Spine(None, None, place, on_path, False, self._noted)
            spine.inner = start
        return start

    def _above(self, spine: Spine, step: Step) -> list[Spine]:
        """Returns the spines that an upward step may reach; empty if they are unknown."""
        out: list[Spine] = [spine] if step.axis == "ancestor-or-self" else []
        above = spine.parent
        while above is not None:
            out.append(above)
            if step.axis == "parent":
                return out
            above = above.parent
        return out if spine.absolute else []

    def _climbs_to_nothing(self, spine: Spine, path: Expr) -> bool:
        """Whether a path starts with an upward step that selects nothing above this spine."""
        if not isinstance(path, LocationPath) or path.absolute or spine.parent is None:
            return False
        first = path.steps[0]
        if first.axis not in _UPWARD:
            return False
        ways = self._above(spine, first)
        return bool(ways) and not any(self._passes(s, first) for s in ways)

    def _passes(self, spine: Spine, step: Step) -> bool:
        return bool(self.know.matching(step.test) & spine.place.bit)


def _missing_edge(know: Knowledge, spine: Spine, tail: tuple[Step, ...]) -> str:
    """Why the tail of a branch leads nowhere."""
    where = f" (at {spine.text})" if spine.text else ""
    return why_dead(know, spine.place, tail) + where


def _failing_filter(know: Knowledge, spine: Spine, predicate: Expr) -> str:
    """Why a filter cannot hold at the end of a spine."""
    text = f"[{predicate}] cannot hold at {spine.text}"
    if isinstance(predicate, LocationPath):
        start = know.places.document if predicate.absolute else spine.place
        if not know.live(predicate.steps) & start.bit:
            text += f": {why_dead(know, start, predicate.steps)}"
    return text
