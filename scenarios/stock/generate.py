"""Documents and queries of the stock scenario: messages of some twenty quotes each."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from extract.scenarios.pieces import pieces

SCHEMA = "stock.dtd"
ROOT = "quotes"
NAMESPACES: dict[str, str] = {}
QUERIES = 10_000
DOCUMENTS = 500
SIZE_BYTES = 4_000
RECORD = "quote"

_CONSONANTS, _VOWELS = "BCDFGKLMNPRSTVZ", "AEIOU"
SYMBOLS = [c + v + d for c in _CONSONANTS for v in _VOWELS for d in _CONSONANTS[:6]]
_MARKETS = {"xetra": "EUR", "nyse": "USD", "nasdaq": "USD", "lse": "GBP"}


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """The quotes of one market, in the order of their times."""
    rng = Random(seed)
    market = rng.choice(tuple(_MARKETS))
    head = f'<quotes date="2026-11-{rng.randint(1, 30):02d}" market="{market}">\n'

    def quote(number: int) -> str:
        symbol, cents = rng.choice(SYMBOLS), rng.randint(100, 50_000)
        # In euros the attribute may be left out: the DTD has it as the default.
        euros = market == "xetra" and rng.random() < 0.5
        currency = "" if euros else f' currency="{_MARKETS[market]}"'
        parts = [f' <quote id="q{number}"{currency}><symbol>{symbol}</symbol>']
        if rng.random() < 0.7:
            parts.append(f"<name>{symbol.capitalize()} Holdings</name>")
        parts.append(f"<price>{cents / 100:.2f}</price>")
        if rng.random() < 0.8:
            parts.append(f"<change>{rng.randint(-800, 800) / 100:+.2f}</change>")
        minutes = 9 * 60 + number % 500
        time = f"{minutes // 60:02d}:{minutes % 60:02d}"
        parts.append(f"<volume>{rng.randint(1, 1_000) * 100}</volume><time>{time}</time></quote>\n")
        return "".join(parts)

    return pieces(head, quote, "</quotes>\n", size_bytes)


def queries(count: int, seed: int) -> list[str]:
    """Seven in ten ask for one symbol, the others for a level; 30% have ``//``."""
    rng = Random(seed)
    return [_query(rng, number) for number in range(count)]


def _query(rng: Random, number: int) -> str:
    start = "//quote" if number % 10 in (1, 4, 8) else "/quotes/quote"
    end = rng.choice(("", "/price", "/price/text()", "/@id", "/volume", "/time"))
    symbol = rng.choice(SYMBOLS)
    level = rng.randint(100, 50_000) / 100
    match number % 10:
        case 0 | 1 | 2:
            return f"{start}[symbol = '{symbol}']{end}"
        case 3 | 4 | 5 | 6:
            return f"{start}[symbol = '{symbol}' and price {rng.choice('<>')} {level:.2f}]{end}"
        case 7:
            market = rng.choice(tuple(_MARKETS))
            return f"/quotes[@market = '{market}']/quote[change < -{level / 100:.2f}]{end}"
        case 8:
            return f"{start}[volume >= {rng.randint(500, 1_000) * 100}][price > {level:.2f}]{end}"
        case _:
            currency = rng.choice(("USD", "GBP", "EUR"))
            return f"{start}[@currency = '{currency}'][price < {level / 10:.2f}]/name"
