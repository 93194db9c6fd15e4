"""Reads the values of documents of every kind: those that keep to the schema, and all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from lxml import etree

from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.value_scan import ReadValues, ValueScan
from extract.limits import Limits
from extract.markup.lxml_parser import parse_tree


class DocumentValues:
    """Reads the values that a plan asks for.

    Args:
        plan: What is read.
        satisfiable: The templates that may match a document that keeps to the schema.
        limits: How large documents may be.
    """

    def __init__(self, plan: SqlPlan, satisfiable: Iterable[int], limits: Limits) -> None:
        self._plan = plan
        self._limits = limits
        self._scan = plan.scan(limits, satisfiable)

    def conforming(self, documents: Sequence[bytes]) -> ReadValues:
        """The values of documents that keep to the schema; others are not done."""
        return self._scan.read(documents)

    def any(self, documents: Sequence[bytes]) -> ReadValues:
        """The values of documents of whatever kind, also with entities or in other encodings.

        A document that is not well-formed is not done (0). One that is, but cannot be read or takes
        too long, is -1.
        """
        found = self._open_scan.read(documents)
        again = np.flatnonzero(found.done == 0).tolist()
        if not again:
            return found
        plain = list(documents)
        for number in again:
            plain[number] = _plain(documents[number])
        found = self._open_scan.read(plain)
        for number in again:
            if plain[number] and not found.done[number]:
                found.done[number] = -1
        return found

    @cached_property
    def _open_scan(self) -> ValueScan:
        return self._plan.open_scan(self._limits)


def _plain(document: bytes) -> bytes:
    """A document as the scan takes it: in UTF-8, without entities; empty if it cannot be parsed.

    It is left as it is where no XML says what libxml2 has read: elements that come out of an entity
    are in no default namespace, wherever it is referred to.
    """
    try:
        root = parse_tree(document).getroot()
        text: bytes = etree.tostring(root, encoding="utf-8")
        names = [one.tag for one in parse_tree(text).getroot().iter()]
    except (etree.XMLSyntaxError, ValueError):
        return b""
    return text if names == [one.tag for one in root.iter()] else document
