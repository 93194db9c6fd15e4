"""Rounds of queries of any form, all rows of which are compared with libxml2's."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Final

from lxml import etree

from tests.support.push.documents import DocumentWriter
from tests.support.push.queries import TemplateWriter
from tests.support.push.vocabulary import NAMESPACES, NUMBERS, STRINGS
from tests.support.push.whole import compare_filter

_QUERIES: Final = 25
_LITERALS: Final = [one for one in STRINGS if "'" not in one]
_NUMERALS: Final = [one for one in NUMBERS if re.fullmatch(r"[0-9]+(\.[0-9]+)?", one)]


def general_round(seed: int, documents: int = 8) -> Counter[str]:
    """Compares all rows of some queries on some documents; says how much was compared."""
    random = Random(seed)
    queries: list[str] = []
    while len(queries) < _QUERIES:
        query = _query(random)
        try:
            etree.XPath(query, namespaces=NAMESPACES)
        except etree.XPathSyntaxError:
            continue
        queries.append(query)
    written = [
        DocumentWriter(random, random.randint(1, 25), 8).document() for _ in range(documents)
    ]
    return compare_filter(queries, written, NAMESPACES, matcher=random.choice(("push", "auto")))


def _query(random: Random) -> str:
    writer = TemplateWriter(random)
    nodes, others = writer.general_nodes(True, 2), writer.general_nodes(True, 1)
    forms = (
        *(nodes, nodes, nodes, f"string({nodes})", f"normalize-space({nodes})"),
        f"count({nodes}) + sum({others})",
        f"concat({nodes}, count({nodes}), {others} = {nodes})",
        f"{nodes} = string({others})",
    )
    text = random.choice(forms)
    text = re.sub(r"\$string\d+", lambda _: f"'{random.choice(_LITERALS)}'", text)
    return re.sub(r"\$number\d+", lambda _: random.choice(_NUMERALS), text)
