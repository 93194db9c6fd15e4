"""What all nodes of the syntax tree share: equality by value, and a hash and text computed once.

A query is hashed and compared some hundred times until it is registered, so this is in C where that
was compiled (``_node.pyx``). ``EXTRACT_SUBSCRIPTIONS=off`` in the environment takes what is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from extract.xpath.native import native


class PythonNode:
    """A frozen value with fields, as `Node` is without the part in C."""

    __slots__ = ("cached_hash", "cached_text")

    cached_hash: int
    cached_text: str

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return hash(self) == hash(other) and _values(self) == _values(other)

    def __hash__(self) -> int:
        value: int | None = getattr(self, "cached_hash", None)  # `try` costs more
        if value is None:
            value = hash((type(self).__name__, _values(self)))
            _set_hash(self, value)
        return value

    def __str__(self) -> str:
        text: str | None = getattr(self, "cached_text", None)
        if text is None:
            text = self._format()
            _set_text(self, text)
        return text

    def _format(self) -> str:
        raise NotImplementedError


# Nodes are frozen; these two set what is computed once.
_set_hash: Final = PythonNode.__dict__["cached_hash"].__set__
_set_text: Final = PythonNode.__dict__["cached_text"].__set__


class _FieldGetters(dict[type, Callable[[Any], Any]]):
    """For each class of nodes a function that gets the values of its fields."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        getter = self[kind] = attrgetter(*[one.name for one in fields(kind)])
        return getter


_VALUES: Final = _FieldGetters()


def _values(node: object) -> object:
    return _VALUES[type(node)](node)


_NATIVE: Final = native("_node")

if TYPE_CHECKING:
    Node = PythonNode
else:
    Node = PythonNode if _NATIVE is None else _NATIVE.Node


def initialise_in_c(*kinds: type) -> None:
    """Has nodes of these classes initialised in C, where that was compiled.

    What a frozen dataclass does takes longer than all else in making a node.
    """
    if _NATIVE is not None:
        for kind in kinds:
            _NATIVE.initialised_here(kind)
