"""Queries that join random streams of documents, and what one process makes of them."""

from __future__ import annotations

from random import Random
from typing import Any

from extract.filtertool.joins.joined import Joined
from extract.joins import Joins

QUERIES = {
    "follows": "a//o->x[k->i] FOLLOWED BY{i=j, 3} b//o->y[k->j]",
    "both": "S//o->x[k->i][n->m] JOIN{i=j AND m=l, 2} S//o->y[k->j][n->l]",
    "last": "a//o->x[k->i] JOIN{i=j, 2 EVENTS} S//o->y[k->j]",
    "after": "S//o->x[k->i] FOLLOWED BY{i=j, 3 EVENTS} b//o->y[n->j]",
    "hidden": "a//o->x JOIN{x/k=y/n, 1} b//o->y",
    "p1": 'SELECT <o t="{i}">{i}</o> FROM a//o->x[k->i] JOIN{i=j, 1} b//o->y[n->j] PUBLISH p',
    "p2": "SELECT <o>{i}{j}</o> FROM a//o->x[k->i] FOLLOWED BY{i=j, 2} b//o->y[k->j] PUBLISH p",
    "ps": "p//o->x[k->i] FOLLOWED BY{i=j, 2} S//o->y[k->j]",
    "q": "SELECT <o>{i}</o> FROM p//o->x[k->i] JOIN{i=j, 2 EVENTS} a//o->y[n->j] PUBLISH q",
    "pq": "q//o->x[k->i] JOIN{i=j, 3 EVENTS} p//o->y[k->j]",
    "qs": "q//o->x[k->i] FOLLOWED BY{i=j, 2} S//o->y[k->j]",
    "r": "SELECT <o>{i}</o> FROM S//o->x[k->i] JOIN{i=j, 1 EVENTS} S//o->y[k->j] PUBLISH r",
    "r2": "SELECT <o>{i}</o> FROM q//o->x[k->i] JOIN{i=j, 2 EVENTS} p//o->y[k->j] PUBLISH r",
    "end": "r//o->x[k->i] JOIN{i=j, 2 EVENTS} p//o->y[k->j]",
}
# What is published is one level deeper than its documents.
DEEP_QUERIES = {
    "p": "S/a->x FOLLOWED BY{x=y, 9} S/a->y PUBLISH p",
    "again": "p/join/a[1]->x JOIN{x=y, 9} S//a->y",
    "unread": "S/a->x JOIN{x=y, 1} S/a->y PUBLISH q",
}


def deep_stream() -> list[tuple[int, str, str, bytes, str]]:
    """Documents, of which two have as many levels as a document may have."""
    depths = (2048, 2, 2048, 3)
    data = [b"<a>" * depth + b"1" + b"</a>" * depth for depth in depths]
    return [(n, "a", f"d{n}", one, str(n)) for n, one in enumerate(data)]


def content(random: Random) -> bytes:
    parts = [f"<{tag}>{random.choice('1234')}</{tag}>" for tag in random.choices("kkn", k=3)]
    return f"<r><o>{''.join(parts)}</o><o><k>{random.choice('125')}</k></o></r>".encode()


def stream_of(random: Random, number: int) -> list[tuple[int, str, str, bytes, str]]:
    """Documents as they arrive: out of order, some of them late, some malformed."""
    documents = []
    for place in range(number):
        data = b"<r><o>" if random.random() < 0.1 else content(random)
        time = place / 2 - random.choice([0, 0, 0, 1, 2.5, 9])
        documents.append((place, random.choice("abc"), f"d{place}", data, str(time)))
    return documents


def locally(joins: Joins, documents: list[Any]) -> tuple[list[Joined], list[Any]]:
    rows: list[Joined] = []
    rejected: list[Any] = []
    for _, stream, name, data, time in documents:
        rows += joins.process(stream, name, data, time)
        rejected += joins.rejected
    return rows, rejected


def comparable(rows: list[Any]) -> list[Any]:
    return sorted([(*row[:7], sorted(row[7].items()), row[8]) for row in rows])
