"""FLWR subscriptions as the XPath that they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extract.flwr.parser import is_flwr
from extract.flwr.templates import shared_reader
from extract.limits import DEFAULTS, Limits
from extract.subscriptions.model import Subscription
from extract.xpath.later import FIRST

FLWR: Final = "flwr"  # in place of a version: bindings that no XPath selects


def as_xpath(query: Subscription, limits: Limits | None = None) -> Subscription:
    """A subscription whose XPath selects what a FLWR subscription binds; others as they are.

    Where no XPath does, the text stays, and its version is `FLWR`.

    Raises:
        QuerySyntaxError: The FLWR expression cannot be evaluated.

    >>> as_xpath(Subscription("q", "for $a in //a where $a/b = 1 return <c/>")).xpath
    '//a[b = 1]'
    """
    if query.version != FIRST or not is_flwr(query.xpath):
        return query
    flwr = shared_reader(limits or DEFAULTS).read(query.xpath, query.namespaces)
    if flwr.head.query.rest is not None:
        return replace(query, version=FLWR)
    return replace(query, xpath=flwr.xpath)
