"""Protein-like records and queries, as in the experiments of the XPush paper.

A record is one entry of a database of proteins: 66 kinds of elements, seven levels deep. Half of
its values come from small domains (a type, a year), half from large ones (an author, an id). A
query is a tree of paths with atomic predicates, joined by ``and``: equalities with values that one
record has, so that each query matches at least that record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from extract.schema.model import Declaration, Schema

ROOT: Final = "database"
_SMALL, _LARGE = 100, 100_000  # values of a domain
_POOL: Final = 1_000  # records that queries are made from: the first ones

# An element and what is in it: names, with `?` every other time, with `+` once or twice. One
# without a line has a value: with `=` from a small domain, else from a large one.
_CONTENT: Final = """
database: entry
entry: header protein organism reference+ comment? genetics? function? classification keywords feature summary sequence
header: uid accession created= revised= changed=
protein: name alternative? source=
organism: species common= formal variety=? cell=
reference: refinfo accinfo contents?
refinfo: authors citation= volume= year= pages title xrefs?
authors: author+
author: last initials=
accinfo: reading= status= moltype= spec xrefs
xrefs: xref+
xref: db= id
genetics: gene mapping? code=
gene: locus allele=?
mapping: chromosome= place
function: description pathway=? activity=?
classification: superfamily= family? domain=?
keywords: keyword=+
feature: kind= spec status=
summary: length= weight type= checksum
"""  # noqa: E501
_NUMBERS: Final = frozenset({"volume", "year", "length", "weight", "chromosome"})


@dataclass(frozen=True, slots=True)
class _Kind:
    """An element in another one; ``values`` is the size of its domain."""

    name: str
    values: int
    optional: bool
    several: bool


@dataclass(frozen=True, slots=True)
class _Node:
    """An element of a record, with a value or with others in it."""

    name: str
    value: str
    inside: tuple[_Node, ...]

    def __str__(self) -> str:
        return f"<{self.name}>{self.value}{''.join(map(str, self.inside))}</{self.name}>"


def _kinds() -> Mapping[str, tuple[_Kind, ...]]:
    """For each element with others in it, these."""
    kinds = {}
    for line in _CONTENT.strip().splitlines():
        name, _, inside = line.partition(": ")
        some = []
        for word in inside.split():
            values = _SMALL if "=" in word else _LARGE
            some.append(_Kind(word.rstrip("=?+"), values, "?" in word, "+" in word))
        kinds[name] = tuple(some)
    return kinds


_INSIDE: Final = _kinds()


def protein_schema() -> Schema:
    """The schema of the records."""
    names = list(dict.fromkeys([ROOT, *[kind.name for some in _INSIDE.values() for kind in some]]))
    numbers = {name: number for number, name in enumerate(names)}
    declarations = [
        Declaration(number, name, children=tuple([numbers[k.name] for k in _INSIDE.get(name, ())]))
        for name, number in numbers.items()
    ]
    return Schema("protein", "dtd", tuple(declarations), roots=(0,))


def protein_records(count: int) -> Iterator[bytes]:
    """Yields so many records, each a message."""
    rng = Random(3)
    for _ in range(count):
        yield str(_record(rng)).encode()


def _record(rng: Random, kind: _Kind = _Kind(ROOT, 0, False, False)) -> _Node:
    if kind.name not in _INSIDE:
        number = rng.randrange(kind.values)
        return _Node(kind.name, f"{'' if kind.name in _NUMBERS else kind.name[:3]}{number}", ())
    inside = []
    for one in _INSIDE[kind.name]:
        if not one.optional or rng.random() < 0.5:
            inside += [_record(rng, one) for _ in range(rng.randint(1, 2) if one.several else 1)]
    return _Node(kind.name, "", tuple(inside))


def protein_queries(predicates: int, each: float) -> Iterator[tuple[str, str]]:
    """Yields the ids and texts of queries with so many atomic predicates all together.

    Args:
        predicates: How many.
        each: How many a query has, on average; at least 1.
    """
    rng = Random(3)
    pool = [_record(rng) for _ in range(_POOL)]
    rng, left, number = Random(4), predicates, 0
    while left > 0:
        size = int(each) + (rng.random() < each % 1)
        if each >= 6:  # some have few, some have many
            size = rng.randint(size - 5, size + 5)
        size = min(size, left)
        left -= size
        entry = rng.choice(pool).inside[0]
        yield f"q{number}", f"/{ROOT}/entry[{_condition(rng, entry, size)}]"
        number += 1


def _condition(rng: Random, node: _Node, size: int) -> str:
    """A condition that holds at a node, with so many atomic predicates."""
    parts: list[str] = []
    most = size if size == 1 else size - 1  # not all of them in one child
    while size:
        own, child = rng.randint(1, min(size, most)), rng.choice(node.inside)
        if own > 1 and child.inside:
            parts.append(f"{child.name}[{_condition(rng, child, own)}]")
        else:
            own = 1
            parts.append(_atom(rng, child))
        size -= own
    return " and ".join(parts)


def _atom(rng: Random, node: _Node) -> str:
    """An atomic predicate that holds where this node is: something in it has a value."""
    path = node.name
    while node.inside:
        node = rng.choice(node.inside)
        path += f"/{node.name}"
    if node.name not in _NUMBERS:
        return f"{path} = '{node.value}'"
    return f"{path} = {node.value}"
