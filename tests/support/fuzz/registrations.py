"""Subscriptions that mean harm, put into a broker: it goes on, starts again, and answers by name.

    python -m tests.support.fuzz.registrations --bodies N [--seed S]

Bodies are made at random: functions and tables that are not there, huge numbers, deep nesting,
wrong types in every key, versions, joins that publish to each other, ids with odd characters; feeds
go while joins read them. Then documents come, and the broker is started again. Whatever was taken
must be answered or rejected by name, and a subscription that nothing is wrong with hears of every
document.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lxml import etree

from tests.support.broker_server import AskedBroker, served

FEEDS: Final = ("f", "g", "h")
_DOCUMENTS: Final = (
    "<k>1</k>",
    "<k a='2'><a>1</a><b>x</b><k><a>1</a></k></k>",
    "<!DOCTYPE k [<!ENTITY e 'v'>]><k>&e;<a>2</a></k>",
    "<p:k xmlns:p='urn:p'><a>1</a></p:k>",
    "<?xml version='1.0' encoding='latin1'?><k><a>1</a></k>",
)
_ATOMS: Final = (
    "//k", "k", ".", "..", "@a", "//a", "/", "text()", "1", "'x'", '""', "9" * 400, "1e999", "-0",
    "$v", "p:k", "table('w','n')", "nothing()", "position()", "last()", "id('x')", "namespace::*",
    "//*", "//k/ancestor::*", "document('x')", "key('a','b')", "'\ud7ff'", "comment()",
    "//k[last()]", "(//k)[1]", "count(//k)", "string(//a)", "true()", "0 div 0", "//k[a = 1]",
)  # fmt: skip
_OPERATORS: Final = ("=", "!=", "<", "and", "or", "+", "-", "*", "div", "mod", "|", "/", "//")
_CALLS: Final = (
    "not", "count", "string", "number", "sum", "contains", "starts-with", "translate", "concat",
    "substring", "normalize-space", "boolean", "lang", "re:test", "matches", "doc", "name",
)  # fmt: skip
_WRONG: Final[tuple[Any, ...]] = (
    None, 0, -1, 1e308, 10**30, True, [], {}, [[]], {"a": None}, "", " ", "\x00", "\n", "é" * 300,
    ["1.0"], "3.10", "1", "inf", "𝄞",
)  # fmt: skip
_KEYS: Final = (
    "xpath", "flwr", "xscl", "namespaces", "select", "metadata", "version", "webhook", "team",
)  # fmt: skip
_NAMESPACES: Final[tuple[Any, ...]] = (
    {"p": "urn:p"},
    {"re": "http://exslt.org/regular-expressions"},
    {"xml": "u"},
    {"": "u"},
    {"p": ""},
)
_VERSIONS: Final = ("1.0", "2.0", "3.0", "3.1", "9", "", "1", 1.0, None)


def expression(made: random.Random, depth: int = 3) -> str:
    """An expression, right or wrong."""
    kind = made.randrange(8) if depth else 0
    if kind <= 2:
        return made.choice(_ATOMS)
    inner = expression(made, depth - 1)
    if kind == 3:
        return f"{inner}[{expression(made, depth - 1)}]"
    if kind == 4:
        others = [expression(made, depth - 1) for _ in range(made.randrange(3))]
        return f"{made.choice(_CALLS)}({', '.join([inner, *others])})"
    if kind == 5:
        return f"({inner})"
    return f"{inner} {made.choice(_OPERATORS)} {expression(made, depth - 1)}"


def query(made: random.Random) -> str:
    """An XPath, sometimes long or deep."""
    kind = made.randrange(40)
    if kind == 0:
        return "(" * made.choice((90, 110, 3_000)) + "//k" + ")" * made.choice((90, 110, 3_000))
    if kind == 1:
        return "//k" + f"[{expression(made, 1)}]" * made.choice((2, 5))
    if kind == 2:
        return " or ".join(["//k = 1"] * made.choice((50, 1_000)))
    if kind == 3:
        return "".join(made.choices(string.printable, k=made.randrange(1, 40)))
    return expression(made)


def flwr(made: random.Random) -> str:
    """A FLWR query, right or wrong."""
    where = f" where {expression(made, 2)}" if made.random() < 0.5 else ""
    order = f" order by {expression(made, 1)}" if made.random() < 0.2 else ""
    let = f" let $t := {expression(made, 1)}" if made.random() < 0.3 else ""
    inside = made.choice((f"{{ {expression(made, 2)} }}", "{ $k }", "text", "<b/>", "{ $t }", "{"))
    path = made.choice(("//k", "//k", expression(made, 1)))
    return f"for $k in {path}{let}{where}{order} return <r>{inside}</r>"


def join(made: random.Random) -> str:
    """A join of feeds, or of streams that others publish: cycles come by themselves.

    Only those that publish nothing find pairs; else documents lead to others without end.
    """
    streams = ("f", "g", "h", "S", "p0", "p1", "p2", "p3")
    left, right = made.choice(streams), made.choice(streams)
    operator = made.choice(("JOIN", "FOLLOWED BY"))
    window = made.choice(("9", "9", "0", "2 EVENTS", "9" * 30, "-1", "x"))
    publish = f" PUBLISH {made.choice((*streams[4:], 'f'))}" if made.random() < 0.6 else ""
    side = f"[{expression(made, 1)}]" if made.random() < 0.15 else ""
    other = "b" if publish else "a"
    return (
        f"{left}//k->x{side}[a->y] {operator}{{y=z, {window}}} {right}//k->u[{other}->z]{publish}"
    )


def body(made: random.Random) -> dict[str, Any]:
    """What a client puts."""
    kind = made.choice(("xpath", "xpath", "xpath", "flwr", "xscl", "xscl"))
    text = {"xpath": query, "flwr": flwr, "xscl": join}[kind](made)
    put: dict[str, Any] = {kind: text}
    if made.random() < 0.4:
        put["select"] = made.choice(("nodes", "count", "doc", "doc", "output"))
    if made.random() < 0.2:
        put["namespaces"] = made.choice(_NAMESPACES)
    if made.random() < 0.25:
        put["version"] = made.choice(_VERSIONS)
    if made.random() < 0.2:
        put["metadata"] = made.choice(({"version": "3.1"}, {"a": 1e308}, {"xscl": "x"}, 1))
    if made.random() < 0.15:
        put[made.choice(_KEYS)] = made.choice(_WRONG)
    return put


def identifier(made: random.Random) -> str:
    """An id, of few, so that many are replaced; some with odd characters."""
    if made.random() < 0.1:
        return made.choice(("é", "a'b", 'a"b', "%", "𝄞", "a;b", "-", "~", "a%2Fb", "\u202e", "1=1"))
    return f"s{made.randrange(150)}"


def attack(asked: AskedBroker, made: random.Random, count: int) -> Counter[str]:
    """Puts and deletes subscriptions and feeds; returns how often there was which answer."""
    answers: Counter[str] = Counter()
    for _ in range(count):
        feed, kind = made.choice(FEEDS), made.random()
        if kind < 0.01 and feed != "f":
            asked.ask("DELETE", f"/feeds/{feed}")
            asked.put_feed(feed)
            continue
        path = f"/feeds/{feed}/subscriptions"
        if kind < 0.06:
            answer = asked.ask("DELETE", f"{path}/{quote(identifier(made), safe='')}")
        elif kind < 0.16:
            some = [{"id": identifier(made), **body(made)} for _ in range(made.randrange(1, 4))]
            answer = asked.ask("POST", path, "\n".join([json.dumps(one) for one in some]))
        else:
            answer = asked.ask("PUT", f"{path}/{quote(identifier(made), safe='')}", body(made))
        answers[f"{answer.status}"] += 1
        if answer.status >= 500:
            answers[f"FAULT {answer.body!r}"] += 1
        if kind > 0.97:
            asked.post(made.choice(_DOCUMENTS).encode("latin-1"), f"during{_}", feed)
    return answers


def check(asked: AskedBroker, number: int, seq: int) -> int:
    """Documents are matched, and a subscription that nothing is wrong with hears of each.

    Args:
        asked: The broker.
        number: Of the documents.
        seq: Of the last notification that was seen.

    Returns:
        The number of the last notification.
    """
    for feed in FEEDS[::-1]:
        for place, text in enumerate(_DOCUMENTS):
            answer = asked.post(text.encode("latin-1"), f"check{number}.{place}", feed)
            assert answer.status == 202, (feed, text, answer)
    name = ""
    while name != f"check{number}.{len(_DOCUMENTS) - 1}":
        page = asked.notifications("fine", seq, 25)
        assert page, f"matching has stopped after {name}"
        seq, name = page[-1]["seq"], page[-1]["document"]
    health = asked.ask("GET", "/health")
    assert (health.status, "troubles" in health.json) == (200, False), health.json
    return seq


def unanswered(asked: AskedBroker, number: int) -> list[str]:
    """XPath subscriptions that heard of other documents than lxml says, and were not rejected."""
    wrong = []
    for feed in FEEDS:
        rows = asked.ask("GET", f"/feeds/{feed}/rejections?limit=1000").json["rejections"]
        rejected = {(row["query"], row["document"]) for row in rows}
        some = asked.ask("GET", f"/feeds/{feed}/subscriptions?limit=1000").json["subscriptions"]
        for one in some:
            text = one.get("xpath", "")
            if not text or one.get("version"):
                continue
            told = _told(asked, one["id"])
            for place, document in enumerate(_DOCUMENTS):
                name = f"check{number}.{place}"
                if (one["id"], name) in rejected or (one["id"], "") in rejected:
                    continue
                if _selects(text, one.get("namespaces", {}), document) != (name in told):
                    wrong.append(f"{one['id']}: {text} on {document}")
    return wrong


def _told(asked: AskedBroker, name: str) -> set[str]:
    """The documents of all notifications of a subscription."""
    found: list[Any] = []
    path = f"/subscriptions/{quote(name, safe='')}/notifications?limit=1000&after="
    while page := asked.ask("GET", f"{path}{found[-1]['seq'] if found else 0}").json[
        "notifications"
    ]:
        found += page
    return {one["document"] for one in found}


def _selects(text: str, namespaces: dict[str, str], document: str) -> bool:
    tree = etree.fromstring(
        document.encode("latin-1"), etree.XMLParser(resolve_entities="internal")
    ).getroottree()
    # From the document node, where lxml would begin at the root; it is no row itself.
    for asked in (f"({text})/parent::node()", text):
        try:
            whole = f"boolean(/self::node()[boolean({asked})])"
            return bool(etree.XPath(whole, namespaces=namespaces)(tree))
        except etree.XPathError:
            continue  # no node set; or, as written, an error
    return False


def run(folder: Path, bodies: int, seed: int, rounds: int = 4) -> Counter[str]:
    """The whole of it, in some rounds, each followed by a new start."""
    made = random.Random(seed)
    answers: Counter[str] = Counter()
    seq = 0
    for number in range(rounds + 1):
        with served(folder) as asked:
            if not number:
                for feed in FEEDS:
                    assert asked.put_feed(feed).status == 201
                assert asked.put("fine", xpath="/*", select="doc").status == 201
            seq = check(asked, 2 * number, seq)
            if number:
                wrong = unanswered(asked, 2 * number)
                assert not wrong, "\n".join(wrong)
            if number < rounds:
                answers += attack(asked, made, bodies // rounds)
                seq = check(asked, 2 * number + 1, seq)
    return answers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(dict(run(Path(folder), chosen.bodies, chosen.seed)))
