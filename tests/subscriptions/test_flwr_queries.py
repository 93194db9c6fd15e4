"""Which XPath a FLWR subscription stands for."""

from __future__ import annotations

import pytest

from extract.errors import QuerySyntaxError
from extract.subscriptions.flwr_queries import FLWR, as_xpath
from extract.subscriptions.model import Subscription


@pytest.mark.parametrize(
    ("flwr", "xpath"),
    [
        ("for $a in //a return <r/>", "//a"),
        ("<all>{ for $a in /r/a where $a/b > 1 return <r/> }</all>", "/r/a[b > 1]"),
        ("for $a in //a let $b := $a/b where $b = 'x' return <r>{ $b }</r>", "//a[b = 'x']"),
        ('for $a in doc("bib.xml")//a | //c where $a/@id return <r/>', "//a[@id] | //c[@id]"),
    ],
)
def test_a_query_stands_for_its_bindings(flwr: str, xpath: str) -> None:
    query = Subscription("q", flwr, weight=3.0)
    assert as_xpath(query) == Subscription("q", xpath, weight=3.0)


def test_where_no_xpath_selects_the_bindings_the_query_stays() -> None:
    flwr = "for $a in //a where $a/b[@ref = $a/@id] return <r/>"
    assert as_xpath(Subscription("q", flwr)) == Subscription("q", flwr, version=FLWR)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_other_queries_stay(version: str) -> None:
    xpath = "for $a in //a return $a" if version == "2.0" else "//a"
    query = Subscription("q", xpath, version=version)
    assert as_xpath(query) is query


def test_a_query_that_cannot_be_evaluated_is_an_error() -> None:
    with pytest.raises(QuerySyntaxError, match=r"\$c"):
        as_xpath(Subscription("q", "for $a in //a return <r>{ $c }</r>"))
