"""Stock alerts and messages: very many subscriptions of few shapes, and small flat documents.

The classic of publish and subscribe: an alert names a stock, and ranges for its figures; a message
is one quote of some 200 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Final

from extract.schema.model import Attribute, Declaration, Schema

SYMBOLS: Final = 5_000
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKETS: Final = ("xetra", "nyse", "nasdaq", "lse")
FIGURES: Final = ("price", "volume", "high", "low")
_NAMES: Final = ("symbol", "name", *FIGURES, "change")

# An equality and four ranges, as in the experiments of the relational paper.
FIVE_PREDICATES: Final = (
    "/stock[symbol = {symbol} and price > {price} and volume > {volume} and high < {price} "
    "and low > {low}]"
)
MIXED: Final = (
    FIVE_PREDICATES,
    "/stock[symbol = {symbol} and price >= {low} and price <= {price}]",
    "/stock[symbol = {symbol}]/price",
    "/stock[symbol = {symbol}][contains(name, {word})]",
    "/stock[price > {price} and change < {change}]/symbol",
    "//stock[symbol = {symbol} or symbol = {symbol}]",
    "/stock[@market = {market} and starts-with(symbol, {letter})]/@id",
    "/stock[symbol = {symbol} and not(volume < {volume})]",
)


def stock_schema() -> Schema:
    """The schema of the messages."""
    details = tuple([Declaration(n, name) for n, name in enumerate(_NAMES, 1)])
    attributes = (Attribute("id"), Attribute("market"))
    children = tuple(range(1, len(_NAMES) + 1))
    stock = Declaration(0, "stock", children=children, attributes=attributes)
    return Schema("stock", "dtd", (stock, *details), roots=(0,))


def alerts(
    count: int, shapes: tuple[str, ...] = (FIVE_PREDICATES,), seed: int = 1
) -> Iterator[tuple[str, str]]:
    """Yields the ids and queries of so many alerts, shape by shape in turn."""
    rng = Random(seed)
    names = symbols()
    for number in range(count):
        yield f"alert{number}", shapes[number % len(shapes)].format_map(_Constants(rng, names))


def stock_constants(count: int) -> Iterator[tuple[str, str, float, float, float, float]]:
    """Yields the id, the symbol and the four bounds of each of the first so many `alerts`."""
    pattern = re.compile(r"'(\w+)'|[<>] ([\d.]+)")
    for name, xpath in alerts(count):
        (symbol, _), *bounds = pattern.findall(xpath)
        price, volume, high, low = (float(bound) for _, bound in bounds)
        yield name, symbol, price, volume, high, low


def different_shapes(count: int, seed: int = 3) -> Iterator[tuple[str, str]]:
    """Yields the ids and queries of so many alerts, up to 3,200,000, of which no two have one
    template: each compares other figures in other ways."""
    rng = Random(seed)
    ways = [f"{figure} {sign}" for figure in FIGURES for sign in ("=", "!=", "<", ">", ">=")]
    for number in range(count):
        digits = [number // len(ways) ** place % len(ways) for place in range(5)]
        conditions = [f"{ways[digit]} {rng.randrange(500)}" for digit in digits]
        yield f"different{number}", f"/stock[{' or '.join(conditions)}]"


def symbols() -> list[str]:
    """The names of the stocks."""
    rng = Random(0)
    return ["".join(rng.choices(_LETTERS, k=4)) for _ in range(SYMBOLS)]


class _Constants(dict[str, str]):
    """Draws a constant for each name in a shape."""

    def __init__(self, rng: Random, names: list[str]) -> None:
        super().__init__()
        self._rng = rng
        self._symbols = names

    def __missing__(self, key: str) -> str:
        rng = self._rng
        match key:
            case "symbol":
                return f"'{rng.choice(self._symbols)}'"
            case "volume":
                return str(rng.randrange(1_000_000))
            case "change":
                return f"-{rng.uniform(0, 5):.2f}"
            case "market":
                return f"'{rng.choice(_MARKETS)}'"
            case "letter":
                return f"'{rng.choice(_LETTERS)}'"
            case "word":
                return f"'{rng.choice(self._symbols)[:2].title()}'"
            case _:
                return f"{rng.uniform(1, 500):.2f}"


def messages(count: int, seed: int = 2) -> Iterator[bytes]:
    """Yields so many quotes."""
    rng = Random(seed)
    names = symbols()
    for number in range(count):
        symbol, price = rng.choice(names), rng.uniform(1, 500)
        figures = {
            "symbol": symbol,
            "name": f"{symbol.title()} Inc.",
            "price": f"{price:.2f}",
            "volume": str(rng.randrange(1_000_000)),
            "high": f"{price * rng.uniform(1, 1.1):.2f}",
            "low": f"{price * rng.uniform(0.9, 1):.2f}",
            "change": f"{rng.uniform(-5, 5):.2f}",
        }
        inside = "".join(f"<{name}>{figures[name]}</{name}>" for name in _NAMES)
        yield f'<stock id="m{number}" market="{rng.choice(_MARKETS)}">{inside}</stock>'.encode()
