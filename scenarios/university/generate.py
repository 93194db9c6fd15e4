"""Documents and queries of the university scenario.

Records are put together from a pool of bodies made beforehand, so that a document costs a few
operations for each record and not for each tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from random import Random

SCHEMA = "university.dtd"
ROOT = "db"
NAMESPACES: dict[str, str] = {}
QUERIES = 2_000
DOCUMENTS = 1
RECORD = "student"
SIZE_BYTES = 5_088_000  # 4.85 MB on disk, in the megabytes of the time

# Appendix A1 gives the sizes of five chunks in KB, the heaviest by queries first. With 2,000
# queries it is the professors that are the lightest (figure 10), so theirs is the last size.
_KILOBYTES = {
    "student": 1233,
    "professor": 1537,
    "assistant": 1145,
    "secretary": 206,
    "lecturer": 170,
}
# Queries for each kind. The figure itself is lost; its text says who is the lightest in each set:
# students, then secretaries, then professors.
_FIGURE_10 = {
    100: {"student": 16, "professor": 22, "assistant": 20, "secretary": 24, "lecturer": 18},
    500: {"student": 110, "professor": 105, "assistant": 95, "secretary": 85, "lecturer": 105},
    2000: {"student": 410, "professor": 340, "assistant": 400, "secretary": 420, "lecturer": 430},
}
_KINDS = tuple(_KILOBYTES)
_POOL = 1024  # different bodies for each kind
_CHUNK_BYTES = 1 << 16

_FIRST = "Ada Alan Anna Barbara Claude Donald Edgar Edsger Frances Grace Ivan Jean John Kurt Leslie"
_LAST = "Backus Bachman Church Codd Dahl Dijkstra Gray Hopper Kay Knuth Lamport Liskov Turing Wirth"
_NAMES = [f"{first} {last}" for first in _FIRST.split() for last in _LAST.split()]
_UNITS = ("cs", "math", "law", "arts")


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """People by kind, in the order that the DTD asks for, each kind with its share of the bytes."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<db>\n'
    rng = Random(seed)
    for kind in _KINDS:
        share = _KILOBYTES[kind] / sum(_KILOBYTES.values())
        yield from _records(rng, kind, size_bytes * share)
    yield b"</db>\n"


def _records(rng: Random, kind: str, budget: float) -> Iterator[bytes]:
    """Records of one kind, at least one, until the budget is spent."""
    pool = [_body(rng, kind) for _ in range(_POOL)]
    choices = rng.choices
    start = f' <{kind} id="{_identifier(kind, 0)[:-1]}'
    number, spent = 0, 0
    while spent < budget or not number:
        rows: list[str] = []
        left, most = budget - spent, _CHUNK_BYTES
        for body in choices(pool, k=_CHUNK_BYTES // 150):
            row = f'{start}{number}">\n{body}'
            rows.append(row)
            number += 1
            left -= len(row)
            most -= len(row)
            if left <= 0 or most <= 0:
                break
        text = "".join(rows).encode("ascii")
        spent += len(text)
        yield text


def _body(rng: Random, kind: str) -> str:
    """What is inside a record: a name, and most of the rest."""
    name, user = _person(rng.randrange(len(_NAMES)), rng.randrange(100), rng.choice(_UNITS))
    parts = [f"  <name>{name}</name>\n"]
    if rng.random() < 0.95:
        parts.append(f"  <email>{user}</email>\n")
    if rng.random() < 0.9:
        login, unit = user.split("@")
        parts.append(f'  <url href="http://{unit}/~{login}">home</url>\n')
    if rng.random() < 0.9:
        # References go to the first record of a kind that has been there already, or is this kind:
        # in a valid document every one of them must lead somewhere.
        known = _KINDS[: _KINDS.index(kind) + 1]
        manager = f'manager="{_identifier(rng.choice(known), 0)}"'
        some = rng.sample(known, rng.randint(1, len(known))) if rng.random() < 0.3 else ()
        below = f' subordinates="{" ".join(_identifier(one, 0) for one in some)}"' if some else ""
        parts.append(f"  <link {manager}{below}/>\n")
    return f"{''.join(parts)} </{kind}>\n"


def _identifier(kind: str, number: int) -> str:
    return f"{kind[:2]}{number}"


def _person(name: int, number: int, unit: str) -> tuple[str, str]:
    """A name, and a mail address made from it."""
    words = _NAMES[name % len(_NAMES)]
    return words, f"{words.lower().replace(' ', '.')}{number % 100}@{unit}.example"


def queries(count: int, seed: int) -> list[str]:
    """XPaths for one kind each, 30% with ``//`` and 30% with a filter, in a random order."""
    known = min(_FIGURE_10, key=lambda size: abs(size - count))
    rng = Random(seed)
    found: list[str] = []
    kinds = cycle(_KINDS)
    quotas = {kind: count * part // known for kind, part in _FIGURE_10[known].items()}
    for kind in islice(kinds, count - sum(quotas.values())):  # what rounding left over
        quotas[kind] += 1
    for kind, quota in quotas.items():
        deep = _marked(rng, quota)
        for number, filtered in enumerate(_marked(rng, quota)):
            found.append(_query(rng, kind, deep[number], filtered, len(found)))
    rng.shuffle(found)
    return found


def _marked(rng: Random, count: int) -> list[bool]:
    """So many flags, 30% of them set."""
    flags = [10 * number < 3 * count for number in range(count)]
    rng.shuffle(flags)
    return flags


_ENDS = (
    "",
    "/@id",
    "/name",
    "/name/text()",
    "/email",
    "/email/text()",
    "/url",
    "/url/@href",
    "/url/text()",
    "/link",
    "/link/@manager",
    "/link/@subordinates",
    "/link/text()",
    "/*",
    "/@*",
)


def _query(rng: Random, kind: str, deep: bool, filtered: bool, number: int) -> str:
    start = rng.choice((f"//{kind}", f"/db//{kind}")) if deep else f"/db/{kind}"
    if not filtered:
        return f"{start}{_ENDS[number % len(_ENDS)]}"
    end = rng.choice(_ENDS)
    return f"{start}[{_filter(rng, kind, number)}]{end}"


def _filter(rng: Random, kind: str, number: int) -> str:
    """A filter that no other query has: by value, at times with a second condition."""
    name, user = _person(number, number // 7, _UNITS[number % len(_UNITS)])
    return rng.choice(
        (
            f"@id = '{_identifier(kind, number)}'",
            f"email = '{user}'",
            f"name = '{name}' and @id != '{_identifier(kind, number)}'",
            f"contains(url/@href, '~{user.split('@')[0]}')",
            f"link/@manager = 'pr0' and name != 'Nobody {number}'",
        )
    )
