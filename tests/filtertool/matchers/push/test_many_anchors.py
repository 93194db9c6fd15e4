"""Conditions on several values below one element, in documents with very many such elements."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from lxml import etree

import extract
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.literals import with_parameters
from extract.schema.model import Schema

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


DEEP_QUERIES = [
    *[f"//a[.//b = 'v{i}']" for i in range(4)],
    *[f"//a[.//b = 'v{i}' and .//c = 'v{j}']" for i in range(4) for j in range(4)],
    *[f"//a[.//b = 'v{i}'][@k > {i}]/c" for i in range(4)],
    *[f"//a[.//b > {i} or starts-with(.//c, 'v{i}')]" for i in range(4)],
    *[f"//a[contains(.//b, '{i}') and count(.//b) > {i}]" for i in range(4)],
    *[f"//a[not(.//b = 'v{i}')][.//c]" for i in range(4)],
    *[f"//a[d[.//b = 'v{i}']/c = 'v{i}']" for i in range(4)],
    *[f"//a[@k = '{i}'][.//b != 'v{i}']//c[. = 'v{i}']" for i in range(4)],
    *["//a[.//b][.//c]", "//a[.//b][@k]", "//a[b][c]", "//a[.//b[@k]]/d", "/r[.//b]//a[.//c]"],
]


def _deep(random_: random.Random, levels: int, leaves: int) -> bytes:
    """Elements in each other, with values at the innermost and between them."""
    names = [random_.choice(["a", "a", "a", "d"]) for _ in range(levels)]
    out = ["<r>"]
    for name in names:
        out.append(f'<{name} k="{random_.randrange(9)}">')
        if random_.random() < 0.05:
            out.append(f"<c>v{random_.randrange(6)}</c>")
    for _ in range(leaves):
        out.append(f"<{random_.choice('bbc')}>{random_.choice('v1')}{random_.randrange(6)}<!-- -->")
        out.append(f"</{out[-1][1]}>")
    out += [f"</{name}>" for name in reversed(names)]
    return "".join([*out, "</r>"]).encode()


@pytest.mark.parametrize("seed", range(4))
def test_elements_deep_in_each_other_have_their_own_values(seed: int) -> None:
    """There are many more pairs of a value and an element around it than nodes."""
    random_ = random.Random(seed)
    queries = {str(number): query for number, query in enumerate(DEEP_QUERIES)}
    scheme = extract.prepare(extract.Subscriptions.of(queries))
    documents = [(str(n), _deep(random_, 20 + 30 * n, 10 * n)) for n in range(8)]
    expected = {}
    for name, data in documents:
        tree = etree.fromstring(data).getroottree()
        for query, xpath in queries.items():
            if count := len(tree.xpath(xpath)):
                expected[name, query] = count
    table = extract.Filter(scheme, "count").table(documents)
    columns = [table[name].to_pylist() for name in ("document", "query", "count")]
    assert {(one, query): count for one, query, count in zip(*columns, strict=True)} == expected
    nodes = extract.Filter(scheme, "nodes").table(documents).select(["document", "query"])
    assert Counter(tuple(row.values()) for row in nodes.to_pylist()) == expected
    found = extract.Filter(scheme, "doc").table(documents).select(["document", "query"])
    assert {tuple(row.values()) for row in found.to_pylist()} == set(expected)


def test_memory_is_that_of_the_document_however_deep_it_is() -> None:
    engine = PushEngine(Schema.none(), {}, "doc")
    for number, xpath in enumerate(["//a[.//b = 'x']", "//a[.//b > 7 and .//b = 'y']"]):
        question = with_parameters(Question((xpath,)))
        assert engine.takes(number, question)
        engine.add(number, question, np.array([number], np.int32))
    engine.match([b"<a><b>x</b></a>"])
    bytes_of = []
    for levels in (250, 500, 1_000):
        data = b"<a>" * levels + b"<b>z</b>" * 4_000 + b"</a>" * levels
        assert engine.match([data]).done.tolist() == [1]
        bytes_of.append(engine.memory()[1] - engine.figures()["state_bytes"])
    assert bytes_of[-1] < 1.5 * bytes_of[0]
    assert bytes_of[-1] < 1_000 * 5_000  # bytes for each element
