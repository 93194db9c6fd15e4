"""The alternatives of a query, and by what the push engine finds queries that have them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from extract.filtertool.matchers.push.conditions import (
    ANY_TEST,
    PARENT_TEST,
    TRUE,
    Always,
    Among,
    And,
    Compare,
    CompareNumber,
    CompareText,
    Condition,
    First,
    FixedText,
    NodesComparison,
    Operator,
    Or,
    Path,
    PathAxis,
    PathStep,
    Selected,
    StepParts,
    TextComparison,
    There,
    ValueText,
    both,
)
from extract.filtertool.matchers.push.turned_paths import with_condition


class AtomKind(IntEnum):
    """How a value leads to rows, numbered as in ``registry.h``."""

    EXISTS = 0
    EQUAL_STRING = 1
    EQUAL_NUMBER = 2
    GREATER = 3
    GREATER_EQUAL = 4
    LESS = 5
    LESS_EQUAL = 6
    CONTAINS = 7
    STARTS = 8


_EXISTS: Final = AtomKind.EXISTS  # an attribute of an enumeration takes long to find
_RANGES: Final = {
    Operator.GT: AtomKind.GREATER,
    Operator.GE: AtomKind.GREATER_EQUAL,
    Operator.LT: AtomKind.LESS,
    Operator.LE: AtomKind.LESS_EQUAL,
}
# What part of the documents an atom is expected to let through, before any was seen.
_EXPECTED: Final = {
    AtomKind.EXISTS: 1.0,
    AtomKind.EQUAL_STRING: 0.01,
    AtomKind.EQUAL_NUMBER: 0.02,
    AtomKind.CONTAINS: 0.1,
    AtomKind.STARTS: 0.1,
}
_EXPECTED_RANGE: Final = 0.4
_MOST_ANCHORS: Final = 32  # one below the other
_FAR: Final = (PathAxis.DESCENDANT, PathAxis.NEAR)

_SOME_NODE: Final = (There, Compare, CompareNumber, CompareText, Selected)
_OnPath: TypeAlias = There | Compare | CompareNumber | CompareText | Selected | First
_ON_PATH: Final = (*_SOME_NODE, First)

Names = tuple[tuple[int, int], ...]  # axes and tests of steps


class SlotPath(NamedTuple):
    """A path without conditions, with an anchor marked in it.

    Attributes:
        anchor: The steps to the anchor; none for the document node.
        steps: The steps from there.
    """

    anchor: Names
    steps: Names


class Atom(NamedTuple):
    """Something that must be so for a row to match.

    Attributes:
        slot: The path that it is about.
        kind: How its value leads to rows.
        cell: The constant; -1 for none.
        sure: Whether the query matches wherever it is so.
    """

    slot: SlotPath
    kind: AtomKind
    cell: int = -1
    sure: bool = False

    @property
    def cost(self) -> float:
        """How often it is expected to be so; deeper paths are there less often."""
        steps = (*self.slot.anchor, *self.slot.steps)
        named = sum([test != ANY_TEST for _, test in steps])
        far = sum([axis in _FAR for axis, _ in steps])
        return _EXPECTED.get(self.kind, _EXPECTED_RANGE) / (1 + named + 0.3 * (len(steps) - far))


Cover = tuple[Atom, ...]
"""Atoms one of which is so wherever the query matches."""


class SlotGroup(NamedTuple):
    """Paths that must be found below one and the same anchor.

    Attributes:
        slots: The paths.
        outer: The path to the anchor, if other groups are below it; else None.
    """

    slots: tuple[SlotPath, ...]
    outer: SlotPath | None = None


class Clause(NamedTuple):
    """One alternative of a query.

    Attributes:
        path: The path; None for a condition on the document.
        condition: That condition.
        anchor: The number of the step with the first condition; -1 for the document node.
        groups: Paths that must be found, by anchor.
        decides: Whether that is all, if each anchor that has other groups below it is the only one.
        covers: Ways to find it, the most promising one first.
        checks: The conditions at the anchor, if they all are about values on plain paths.
    """

    path: Path | None
    condition: Condition
    anchor: int
    groups: tuple[SlotGroup, ...]
    decides: bool
    covers: tuple[Cover, ...]
    checks: tuple[There | Compare | First, ...]


def path_clause(path: Path) -> Clause:
    """The clause for a path from the document node."""
    steps = path.steps
    anchor = next((n for n, step in enumerate(steps) if step.condition is not None), -1)
    if anchor < 0:
        slot = SlotPath((), step_names(steps))
        cover = (Atom(slot, _EXISTS, sure=True),)
        return Clause(path, Always(True), -1, (SlotGroup((slot,)),), True, (cover,), ())
    prefix = step_names(steps[: anchor + 1])
    own = steps[anchor].condition
    assert own is not None
    rest = [There(Path(False, steps[anchor + 1 :]))] if anchor + 1 < len(steps) else []
    condition = both([own, *rest])
    facts = _Facts()
    facts.add(condition, prefix)
    here = Atom(SlotPath(prefix, ()), _EXISTS)
    parts = condition.parts if isinstance(condition, And) else (condition,)
    checks = tuple(parts) if all(map(_is_check, parts)) else ()
    ways = (*_by_cost([_sure(cover, parts) for cover in facts.covers]), (here,))
    decides = facts.complete and _is_structure(condition)
    return Clause(path, condition, anchor, facts.groups(), decides, ways, checks)  # type: ignore[arg-type]


def document_clause(condition: Condition) -> Clause:
    """The clause for a condition on the document."""
    facts = _Facts()
    facts.add(condition, ())
    everywhere = Atom(SlotPath((), ()), AtomKind.EXISTS)
    ways = (*_by_cost(facts.covers), (everywhere,))
    return Clause(None, condition, -1, facts.groups(), False, ways, ())


def _by_cost(covers: list[Cover]) -> list[Cover]:
    return sorted(covers, key=_cost) if len(covers) > 1 else covers


def _cost(cover: Cover) -> float:
    return sum([atom.cost for atom in cover])


def _is_plain(path: Path) -> bool:
    return path.plain and not path.absolute and path.goes_down


def _is_structure(condition: Condition) -> bool:
    """Whether a condition is about the existence of nodes below its anchor, and nothing else."""
    if isinstance(condition, And):
        return all(map(_is_structure, condition.parts))
    if not isinstance(condition, There) or condition.path.absolute:
        return False
    if not condition.path.goes_down:
        return False
    conditions = [one.condition for one in condition.path.steps if one.condition is not None]
    return all(map(_is_structure, conditions))


def _is_check(part: Condition) -> bool:
    return isinstance(part, (There, Compare, First)) and _is_plain(part.path)


def _sure(cover: Cover, parts: Sequence[Condition]) -> Cover:
    """A single comparison that is the whole condition is decided where it is found."""
    if len(parts) > 1 or len(cover) > 1 or not isinstance(parts[0], Compare):
        return cover
    if not _is_plain(parts[0].path) or cover[0].kind is _EXISTS:
        return cover
    slot, kind, cell, _ = cover[0]
    return (Atom(slot, kind, cell, True),)


def step_names(steps: Sequence[PathStep]) -> Names:
    """The axes and tests of steps."""
    return tuple([step[:2] for step in steps])


class _Facts:
    """What a condition implies: slots by anchor, and covers.

    Args:
        above: How many anchors are above its own.

    Attributes:
        covers: Ways to find it.
        complete: Whether the slots are all that it implies: those far below one another's anchors
            are left out, for each is as long as the path to it.
    """

    def __init__(self, above: int = 0) -> None:
        self.covers: list[Cover] = []
        self.complete = True
        self._above = above
        self._groups: dict[Names, dict[SlotPath, None]] = {}
        self._outer: set[Names] = set()

    def groups(self) -> tuple[SlotGroup, ...]:
        """The slots of each anchor."""
        groups = []
        for anchor, slots in self._groups.items():
            outer = SlotPath(anchor, ()) if anchor in self._outer else None
            groups.append(SlotGroup(tuple(slots), outer))
        return tuple(groups)

    def add(self, condition: Condition, anchor: Names) -> None:
        """Adds what a condition at an anchor implies."""
        if isinstance(condition, And):
            for part in condition.parts:
                self.add(part, anchor)
        elif isinstance(condition, Among):
            for part in condition.predicates:
                self.add(part, anchor)
        elif isinstance(condition, Or):
            cover = _cover_of(condition, anchor)
            if cover:
                self.covers.append(cover)
        elif isinstance(condition, _ON_PATH):
            if condition.path.goes_down:
                if not isinstance(condition, First) or _needs_node(condition):
                    self._add_down(condition, anchor)
            elif not isinstance(condition, First):
                cover = _cover_of_union(condition.path, anchor)
                if cover:
                    self.covers.append(cover)
                for path in _implied(condition.path):
                    self.add(There(path), anchor)
        else:
            for path in _needed(condition):
                self.add(There(path), anchor)

    def _add_down(self, condition: _OnPath, anchor: Names) -> None:
        """Adds what a condition on a path downwards implies."""
        slot = _slot(condition.path, anchor)
        base = slot.anchor
        self._groups.setdefault(base, {})[slot] = None
        cover = _cover_at(condition, slot)
        if cover:
            self.covers.append(cover)
        self._add_inner(condition.path, base, base == anchor)

    def _add_inner(self, path: Path, base: Names, near: bool) -> None:
        """Adds what the conditions of a path's steps imply, at the first step that has one.

        Args:
            path: The path.
            base: Where it starts.
            near: Whether that is the anchor. A value below the document does not lead to an anchor
                elsewhere: there it only counts that there is a node.
        """
        for number, step in enumerate(path.steps):
            if step.condition is None:
                continue
            if self._above == _MOST_ANCHORS:
                self.complete = False
                return
            inner = base + step_names(path.steps[: number + 1])
            inside = _Facts(self._above + 1)
            inside.add(step.condition, inner)
            rest = path.steps[number + 1 :]
            if rest:
                inside.add(There(Path(False, rest)), inner)
            self.complete &= inside.complete
            self._outer |= {base, *inside._outer}
            for names, slots in inside._groups.items():
                self._groups.setdefault(names, {}).update(slots)
            self.covers += [_hoisted(cover, base, inner, near) for cover in inside.covers]
            return


def _hoisted(cover: Cover, base: Names, inner: Names, near: bool) -> Cover:
    """The same atoms with paths from the anchor ``base``, which is above the anchor ``inner``: a
    value that is sought then leads to the anchor of the clause, if it is ``near``."""
    atoms = []
    for atom in cover:
        if atom.slot.anchor == inner:
            slot = SlotPath(base, inner[len(base) :] + atom.slot.steps)
            atom = Atom(slot, atom.kind, atom.cell, atom.sure)
        if not near or atom.slot.anchor != base:
            atom = Atom(atom.slot, AtomKind.EXISTS)
        atoms.append(atom)
    return tuple(atoms)


def _needs_node(first: First) -> bool:
    """Whether there must be a node: that of none is empty, or no number."""
    return (first.operator is Operator.NE) == first.empty


def _needed(condition: Condition) -> tuple[Path, ...]:
    """Paths that select nodes wherever a condition on values holds."""
    match condition:
        case NodesComparison(_, left, right):
            return (left, right)
        case TextComparison(Operator.NE, ValueText(path), FixedText("")):
            return (path,)
    return ()


def _cover_of(condition: Condition, anchor: Names) -> Cover:
    """Atoms one of which is so wherever a condition holds; none if that is not known."""
    if isinstance(condition, (And, Among)):
        held = condition.parts if isinstance(condition, And) else condition.predicates
        covers = [cover for part in held if (cover := _cover_of(part, anchor))]
        return min(covers, key=_cost) if covers else ()
    if isinstance(condition, Or):
        parts = [_cover_of(part, anchor) for part in condition.parts]
        return tuple(dict.fromkeys([atom for part in parts for atom in part])) if all(parts) else ()
    needed = _needed(condition)
    if needed:
        return _cover_of(There(needed[0]), anchor)
    if isinstance(condition, _SOME_NODE) and not condition.path.goes_down:
        return _cover_of_first(condition.path, anchor)
    if isinstance(condition, First) and not condition.path.goes_down:
        return ()
    if isinstance(condition, _ON_PATH):
        return _cover_at(condition, _slot(condition.path, anchor))
    return ()


def _cover_at(condition: _OnPath, slot: SlotPath) -> Cover:
    """The same for a condition on a path downwards, whose slot is known."""
    if isinstance(condition, First) and not _needs_node(condition):
        return ()
    if isinstance(condition, (Compare, First)) and _is_plain(condition.path):
        return _value_cover(condition, slot)
    return (Atom(slot, _EXISTS),)


def _cover_of_first(path: Path, anchor: Names) -> Cover:
    """Atoms one of which is so wherever a path selects a node that is found node by node."""
    covers = [_cover_of(There(one), anchor) for one in _implied(path)]
    covers.append(_cover_of_union(path, anchor))
    return min([cover for cover in covers if cover], key=_cost, default=())


def _cover_of_union(path: Path, anchor: Names) -> Cover:
    """Atoms one of which is so wherever a path selects a node that begins with a union."""
    first = path.steps[0] if path.steps else None
    if first is None or first.axis is not PathAxis.UNION or first.parts is None:
        return ()
    parts = [_cover_of(There(one), anchor) for one in first.parts.paths]
    return tuple(dict.fromkeys([atom for part in parts for atom in part])) if all(parts) else ()


def _implied(path: Path) -> list[Path]:
    """Paths downwards, each of which selects a node wherever another one does.

    These are its first steps, as far as they go down, and for each name that a later step asks for
    a path to nodes with that name, wherever they are. Where positions count, a step has its
    predicates as conditions: each node that it leads to passes all of them.
    """
    steps: list[PathStep] = []
    paths, anywhere, down = [], False, True
    for number, step in enumerate(path.steps):
        if down and step.axis is PathAxis.NEAR and step.test == PARENT_TEST:
            anywhere = True
            continue
        if not number and step.axis is PathAxis.UNION and step.parts and len(step.parts.paths) == 1:
            paths += _implied(_filtered(step.parts.paths[0], step.parts.predicates))
        is_leaf = step.axis in (PathAxis.ATTRIBUTE, PathAxis.TEXT)
        down = down and step.axis <= PathAxis.TEXT and step.test > PARENT_TEST
        if down:
            if anywhere and is_leaf:
                steps.append(PathStep(PathAxis.NEAR, ANY_TEST))
            axis = PathAxis.DESCENDANT if anywhere and not is_leaf else step.axis
            steps.append(PathStep(axis, step.test, _condition_of(step)))
            anywhere, down = False, not is_leaf  # nothing is below an attribute or a text
        elif step.test > PARENT_TEST and step.test != ANY_TEST and step.axis < PathAxis.UNION:
            name = PathStep(PathAxis.ATTRIBUTE if is_leaf else PathAxis.DESCENDANT, step.test)
            before = (PathStep(PathAxis.NEAR, ANY_TEST),) if is_leaf else ()
            paths.append(Path(True, (*before, name)))
    return [Path(path.absolute, tuple(steps)), *paths] if steps else paths


def _filtered(path: Path, predicates: tuple[Condition, ...]) -> Path:
    """The path with further predicates on its last step."""
    if not predicates:
        return path
    *before, last = path.steps
    if last.parts is None:
        return with_condition(path, both(predicates))
    parts = StepParts((*last.parts.predicates, *predicates), last.parts.paths)
    return Path(path.absolute, (*before, last._replace(parts=parts)))


def _condition_of(step: PathStep) -> Condition | None:
    """What holds at each node that a step leads to, as far as it does not depend on others."""
    if step.parts is None:
        return step.condition
    condition = both(list(step.parts.predicates))
    return None if condition == TRUE else condition


def _slot(path: Path, anchor: Names) -> SlotPath:
    return SlotPath(() if path.absolute else anchor, step_names(path.steps))


def _value_cover(condition: Compare | First, slot: SlotPath) -> Cover:
    operator, cell = condition.operator, condition.cell
    if operator in _RANGES:
        return (Atom(slot, _RANGES[operator], cell),)
    if operator is Operator.EQ:
        return (Atom(slot, AtomKind.EQUAL_STRING, cell),)  # or a number: see `_Words`
    if operator is Operator.HAS:
        return (Atom(slot, AtomKind.CONTAINS, cell),)
    if operator is Operator.BEGINS:
        return (Atom(slot, AtomKind.STARTS, cell),)
    return (Atom(slot, AtomKind.EXISTS),)
