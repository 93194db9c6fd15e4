"""Stock alerts and messages of every kind, for tests of the matcher ``sql``."""

from __future__ import annotations

import extract
from extract.schema.model import Declaration, Schema
from extract.scheme.model import Scheme
from tests.support.databases import execute

STOCK = Schema(
    "stock",
    "dtd",
    (
        Declaration(0, "stock", children=(1, 2)),
        Declaration(1, "symbol"),
        Declaration(2, "price"),
    ),
    roots=(0,),
)
QUERIES = {
    **{f"a{n}": f"/stock[symbol = 'S{n % 5}' and price > {n}]" for n in range(30)},
    "first": "/stock/price[1]",
    "strange": "/stock[odd = 'x']",
    "number": "count(//price) > 1",
    "all": "//symbol",
    "regular": "/stock[re:test(symbol, 'S[12]')]",
}
DOCUMENTS = [
    *[
        (f"m{n}", f"<stock><symbol>S{n % 7}</symbol><price>{n * 3}</price></stock>".encode())
        for n in range(12)
    ],
    ("entity", b"<!DOCTYPE stock [<!ENTITY e 'S1'>]><stock><symbol>&e;</symbol></stock>"),
    (
        "latin",
        '<?xml version="1.0" encoding="iso-8859-1"?><stock><symbol>é</symbol></stock>'.encode(
            "latin-1"
        ),
    ),
    ("strange", b"<stock><odd>x</odd><symbol>S2</symbol><price>99</price></stock>"),
    ("broken", b"<stock><symbol>S1"),
    (
        "two",
        b"<stock><symbol>S1</symbol><symbol>S3</symbol><price>4</price><price>9</price></stock>",
    ),
]


def stock_scheme() -> Scheme:
    """A scheme of all these queries, two of which values do not decide."""
    namespaces = {"re": "http://exslt.org/regular-expressions"}
    return extract.prepare(STOCK, extract.Subscriptions.of(QUERIES, namespaces), chunks=2)


TABLE_QUERIES = {
    "listed": "/stock[symbol = table('watchlist', 'symbol')]",
    "unlisted": "/stock[not(table('watchlist', 'symbol') = symbol) and price > 5]",
    "ranged": "/stock[symbol = table('watchlist', 'symbol')][price < 10]/price",
    "plain": "/stock[symbol = 'S1']",
}


def table_scheme(database: str) -> Scheme:
    """A scheme of queries that join the table ``watchlist``, and one that does not.

    Args:
        database: Where the table is made, and the scheme saved.
    """
    stock_scheme().save(database)
    execute(database, "CREATE TABLE watchlist (symbol TEXT)")
    scheme = extract.prepare(STOCK, extract.Subscriptions.of(TABLE_QUERIES), database=database)
    scheme.save(database)
    return scheme
