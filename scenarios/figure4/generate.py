"""Documents and queries of the paper's figure 4."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from extract.scenarios.pieces import pieces

SCHEMA = "figure4.dtd"
ROOT = "a"
NAMESPACES: dict[str, str] = {}
QUERIES = 8
DOCUMENTS = 1
SIZE_BYTES = 400
RECORD = "b"

# Those that the paper explains: //, a wildcard, one that can match nothing; a parent step, which
# becomes a filter; and some that give the query tree its weights.
PAPER = (
    "//c",
    "/a/b/*/d",
    "/a/d",
    "/a/b/m/../k",
    "/a/b/*/c",
    "/a/b[m/c]/k/d",
    "/a/b/l/c",
    "//d",
)
_STARTS = ("/a/b", "//b", "/a/*", "//a/b")
_FILTERS = ("", "", "[l]", "[m/c]", "[k/d]", "[count(l) > 1]", "[2]")
_ENDS = ("/l/c", "/m/c", "/k/d", "/*/c", "//c", "//d", "/m/a", "/m/../k", "/l", "/k")


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """One ``a`` with many ``b``; in some of them there is an ``a`` again."""
    rng = Random(seed)
    return pieces("<a>\n", lambda _: f"  {_b(rng, 2)}\n", "</a>\n", size_bytes)


def _b(rng: Random, deeper: int) -> str:
    ls = "".join(f"<l>{'<c/>' * rng.randrange(3)}</l>" for _ in range(rng.randrange(3)))
    ms = "".join(_m(rng, deeper) for _ in range(rng.randrange(2)))
    ks = "".join(f"<k>{'<d/>' * rng.randrange(3)}</k>" for _ in range(rng.randrange(3)))
    return f"<b>{ls}{ms}{ks}</b>"


def _m(rng: Random, deeper: int) -> str:
    below = f"<a>{_b(rng, deeper - 1)}</a>" if deeper and rng.random() < 0.5 else ""
    return f"<m>{'<c/>' * rng.randrange(3)}{below}</m>"


def queries(count: int, seed: int) -> list[str]:
    """The paper's, and behind them random ones."""
    rng = Random(seed)
    more = [
        rng.choice(_STARTS) + rng.choice(_FILTERS) + rng.choice(_ENDS)
        for _ in range(count - len(PAPER))
    ]
    return [*PAPER[:count], *more]
