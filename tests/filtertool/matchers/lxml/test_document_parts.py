"""Parts of queries that have one value in a document: evaluated once, with libxml2's answers."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from lxml import etree

from extract.bench.plain_lxml import PlainLoop
from extract.filtertool.matchers.lxml import tree_evaluation
from extract.filtertool.matchers.lxml.document_parts import divide
from extract.filtertool.matchers.protocol import Select
from extract.pipeline import count, match, prepare
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

DOCUMENT = (
    "<r><h><t>K5</t><t>7</t></h><b>"
    + "".join([f"<i n='{n}'><c>{n % 9}</c><d>x{n % 7}</d></i>" for n in range(120)])
    + "</b></r>"
)
PATHS = ("/r/h/t", "/r/h/t/text()", "//i/@n", "/r/zzz", "/r/b/i[c = 3]/d", "(//t)[2]")
OWN = ("c", "d", ".", "@n", "..", "c/text()", "following-sibling::i[1]/c")
VALUES = ("'K5'", "7", "true()", "'x3'", "0", "count(c)", "position()", "last()", "string()")


def _expression(rng: Random, depth: int = 0) -> str:
    """A condition at an ``i``."""
    draw = rng.random()
    if depth < 2 and draw < 0.3:
        operator = rng.choice(("and", "or"))
        return f"({_expression(rng, depth + 1)} {operator} {_expression(rng, depth + 1)})"
    if depth < 2 and draw < 0.4:
        return f"not({_expression(rng, depth + 1)})"
    path, own, value = rng.choice(PATHS), rng.choice(OWN), rng.choice(VALUES)
    operator = rng.choice(("=", "!=", "<", ">="))
    forms = (
        path,
        f"{path} {operator} {value}",
        f"{own} {operator} {path}",
        f"{own} {operator} count({path})",
        f"count({path} | {own}) {operator} 3",
        f"contains({path}, {own})",
        f"starts-with({own}, substring({path}, 2))",
        f"string-length({path}) {operator} string-length({own})",
        f"sum({path}) {operator} {value}",
        f"name({path}) = 't'",
        f"count({path})",
        f"string({path})",
        f"-count({path}) + {own} > 0",
        f"number({path}) {operator} {own}",
        f"position() = count({path})",
        f"{rng.choice(('c', 'd', '@n'))}[{path} {operator} {value}]",
        f"{path}[. {operator} {value}]/../t",
        f"boolean({path}) = {own}",
        f"id({path})",
        "lang('en')",
    )
    return rng.choice(forms)


def _result(xpath: str, tree: Any, **variables: Any) -> Any:
    value = etree.XPath(xpath)(tree, **variables)
    if not isinstance(value, list):
        return "NaN" if value != value else value
    return [(type(one), one if isinstance(one, str) else tree.getpath(one)) for one in value]


def test_an_expression_with_variables_selects_the_same() -> None:
    tree = etree.fromstring(DOCUMENT).getroottree()
    divided = 0
    for seed in range(300):
        rng = Random(seed)
        xpath = f"/r/b/i[{_expression(rng)}]" + rng.choice(("", "/c", f"[{_expression(rng)}]/@n"))
        if rng.random() < 0.2:
            xpath = f"count({xpath})"
        found = divide([xpath])
        if found is not None:
            divided += 1
            values = {name: etree.XPath(part)(tree) for name, part in found.parts.items()}
            assert not any(isinstance(value, list) for value in values.values()), xpath
            (again,) = found.xpaths
            assert _result(again, tree, **values) == _result(xpath, tree), (xpath, found)
    assert divided > 150


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_the_rows_are_those_of_the_queries_as_written(select: Select) -> None:
    rng = Random(3)
    queries = Subscriptions.of(
        {f"q{n}": f"/r/b/i[{_expression(rng)}][{_expression(rng)}]" for n in range(60)}
    )
    scheme = prepare(Schema.none(), queries)
    document = DOCUMENT.encode()
    expected = PlainLoop(queries, "count").rows(document)
    assert len(expected) > 10
    if select == "nodes":
        counts: dict[str, int] = {}
        for row in match(scheme, document, matcher="lxml"):
            counts[row.query] = counts.get(row.query, 0) + 1
        assert counts == dict(expected)
    else:
        rows = [row[1:] for row in count(scheme, document, matcher="lxml")]
        assert rows == expected


def test_a_part_is_evaluated_once_for_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[object] = []

    def noting(value: Any) -> Any:
        values.append(value)
        return value

    monkeypatch.setattr(tree_evaluation, "plain", noting)
    queries = {f"q{n}": f"/r/b/i[/r/h/t = 'K{n % 2}'][c = {n}]" for n in range(8)}
    scheme = prepare(Schema.none(), Subscriptions.of(queries))
    assert not list(count(scheme, DOCUMENT.encode(), matcher="lxml"))
    assert values == [False, False]  # once for each constant


def test_what_depends_on_a_node_stays() -> None:
    for xpath in ("/r/i[c = /r/t]", "/r/i[c = $string1]", "/r/i[position() = last()]", "/r"):
        assert divide([xpath]) is None
