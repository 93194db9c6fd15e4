"""Places: the schema's edges as one deterministic graph.

A *place* is where a path of names leads: ``/db/student`` is one place, however many students there
are. In a DTD a place is an element name. In an XSD the type of an element is not a function of its
parent's type and its name (``xsi:type``, wildcards, alternatives: TRAPS 11), so a place is the
*set* of declarations that a path of names may lead to; then every path leads to at most one place.

Two places are special: the document node, where every path starts, and the unknown place below a
lax wildcard, where any name may follow and nothing is ever pruned.

Sets of places are integers used as bit sets: bit ``i`` stands for the place with index ``i``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from extract.schema.graph import strong_components
from extract.schema.model import Declaration, Schema, Wildcard, local_of
from extract.xpath.names import NCNAME

MAX_PLACES: Final = 20_000  # past this many, further sets of declarations count as unknown


class Place:
    """Where a path of names leads. Made by `Places`; compare by identity.

    Attributes:
        index: Number of this place, and its bit in sets of places.
        bit: The set that holds just this place.
        name: Expanded name of the elements here; empty for the document node and the unknown place.
        declarations: What an element here may be; empty for the two special places.
        children: Where each known child name leads.
        open: Whether children beyond the known names may occur.
        child_bits: Bit set of the places of child elements.
        reach: Bit set of the places that are below this one, at any depth.
        span: The same with this one.
    """

    __slots__ = (
        "_attribute_wildcards",
        "_names",
        "_unknown",
        "_wildcards",
        "bit",
        "child_bits",
        "children",
        "declarations",
        "index",
        "name",
        "open",
        "reach",
        "span",
    )

    def __init__(
        self,
        index: int,
        name: str,
        declarations: tuple[Declaration, ...],
        unknown: Place | None,
        wildcards: tuple[Wildcard, ...] = (),
    ) -> None:
        self.index = index
        self.bit = 1 << index
        self.name = name
        self.declarations = declarations
        self.children: dict[str, Place] = {}
        self.child_bits = self.reach = self.span = 0
        self._unknown = unknown or self
        self._wildcards = wildcards
        self._names = {a.name for d in declarations for a in d.attributes}
        self._attribute_wildcards: tuple[Wildcard, ...] = ()
        for declaration in declarations:
            self._wildcards += declaration.wildcards
            self._attribute_wildcards += declaration.attribute_wildcards
        self.open = bool(self._wildcards) or unknown is None

    @property
    def unknown(self) -> bool:
        """Whether this is the place of which nothing is known."""
        return self._unknown is self

    def step(self, name: str) -> Place | None:
        """Where a child element of this name leads; None if the schema has no such edge."""
        if self.open and (self.unknown or any(w.admits(name) for w in self._wildcards)):
            return self._unknown
        return self.children.get(name)

    def has_attribute(self, name: str) -> bool:
        """Whether the schema has an edge to an attribute of this name."""
        return (
            name in self._names
            or self.unknown
            or any(w.admits(name) for w in self._attribute_wildcards)
        )

    @property
    def attribute_edges(self) -> tuple[set[str], tuple[Wildcard, ...]]:
        """The names of declared attributes, and the wildcards that admit others."""
        return self._names, self._attribute_wildcards

    @property
    def attributes(self) -> frozenset[str] | None:
        """The attributes that may occur, or None if their names cannot be listed."""
        if self.unknown or self._attribute_wildcards or not all(map(is_sayable, self._names)):
            return None
        return frozenset(self._names)

    def __repr__(self) -> str:
        return f"<Place {self.index} {self.name or ('*' if self.unknown else '/')}>"


def is_sayable(name: str) -> bool:
    """Whether an expanded name can be written in an XPath; libxml2 has fewer letters there."""
    return NCNAME.fullmatch(local_of(name)) is not None


class Places:
    """All places of a schema, with what its graph says about recursion and reachability."""

    def __init__(self, schema: Schema) -> None:
        self.unknown = Place(0, "", (), None)
        # Without a schema any element may start a document.
        beyond = (Wildcard(),) if schema.kind == "none" else ()
        self.document = Place(1, "", (), self.unknown, beyond)
        self.all: list[Place] = [self.unknown, self.document]
        self._by_set: dict[tuple[int, ...], Place] = {}
        self._sayable: dict[str, bool] = {}
        self._linked: dict[tuple[int, ...], tuple[dict[str, Place], bool]] = {}
        self._build(schema)
        self._linked.clear()
        self._sayable.clear()
        self.by_name: Mapping[str, int] = self._index_names()
        self.everywhere = (1 << len(self.all)) - 1
        self.elements = self.everywhere & ~self.document.bit
        self.recursive, self._parents, self._ancestors = self._reachability()
        self._above: dict[tuple[int, bool], int] = {}
        self._with_attribute: tuple[dict[str, int], dict[tuple[Wildcard, ...], int]] | None = None

    def _build(self, schema: Schema) -> None:
        self._link(schema, self.document, tuple(schema.roots))
        done = 2
        while done < len(self.all):  # breadth first; `_link` appends
            place = self.all[done]
            keys: tuple[int, ...] = ()
            for declaration in place.declarations:
                keys += declaration.children
            self._link(schema, place, keys)
            done += 1

    def _link(self, schema: Schema, place: Place, keys: tuple[int, ...]) -> None:
        linked = self._linked.get(keys)  # elements of one type have the same children
        if linked is None:
            children = self._children(schema, keys)
            # An element that XPath has no way to name can only be reached by "*".
            linked = self._linked[keys] = children, all(map(self._is_sayable, children))
        place.children = linked[0]
        place.open = place.open or not linked[1]

    def _children(self, schema: Schema, keys: tuple[int, ...]) -> dict[str, Place]:
        groups: dict[str, set[int]] = {}
        declarations = schema.declarations
        for key in keys:
            name = declarations[key].name
            # A DTD name with a prefix that nothing binds: no well-formed document can have it, and
            # no XPath can say it.
            if ":" not in name or name[0] == "{":
                if name in groups:
                    groups[name].add(key)
                else:
                    groups[name] = {key}
        return {
            name: self._place(schema, name, tuple(sorted(group))) for name, group in groups.items()
        }

    def _is_sayable(self, name: str) -> bool:
        sayable = self._sayable.get(name)
        if sayable is None:
            sayable = self._sayable[name] = is_sayable(name)
        return sayable

    def _place(self, schema: Schema, name: str, keys: tuple[int, ...]) -> Place:
        merged = self._by_set.get(keys)
        if merged is not None:
            return merged
        if len(self.all) >= MAX_PLACES:
            return self.unknown
        declarations = tuple(schema.declarations[k] for k in keys)
        place = Place(len(self.all), name, declarations, self.unknown)
        self.all.append(place)
        self._by_set[keys] = place
        return place

    def _index_names(self) -> dict[str, int]:
        out: dict[str, int] = {}
        for place in self.all[2:]:
            out[place.name] = out.get(place.name, 0) | place.bit
        return out

    def _reachability(self) -> tuple[int, list[int], list[int]]:
        """Fills in `Place.child_bits`, `Place.reach` and `Place.span`.

        Returns:
            The bit set of places on a cycle; for each place the set of its parents, and of its
            ancestors.
        """
        every = self.all
        parents, ancestors = [0] * len(every), [0] * len(every)
        children: dict[int, list[int]] = {}
        # The children of many places, as numbers and as a set, and the set of these places.
        alike: dict[int, tuple[list[int], int, int]] = {}
        for place in every:
            same = id(place.children) if place.children and not place.open else -1 - place.index
            known = alike.get(same)
            if known is None:
                several = {child.index for child in place.children.values()}
                if place.open:
                    several.add(self.unknown.index)
                known = sorted(several), sum([1 << index for index in several]), 0
            below, place.child_bits, places = known
            children[place.index] = below
            alike[same] = below, place.child_bits, places | place.bit
        for below, _, places in alike.values():
            for index in below:
                parents[index] |= places
        components = strong_components(children)
        recursive = 0
        for members in components:  # from below
            own = sum([every[i].bit for i in members])
            reach = 0
            for i in members:
                reach |= every[i].child_bits
                for index in children[i]:
                    reach |= every[index].reach  # of other members nothing yet
            if reach & own:  # a cycle: every member reaches every other
                recursive |= own
                reach |= own
            for i in members:
                every[i].reach = reach
                every[i].span = reach | every[i].bit
        for members in reversed(components):  # from above
            above = 0
            for i in members:
                above |= parents[i] | ancestors[i]
            for i in members:
                ancestors[i] = above
                span = above | every[i].bit
                for index in children[i]:
                    ancestors[index] |= span
        return recursive, parents, ancestors

    def parents(self, places: int) -> int:
        """The places that have a child among these."""
        return self._upward(places, self._parents, False)

    def ancestors(self, places: int) -> int:
        """The places that have one of these below them, at any depth."""
        return self._upward(places, self._ancestors, True)

    def _upward(self, places: int, above: list[int], far: bool) -> int:
        ancestors = self._above.get((places, far))
        if ancestors is None:
            ancestors = 0
            for place in self.members(places):
                ancestors |= above[place.index]
            if len(self._above) > 100_000:
                self._above.clear()
            self._above[places, far] = ancestors
        return ancestors

    def with_attribute(self, name: str) -> int:
        """The places where an element may have an attribute of this name."""
        if self._with_attribute is None:
            by_name: dict[str, int] = {}
            by_wildcards: dict[tuple[Wildcard, ...], int] = {}
            for place in self.all:
                names, wildcards = place.attribute_edges
                for one in names:
                    by_name[one] = by_name.get(one, 0) | place.bit
                if wildcards:
                    by_wildcards[wildcards] = by_wildcards.get(wildcards, 0) | place.bit
            self._with_attribute = by_name, by_wildcards
        by_name, by_wildcards = self._with_attribute
        where = by_name.get(name, 0) | self.unknown.bit
        for wildcards, places in by_wildcards.items():
            if any(wildcard.admits(name) for wildcard in wildcards):
                where |= places
        return where

    def named(self, name: str) -> int:
        """The places where an element of this name may stand, the unknown place included."""
        return self.by_name.get(name, 0) | self.unknown.bit

    def members(self, places: int) -> Iterator[Place]:
        """The places of a bit set, by index."""
        while places:
            low = places & -places
            yield self.all[low.bit_length() - 1]
            places ^= low
