"""Metadata of subscriptions: an owner, tags, or any other JSON value beside the query.

A line of a ``.jsonl`` file has it in the keys that are not keys of `Subscription`. It does not
change what a query selects. A key with dots names a value inside another one:

>>> value_at({"team": {"name": "billing", "floor": 3}}, "team.name")
'billing'
>>> Condition.parse("tags=urgent").holds({"tags": ["urgent", "daily"]})
True
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from unicodedata import category

from extract.limits import DEFAULTS, RAISE, Limits

Metadata: TypeAlias = Mapping[str, Any]

# One empty mapping for the many subscriptions without metadata: never change it.
NO_METADATA: Final[Metadata] = {}

OWN_KEYS: Final = frozenset({"id", "xpath", "flwr", "xscl", "namespaces", "weight", "version"})
# What `extract subs list --json` says about a query besides; such lines can be loaded again.
LISTED_KEYS: Final = frozenset({"written", "status", "chunks", "reason"})

_KEY_CHARS: Final = 200
_DEPTH: Final = 32
_UNUSABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, halves of characters
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SCALARS: Final = (str, int, float, bool, type(None))
_MISSING: Final[Any] = object()


class MetadataError(ValueError):
    """Metadata that cannot be kept.

    Attributes:
        key: The key of the metadata that it is about; empty if it is about all together.
        hint: What to do about it.
    """

    def __init__(self, reason: str, hint: str, key: str = "") -> None:
        super().__init__(reason, hint, key)
        self.reason = reason
        self.hint = hint
        self.key = key

    def __str__(self) -> str:
        return self.reason


def checked_metadata(values: Metadata, limits: Limits = DEFAULTS) -> Metadata:
    """Returns a copy of metadata, with all keys in the order of their names.

    Raises:
        MetadataError: A key cannot be used, a value is no JSON value, or there is too much.

    >>> checked_metadata({"tags": ["b", "a"], "owner": "sales"})
    {'owner': 'sales', 'tags': ['b', 'a']}
    """
    if not values:
        return NO_METADATA
    for key in values:
        reason = wrong_key(key)
        if reason:
            raise MetadataError(f"the metadata key {key!r:.60} {reason}", "rename the key", key)
        if key in OWN_KEYS or key in LISTED_KEYS:
            reason = f"the metadata key {key!r} is a key that extract itself writes"
            raise MetadataError(reason, "rename the key", key)
    copy = {key: _copied(values[key], key, 1) for key in sorted(values)}
    try:
        size = len(json.dumps(copy, ensure_ascii=False).encode())
    except ValueError as error:  # a number of thousands of digits
        raise MetadataError(f"the metadata cannot be written: {error}", "shorten it") from None
    if size > limits.metadata_bytes:
        raise MetadataError(limits.passed("metadata_bytes"), RAISE)
    return copy


def wrong_key(key: object) -> str:
    """Says why a key of metadata, or the column of rows that is named after it, cannot be used.

    >>> wrong_key("owner"), wrong_key("")
    ('', 'is empty')
    """
    if not isinstance(key, str):
        return "is not a string"
    if not key:
        return "is empty"
    if len(key) > _KEY_CHARS:
        return f"has more than {_KEY_CHARS} characters"
    if any(category(c) in _UNUSABLE for c in key):
        return "has control characters"
    return ""


def _copied(value: Any, key: str, depth: int) -> Any:
    """Returns a deep copy of a JSON value, with the keys of objects in order."""
    if depth > _DEPTH:
        reason = f"the metadata of {key!r} is nested more than {_DEPTH} levels deep"
        raise MetadataError(reason, "flatten it", key)
    if isinstance(value, list):
        return [_copied(one, key, depth + 1) for one in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {_copied(n, key, depth): _copied(value[n], key, depth + 1) for n in sorted(value)}
    if not isinstance(value, _SCALARS):
        reason = f"the metadata of {key!r} is no JSON value: {value!r:.60}"
        raise MetadataError(reason, "use strings, numbers, booleans, None, lists, dicts", key)
    if isinstance(value, float) and not math.isfinite(value):
        reason = f"the metadata of {key!r} has a number that JSON does not have: {value}"
        raise MetadataError(reason, "write it as a string, or leave it out", key)
    if isinstance(value, str) and _SURROGATE.search(value):
        reason = f"the metadata of {key!r} has half a character"
        raise MetadataError(reason, "write both halves of the \\u escape", key)
    return value


# -- Looking up


def value_at(metadata: Metadata, key: str, default: Any = None) -> Any:
    """Returns the value of a key, or with dots in the key, that of a key inside its value.

    A key that itself has dots comes first.

    >>> value_at({"a.b": 1, "a": {"b": 2, "c": {"d": 3}}}, "a.b")
    1
    >>> value_at({"a.b": 1, "a": {"b": 2, "c": {"d": 3}}}, "a.c.d")
    3
    """
    if key in metadata:
        return metadata[key]
    dot = key.find(".")
    while dot >= 0:
        inner = metadata.get(key[:dot])
        if isinstance(inner, dict):
            value = value_at(inner, key[dot + 1 :], _MISSING)
            if value is not _MISSING:
                return value
        dot = key.find(".", dot + 1)
    return default


def has_key(metadata: Metadata, key: str) -> bool:
    """Whether `value_at` would find a value, null included."""
    return value_at(metadata, key, _MISSING) is not _MISSING


def near_keys(key: str, every: Iterable[Metadata]) -> str:
    """Returns the hint for a key that no subscription has: those that are most like it."""
    keys = sorted({name for metadata in every for name in _keys(metadata)})
    near = difflib.get_close_matches(key, keys, 3)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if not keys:
        return "no subscription has metadata: give it as keys of a .jsonl file of queries"
    return f"there are: {', '.join(keys[:10])}{', …' if len(keys) > 10 else ''}"


def _keys(metadata: Metadata, before: str = "") -> Iterator[str]:
    for key, value in metadata.items():
        yield before + key
        if isinstance(value, dict):
            yield from _keys(value, f"{before}{key}.")


class Condition(NamedTuple):
    """A condition on metadata: a key has a value, or a list with that value in it.

    Attributes:
        key: The key; dots name values inside others.
        text: The value as it is typed: a string, a number, ``true``, ``false`` or ``null``.
    """

    key: str
    text: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Reads ``key=value``.

        Raises:
            ValueError: There is no ``=`` in it, or nothing before that.
        """
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ValueError(f"{text!r} is not of the form key=value")
        return cls(key, value)

    def holds(self, metadata: Metadata) -> bool:
        """Whether a subscription has that metadata. A list holds it if one of its items is it.

        >>> [Condition("floor", "3.0").holds({"floor": one}) for one in (3, "3", "3.0", True)]
        [True, False, True, False]
        """
        value = value_at(metadata, self.key, _MISSING)
        return any(map(self._is, value if isinstance(value, list) else [value]))

    def _is(self, value: Any) -> bool:
        if isinstance(value, str):
            return value == self.text
        if value is None or isinstance(value, bool):
            return self.text == {None: "null", True: "true", False: "false"}[value]
        return isinstance(value, int | float) and value == _number(self.text)


def _number(text: str) -> int | float | None:
    """Returns the number that JSON reads there; None if that is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
