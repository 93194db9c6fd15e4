"""A branch during normalisation: its spine and its tail.

``/a/b[x]/m//c`` is the spine ``/a/b[x]/m``, whose place in the schema is known, and the tail
``//c``. Rules move steps from the tail to the spine, one after the other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from extract.schema.places import Place
from extract.transtool.prefixes import Prefixes
from extract.xpath.ast import (
    ANY_DEPTH,
    HERE,
    Expr,
    LocationPath,
    NameTest,
    Step,
    make_path,
    make_step,
    path_text,
)
from extract.xpath.types import has_positions


class Spine:
    """A path of child steps by name, from the document or from a filter's context node.

    `child` returns the same object for the same child without predicates. So a spine and what
    continues it refer to each other: where a step has predicates, which few queries share, the
    spine is noted, and `forget` ends that when the query is done.

    Attributes:
        parent: The spine one step shorter; None at the start.
        step: The last step; None at the start.
        place: Where the path leads.
        on_path: Bit set of the places along the path, for detecting recursion.
        absolute: Whether the path starts at the document node.
        text: The path as XPath, empty at the start.
        filtered: Whether a step of the path has predicates.
        noted: Spines with predicates that are continued; all spines from one start share the list.
        inner: The start of relative paths in a filter of the last step; None until it is needed.
    """

    __slots__ = (
        "_children",
        "_names",
        "_plain",
        "_walks",
        "absolute",
        "filtered",
        "inner",
        "noted",
        "on_path",
        "parent",
        "place",
        "step",
        "text",
    )

    def __init__(
        self,
        parent: Spine | None,
        step: Step | None,
        place: Place,
        on_path: int,
        absolute: bool,
        noted: list[Spine],
    ) -> None:
        self.parent = parent
        self.step = step
        self.place = place
        self.on_path = on_path | place.bit
        self.absolute = absolute
        self.noted = noted
        self.inner: Spine | None = None
        # Most spines are the end of a branch: what continues them is made when it is asked for.
        self._children: dict[str, Spine] | None = None
        self._names: tuple[str, ...] | None = None
        self._walks: dict[tuple[Place, ...], Spine] | None = None
        self._plain: dict[Step, Spine | None] | None = None
        self.filtered = False
        if parent is not None and step is not None:
            self.filtered = parent.filtered or bool(step.predicates)
        if parent is None or step is None:
            self.text = ""
        elif parent.step is None and not absolute:
            self.text = str(step)
        else:
            self.text = f"{parent.text}/{step}"

    def child(self, test: NameTest, place: Place, predicates: tuple[Expr, ...] = ()) -> Spine:
        """Returns the spine with one more child step."""
        if predicates:
            return self._longer(make_step("child", test, predicates), place)
        if self._children is None:
            self._children = {}
            if self.filtered:
                self.noted.append(self)
        name = place.name or str(test)
        longer = self._children.get(name)
        if longer is None:
            longer = self._children[name] = self._longer(make_step("child", test), place)
        return longer

    def _longer(self, step: Step, place: Place) -> Spine:
        return Spine(self, step, place, self.on_path, self.absolute, self.noted)

    def plain(self, step: Step, prefixes: Prefixes) -> Spine | None:
        """Returns the spine with a child step by name that has no filter and that the schema has.

        None for any other step.
        """
        if step.predicates:  # which few queries share
            return None
        if self._plain is None:
            self._plain = {}
        longer = self._plain.get(step, self)
        if longer is self:
            longer, test = None, step.test
            if step.axis == "child" and isinstance(test, NameTest) and test.local != "*":
                place = self.place.step(prefixes.expanded(test))
                longer = None if place is None else self.child(test, place)
            self._plain[step] = longer
        return longer

    def leads_along(self, steps: tuple[Step, ...], prefixes: Prefixes) -> bool:
        """Whether all of these steps are child steps by name, without filters, that the schema
        has."""
        spine = self
        for step in steps:
            longer = spine.plain(step, prefixes)
            if longer is None:
                return False
            spine = longer
        return bool(steps)

    def walk(self, path: tuple[Place, ...], prefixes: Prefixes) -> Spine:
        """Returns the spine that continues through these places."""
        if self._walks is None:
            self._walks = {}
        end = self._walks.get(path)
        if end is None:
            end = self
            for place in path:
                end = end.child(prefixes.test(place.name), place)
            self._walks[path] = end
        return end

    def forget(self) -> None:
        """Drops what continues this spine; whoever holds a longer one may keep it."""
        self._children = self._walks = self._plain = None

    def where(self, predicates: tuple[Expr, ...]) -> Spine:
        """Returns the same spine with other predicates on its last step."""
        assert self.parent is not None
        assert self.step is not None
        test = self.step.test
        assert isinstance(test, NameTest)
        return self.parent.child(test, self.place, predicates)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps from the start."""
        out: list[Step] = []
        spine: Spine | None = self
        while spine is not None and spine.step is not None:
            out.append(spine.step)
            spine = spine.parent
        return tuple(reversed(out))

    @property
    def names(self) -> tuple[str, ...]:
        """The names along the path, as printed, without filters."""
        if self._names is None:
            if self.parent is None or self.step is None:
                self._names = ()
            else:
                self._names = (*self.parent.names, str(self.step.test))
        return self._names


class PartialBranch(NamedTuple):
    """A spine and the tail that is not yet part of it.

    Attributes:
        spine: The part whose place in the schema is known.
        tail: The steps after the spine; empty when the branch is only a spine.
        stop: Why the tail stays; empty while rules may still apply to it.
    """

    spine: Spine
    tail: tuple[Step, ...]
    stop: str = ""

    @property
    def done(self) -> bool:
        """Whether no rule applies to this branch any more."""
        return not self.tail or bool(self.stop)

    @property
    def path(self) -> LocationPath:
        """The branch as a location path."""
        steps = self.spine.steps
        if not steps and not self.tail and not self.spine.absolute:
            return make_path(False, (HERE,))
        after = self.spine.absolute or bool(steps)
        return make_path(self.spine.absolute, steps + spell(self.tail, after))

    @property
    def residual(self) -> str:
        """The tail as text, to be appended to the spine's."""
        spine = self.spine
        return _tail_text(self.tail, spine.absolute or spine.step is not None)

    @property
    def length(self) -> int:
        """The number of characters of the branch, including the ``|`` after it."""
        tail = len(self.residual) if self.tail else 0
        return len(self.spine.text) + tail + len(" | ")

    @property
    def xpath(self) -> str:
        """The branch as XPath text."""
        return self.spine.text + self.residual or ("/" if self.spine.absolute else ".")


@lru_cache(maxsize=1 << 14)
def _tail_text(tail: tuple[Step, ...], after: bool) -> str:
    return path_text(spell(tail, True), "x")[1:] if after else path_text(spell(tail, False), "")


def spell(tail: tuple[Step, ...], after: bool) -> tuple[Step, ...]:
    """Returns the tail with ``//`` in place of ``descendant::`` where they are equivalent."""
    out: list[Step] = []
    for step in tail:
        if step.axis == "descendant" and (out or after) and not has_positions(step):
            out += (ANY_DEPTH, make_step("child", step.test, step.predicates))
        else:
            out.append(step)
    return tuple(out)
