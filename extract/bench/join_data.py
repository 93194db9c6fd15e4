"""The workloads of the paper on joins between documents, made anew: queries and documents.

Documents have either a root with leaves, as items of an RSS feed, or a root with four parts of four
leaves each. A query picks a number of value joins by Zipf's law, then so many leaves at random on
each side, and compares them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

LEAVES: Final = 6
PARTS: Final = 4
MOST_JOINS: Final = 4  # of queries over the schema with parts
ZIPF: Final = 0.8
CHANNELS: Final = 418
RSS: Final = ("item_url", "channel_url", "title", "timestamp", "description")


def simple_queries(
    count: int, window: int, leaves: int = LEAVES, zipf: float = ZIPF, seed: int = 1
) -> dict[str, str]:
    """Returns so many queries over a root with leaves."""
    return _over([f"leaf{n}" for n in range(leaves)], count, window, zipf, seed)


def rss_queries(count: int, window: int, seed: int = 1) -> dict[str, str]:
    """Returns so many queries over items of a feed."""
    return _over(list(RSS), count, window, ZIPF, seed)


def complex_queries(count: int, window: int, seed: int = 1) -> dict[str, str]:
    """Returns so many queries over a root with parts, which are bound as well."""
    rng = Random(seed)
    queries = {}
    for number in range(count):
        joins = _zipf(rng, MOST_JOINS, ZIPF)
        sides = []
        for name in "lr":
            leaves = rng.sample(range(PARTS * PARTS), joins)
            parts: dict[int, str] = {}
            for place, leaf in enumerate(leaves):
                bound = f"[leaf{leaf % PARTS}->{name}{place}]"
                parts[leaf // PARTS] = parts.get(leaf // PARTS, "") + bound
            inner = [f"[part{part}->{name}p{part}{text}]" for part, text in parts.items()]
            sides.append(f"S/item->{name}{''.join(inner)}")
        queries[f"q{number}"] = _query(sides[0], sides[1], joins, window)
    return queries


def _over(leaves: list[str], count: int, window: int, zipf: float, seed: int) -> dict[str, str]:
    rng = Random(seed)
    queries = {}
    for number in range(count):
        joins = _zipf(rng, len(leaves), zipf)
        sides = []
        for name in "lr":
            chosen = rng.sample(leaves, joins)
            bound = "".join([f"[{leaf}->{name}{place}]" for place, leaf in enumerate(chosen)])
            sides.append(f"S/item->{name}{bound}")
        queries[f"q{number}"] = _query(sides[0], sides[1], joins, window)
    return queries


def _query(left: str, right: str, joins: int, window: int) -> str:
    condition = " AND ".join([f"l{n}=r{n}" for n in range(joins)])
    return f"{left} FOLLOWED BY{{{condition}, {window}}} {right}"


def _zipf(rng: Random, most: int, parameter: float) -> int:
    return rng.choices(range(1, most + 1), [n**-parameter for n in range(1, most + 1)])[0]


def simple_document(leaves: int = LEAVES) -> bytes:
    """Returns a document with another value in each leaf; two of them join leaf by leaf."""
    inside = "".join([f"<leaf{n}>value {n}</leaf{n}>" for n in range(leaves)])
    return f"<item>{inside}</item>".encode()


def complex_document() -> bytes:
    """Returns a document with parts."""
    parts = []
    for part in range(PARTS):
        leaves = [f"<leaf{n}>value {part} {n}</leaf{n}>" for n in range(PARTS)]
        parts.append(f"<part{part}>{''.join(leaves)}</part{part}>")
    return f"<item>{''.join(parts)}</item>".encode()


def rss_items(count: int, seed: int = 2) -> Iterator[bytes]:
    """Yields items of a feed: few channels, titles that come again, all else new."""
    rng = Random(seed)
    for number in range(count):
        channel = rng.randrange(CHANNELS)
        values = (
            f"http://channel{channel}.example/{number}",
            f"http://channel{channel}.example/",
            f"News number {rng.randrange(20_000)}",
            f"2006-06-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}",
            f"What happened, for the {number}th time. " * 3,
        )
        inside = "".join([f"<{n}>{v}</{n}>" for n, v in zip(RSS, values, strict=True)])
        yield f"<item>{inside}</item>".encode()
