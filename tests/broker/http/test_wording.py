"""Errors over HTTP speak of JSON, never of options of the command line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.broker.settings import BrokerLimits, BrokerSettings
from extract.broker.wording import over_http
from extract.limits import Limits
from tests.support.broker_server import LINES, XML, Answer, AskedBroker, served

_OPTION = re.compile(r"(?<![-\w<!])--[a-z]")
_COMMAND = re.compile(r"`extract |'#! ")
# What cannot be reached from a broker: other engines, files and databases, the command line itself.
_ELSEWHERE = (
    "bench/", "broker/", "cli/", "client/", "filtertool/spark/", "filtertool/matchers/",
    "filtertool/chunk_outputs.py", "chunktool/input/messages/", "subscriptions/reader.py",
    "scheme/database/",
)  # fmt: skip
_LIMITS = BrokerLimits(document_bytes=100_000, answer_bytes=2_000, join_bytes=3_000)


def _texts() -> Iterator[tuple[str, str]]:
    """The texts of the library that name an option or a command, and where they are."""
    root = Path(extract.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = str(path.relative_to(root))
        if name.startswith(_ELSEWHERE):
            continue
        tree = ast.parse(path.read_text())
        documented = {
            id(one.body[0].value)
            for one in ast.walk(tree)
            if isinstance(one, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and one.body
            and isinstance(one.body[0], ast.Expr)
        }
        inside = {
            id(part)
            for one in ast.walk(tree)
            if isinstance(one, ast.JoinedStr)
            for part in one.values
        }
        for one in ast.walk(tree):
            if isinstance(one, ast.JoinedStr):
                parts = [
                    str(part.value) if isinstance(part, ast.Constant) else "p"
                    for part in one.values
                ]
                text = "".join(parts)
            elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                if id(one) in documented | inside:
                    continue
                text = one.value
            else:
                continue
            if _OPTION.search(text) or "`extract " in text:
                yield f"{name}:{one.lineno}", text


def test_no_hint_of_the_library_names_an_option() -> None:
    texts = {
        place: text
        for place, text in _texts()
        if not place.startswith(("limits.py", "filtertool/processes", "join"))
    }
    assert len(texts) >= 12, "the hints are found"
    left = {place: over_http(text) for place, text in texts.items()}
    assert {place: text for place, text in left.items() if _OPTION.search(text)} == {}
    asked = [place for place in left if place.startswith(("flwr/", "schema/", "xpath/", "xscl/"))]
    assert len(asked) >= 8
    assert {place: left[place] for place in asked if _COMMAND.search(left[place])} == {}


@pytest.mark.parametrize("name", Limits.__dataclass_fields__)
def test_limits_are_called_as_the_broker_calls_them(name: str) -> None:
    said = over_http(Limits(value_bytes=9).passed(name))
    assert not _OPTION.search(said)
    called = re.search(r"the broker's limit (\w+)", said)
    assert called is None or hasattr(BrokerLimits(), called[1])


def test_names_of_clients_stay_as_they_are() -> None:
    assert over_http("there is no feed --x-y") == "there is no feed --x-y"


# -- over HTTP: everything that can be wrong

_XPATHS = (
    "", "]", "//p:a", "p:f(1)", "re:test(a, 'b')", "matches(a, 'b')", "replace(a, 'b', 'c')",
    "//{urn:x}a", "$x", "count('x')", "for $a in //a return $a", "a JOIN b", "//a FOLLOWED BY //b",
    "table('x')", "//a[lookup('t', 'c')]", "(" * 200 + "1" + ")" * 200, "|".join(["//a"] * 5_000),
    "//a[" + "b or " * 90_000 + "c]", "document('x')", "//a[. = 1 to 3]", "if (a) then b else c",
    "//a instance of b", "unknown()", "//a['", "//a eq 1", "concat('a')", "fn:count(//a)",
    "for $a in //a return <b>{$a}</b>",
)  # fmt: skip
_FLWRS = (
    "for", "//a", "for $a in //a", "declare namespace p='x'; for $a in //a return <b/>",
    "for $a in //p:a return <b/>", "for $a in //a for $b in //b return <c/>",
    "for $a in //a return <b>{$c}</b>", "if (1) then 2 else 3", "for $a in 1 return <b/>",
    "for $a in //a return <p:b/>", "for $a in //a return <b>{p:f($a)}</b>",
)  # fmt: skip
_XSCLS = (
    "", "f//a->x", "f//a->x JOIN{} f//b->y", "f//p:a->x JOIN{x=y, 60} f//b->y",
    "f//a->x JOIN{x=y} f//b->y", "no//a->x[b->z] JOIN{z=w, 60} f//b->y[c->w]",
    "f//a->x[b->z] JOIN{z=w, 60} f//b->y[c->w] PUBLISH f",
)  # fmt: skip
_SCHEMAS: tuple[dict[str, Any], ...] = (
    {"dtd": "<!ELEMENT a (b"}, {"dtd": "<!ELEMENT a EMPTY>", "root": "zz"}, {"dtd": ""},
    {"dtd": "<!ELEMENT p:a EMPTY>"}, {"dtd": "<!ENTITY % x SYSTEM 'x.dtd'>%x;"}, {"xsd": "<a/>"},
    {"xsd": "no"}, {"xsd": "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'/>"},
    {"xsd": "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>"
            "<xs:include schemaLocation='no.xsd'/><xs:element name='a'/></xs:schema>"},
    {"dtd": "grammar { start = element a { empty } }"}, {"xsd": "<!ELEMENT a EMPTY>"},
    {"dtd": "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'/>"}, {"root": "a"},
    {"xsd": "<grammar xmlns='http://relaxng.org/ns/structure/1.0'/>"},
)  # fmt: skip
_BOMB = (
    "<!DOCTYPE a [<!ENTITY b 'xxxxxxxxxxxxxxxxxxxx'>"
    + "".join(
        f"<!ENTITY {one} '{f'&{before};' * 40}'>"
        for before, one in zip("bcdef", "cdefg", strict=True)
    )
    + "]><a>&g;</a>"
)
_DOCUMENTS = (
    "", "no", "<a>", "<a></b>", "<a b='1' b='2'/>", "<p:a/>", "<a>&x;</a>", "<a/><b/>", _BOMB,
    "<a>" * 3_000 + "</a>" * 3_000, "<a " + " ".join(f"b{n}=''" for n in range(11_000)) + "/>",
    "<a>" + "x" * 200_000 + "</a>", "<zz/>",
    "<!DOCTYPE a SYSTEM 'http://localhost/x'><a>&y;</a>",
)  # fmt: skip


def _check(answer: Answer, is_wrong: bool = True) -> None:
    text = answer.body.decode()
    assert answer.status < 500, text
    said = json.loads(text) if text else {}
    quoted = [said.pop(name, None) for name in ("query", "xpath", "flwr", "xscl", "picture")]
    assert quoted
    shown = json.dumps(said, ensure_ascii=False)
    assert not _OPTION.search(shown), shown
    assert not _COMMAND.search(shown), shown
    assert answer.status >= 400 or not is_wrong, shown


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    folder = tmp_path_factory.mktemp("broker")
    with served(folder, BrokerSettings(limits=_LIMITS), synchronous=False) as broker:
        broker.put_feed("f")
        broker.put_feed(
            "strict", dtd="<!ELEMENT a (b*)><!ELEMENT b EMPTY>", on_nonconforming="reject"
        )
        yield broker


@pytest.mark.parametrize(
    ("kind", "text"),
    [("xpath", one) for one in _XPATHS]
    + [("flwr", one) for one in _FLWRS]
    + [("xscl", one) for one in _XSCLS],
    ids=lambda one: one[:30],
)
def test_queries(asked: AskedBroker, kind: str, text: str) -> None:
    _check(asked.put("q", **{kind: text}))
    line = json.dumps({"id": "q", kind: text})
    _check(asked.ask("POST", "/feeds/f/subscriptions", line, LINES))
    for path in ("explain", "try"):
        body = {kind: text, "document": "<a/>"} if path == "try" else {kind: text}
        answer = asked.ask("POST", f"/feeds/f/{path}", body)
        assert answer.status != 404
        _check(answer, is_wrong=False)


@pytest.mark.parametrize("body", _SCHEMAS, ids=lambda one: str(one)[:30])
def test_schemas(asked: AskedBroker, body: dict[str, Any]) -> None:
    _check(asked.put_feed("new", **body), is_wrong=False)
    _check(asked.ask("DELETE", "/feeds/new"), is_wrong=False)


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda one: one[:20])
def test_documents(asked: AskedBroker, document: str) -> None:
    for feed in ("f", "strict"):
        _check(asked.post(document, "d", feed), is_wrong=feed == "strict" or document != "<zz/>")
        _check(asked.post_lines([("d", document)], feed), is_wrong=False)
        _check(asked.ask("POST", f"/feeds/{feed}/documents?schema=7", document, XML))
        _check(asked.ask("GET", f"/feeds/{feed}/rejections"), is_wrong=False)
    _check(asked.ask("POST", "/feeds/f/try", {"xpath": "//a", "document": document}), False)


def test_what_is_rejected_when_it_is_matched(asked: AskedBroker) -> None:
    asked.put("deep", xpath="//a")
    asked.put("made", flwr="for $a in //a return <x>{$a}{$a}</x>")
    asked.put("join", xscl="f//a->x[@n->z] JOIN{z=w, 60} f//b->y[@n->w]")
    for number in range(40):
        asked.post(f"<a n='{number}'>{'<a>' * 30}{'x' * 200}{'</a>' * 30}</a>", f"d{number}")
    assert asked.all_notifications("made", 40)[0]["truncated"]
    rows = asked.ask("GET", "/feeds/f/rejections?limit=1000").json["rejections"]
    stages = {row["stage"] for row in rows}
    assert {"match", "state"} <= stages, stages
    assert any("limit answer_bytes" in row["reason"] for row in rows)
    assert any("limit join_bytes" in row["reason"] for row in rows)
    _check(asked.ask("GET", "/feeds/f/rejections?limit=1000"), is_wrong=False)
    _check(asked.ask("GET", "/rejections"), is_wrong=False)


def test_requests_that_are_not_for_this_broker(asked: AskedBroker) -> None:
    _check(asked.ask("GET", "/feeds", headers={"Host": "evil.example"}))
    _check(asked.ask("GET", "/feeds", headers={"Origin": "http://evil.example"}))
    for url in ("http://10.0.0.1/", "http://localhost/", "ftp://x/", "http://u:p@example.org/"):
        _check(asked.put("hook", xpath="//a", webhook=url))
    _check(asked.put("bound", xpath="//p:a", namespaces={"p": ""}), is_wrong=False)
