"""Conditions on several values below one element, in documents with very many such elements."""

from __future__ import annotations

import random

import pytest
from lxml import etree

import extract

QUERIES = [
    *[f"//a[b = 'v{i}' and c = 'v{j}']" for i in range(6) for j in range(6)],
    *[f"//a[b = 'v{i}' and c != 'v{i}' and @k > {i}]" for i in range(6)],
    *[f"//a[.//b = 'v{i}' and .//c = 'v{i}' and starts-with(@k, '1')]" for i in range(6)],
    *[f"/r[.//b = 'v{i}' and .//c = 'w{i}']" for i in range(6)],
]


def _element(random_: random.Random, depth: int) -> str:
    """An element ``a`` with values, and with others of its kind before, between and after these."""
    parts = [
        f"<{name}>v{random_.randrange(9)}</{name}>"
        for name in random_.choices("bc", k=random_.randrange(4))
    ]
    if depth:
        parts += [_element(random_, depth - 1) for _ in range(random_.randrange(4))]
    random_.shuffle(parts)
    return f'<a k="{random_.randrange(20)}">{"".join(parts)}</a>'


@pytest.mark.parametrize("seed", range(3))
def test_each_anchor_has_its_own_values(seed: int) -> None:
    random_ = random.Random(seed)
    elements = [_element(random_, random_.randrange(5)) for _ in range(120)]
    document = f"<r>{''.join(elements)}</r>".encode()
    queries = {str(number): query for number, query in enumerate(QUERIES)}
    scheme = extract.prepare(extract.Subscriptions.of(queries))
    tree = etree.fromstring(document).getroottree()
    expected = {query: len(tree.xpath(xpath)) for query, xpath in queries.items()}
    table = extract.Filter(scheme, "count", matcher="push").table([("d", document)])
    counts = dict(zip(table["query"].to_pylist(), table["count"].to_pylist(), strict=True))
    assert counts == {query: count for query, count in expected.items() if count}
