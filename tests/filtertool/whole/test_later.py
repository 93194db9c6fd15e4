"""Queries in XPath 2.0 and later: declared, checked, evaluated by elementpath, merged with others.

The oracle is elementpath itself, on lxml's tree of the whole document.
"""

from __future__ import annotations

import json
import locale
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import elementpath
import pytest
from click.testing import CliRunner, Result
from elementpath.collations import UNICODE_CODEPOINT_COLLATION
from elementpath.xpath3 import XPath31Parser
from lxml import etree

import extract
from extract.cli import cli
from extract.errors import MatcherError, QuerySyntaxError, SubscriptionsError
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.limits import Limits
from extract.preptool.explain.query_report import explain_query
from extract.preptool.revise import Reviser
from extract.scenarios import scenario
from extract.scheme.registered import Later
from extract.subscriptions.table_files import read_table_file
from extract.xpath.later import parse_later
from tests.support.paths import ROOT

SCHEMA = ROOT / "schemas" / "university.dtd"
DOCUMENT = (
    b"<!--p--><db><student id='1'>t<name>Ann</name>u</student><student id='2'><name>Ben</name>"
    b"<email>b@c</email></student></db>"
)


def subscriptions(*queries: tuple[str, str], **named: str) -> extract.Subscriptions:
    """Pairs of version and XPath, called by their numbers; and XPath 1.0 by name."""
    some = [
        extract.Subscription(str(n), xpath, version=version)
        for n, (version, xpath) in enumerate(queries)
    ]
    return extract.Subscriptions.of([*some, *named.items()])


def scheme_of(*queries: tuple[str, str], **named: str) -> extract.Scheme:
    schema = extract.Schema.load(SCHEMA, root="db")
    return extract.prepare(schema, subscriptions(*queries, **named), 2)


def rows(version: str, xpath: str, document: bytes = DOCUMENT) -> list[tuple[Any, ...]]:
    found = extract.match(scheme_of((version, xpath)), document)
    return [(m.node, m.name, m.path, m.value) for m in found]


# -- what a query gives


@pytest.mark.parametrize(
    ("version", "xpath", "expected"),
    [
        ("2.0", "//name[matches(., '^A')]", [("/db[1]/student[1]/name[1]", "<name>Ann</name>")]),
        ("2.0", "db/student[2]/@id", [("/db[1]/student[2]/@id", "2")]),  # from the document node
        ("2.0", "//student[1]/text()", [("/db[1]/student[1]/text()[1]", "t"),
                                        ("/db[1]/student[1]/text()[2]", "u")]),
        ("2.0", "/comment()", [("/comment()[1]", "p")]),
        ("2.0", "(//name[2], //name, reverse(//name))",
         [("/db[1]/student[1]/name[1]", "<name>Ann</name>"),
          ("/db[1]/student[2]/name[1]", "<name>Ben</name>")]),
        ("2.0", "/", []),
        ("2.0", "()", []),
        ("2.0", "count(//name)", [(None, "2")]),
        ("2.0", "1.10", [(None, "1.1")]),
        ("2.0", "12345678901234567890", [(None, "12345678901234567890")]),
        ("2.0", "xs:date('2020-02-29')", [(None, "2020-02-29")]),
        ("2.0", "//name/string()", [(None, "Ann"), (None, "Ben")]),
        ("3.0", "let $n := count(//name) return $n > 1", [(None, "true")]),
        ("3.1", "[1, ['x', //email]]",
         [(None, "1"), (None, "x"), ("/db[1]/student[2]/email[1]", "<email>b@c</email>")]),
        ("3.1", "//name ! upper-case(.)", [(None, "ANN"), (None, "BEN")]),
    ],
)  # fmt: skip
def test_rows_of_a_query(version: str, xpath: str, expected: list[tuple[str | None, str]]) -> None:
    assert [(path, value) for *_, path, value in rows(version, xpath)] == expected


def test_kinds_of_nodes_and_values() -> None:
    xpath = "(//student[1]/node(), //@id, 1, 'x', true(), xs:dayTimeDuration('PT1S'))"
    kinds = [(node, name) for node, name, *_ in rows("2.0", xpath)]
    assert kinds == [
        ("text", None), ("element", "name"), ("text", None), ("attribute", "id"),
        ("attribute", "id"), ("number", None), ("string", None), ("boolean", None),
        ("string", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("xpath", "expected"),
    [
        ("//name", 2), ("(1, 0)", 2), ("()", 0), ("0", 0), ("number('x')", 0), ("''", 0),
        ("'0'", 1), ("false()", 0), ("3", 1), ("xs:date('2020-01-01')", 1),
        ("xs:untypedAtomic('')", 0),
    ],
)  # fmt: skip
def test_values_count_as_in_xpath_2(xpath: str, expected: int) -> None:
    scheme = scheme_of(("2.0", xpath))
    assert sum(n for *_, n in extract.count(scheme, DOCUMENT)) == expected
    ready = document_filter(scheme, load_matcher(), Options("doc"))
    (done,) = ready.process([("d", DOCUMENT)])
    assert len(done.findings) == bool(expected)


@pytest.mark.parametrize(
    ("xpath", "reason"),
    [
        ("error()", "elementpath cannot evaluate it: Unidentified error"),
        ("map{'a': 1}", "a map or a function"),
        ("parse-xml('<a/>')/a", "not of the document"),
    ],
)
def test_a_query_that_fails_does_not_stop_the_others(xpath: str, reason: str) -> None:
    scheme = scheme_of(("3.1", xpath), ("2.0", "//email"), names="//name")
    found = extract.match(scheme, DOCUMENT)
    assert [next(found).query for _ in range(3)] == ["names", "names", "1"]
    with pytest.raises(MatcherError, match="query '0' could not be evaluated") as raised:
        next(found)
    assert reason in str(raised.value)


QUERIES = (
    "//student[matches(name, 'a', 'i')]",
    "//*[some $x in * satisfies $x/name]",
    "for $s in //student return $s/name",
    "//name except //student/name",
    "distinct-values(//student/@*)",
    "//name[string-length(.) = max(//name/string-length(.))]",
    "if (//professor) then //professor/name else //student",
    "//text()[normalize-space()]",
    "//student[position() mod 2 = 1]/name",
    "avg(//name/string-length(.))",
)


@pytest.fixture
def collating_locale() -> Iterator[None]:
    """A process whose locale elementpath would take its collation from, and fail to set."""
    before = locale.setlocale(locale.LC_COLLATE)
    locale.setlocale(locale.LC_COLLATE, "C.UTF-8")
    yield
    locale.setlocale(locale.LC_COLLATE, before)


@pytest.mark.usefixtures("collating_locale")
def test_the_oracle() -> None:
    scheme = scheme_of(*[("3.1", xpath) for xpath in QUERIES])
    ids = [one.id for one in scheme.subscribers]
    for seed in range(3):
        document = b"".join(scenario("university").document(6_000, seed=seed))
        for matcher in ("lxml", "columnar"):
            ready = document_filter(scheme, load_matcher(matcher), Options())
            (done,) = ready.process([("d", document)])
            found: dict[str, list[str | None]] = {name: [] for name in ids}
            for match in done.findings.matches("d", ids):
                found[match.query].append(match.path or match.value)
            assert not done.rejections
            tree = etree.fromstring(document).getroottree()
            for name, xpath in zip(ids, QUERIES, strict=True):
                wanted = elementpath.select(
                    tree, xpath, parser=XPath31Parser, default_collation=UNICODE_CODEPOINT_COLLATION
                )
                items = wanted if isinstance(wanted, list) else [wanted]
                assert len(found[name]) == len(items), xpath
                for mine, one in zip(found[name], items, strict=True):
                    if etree.iselement(one):
                        assert tree.xpath(mine) == [one], xpath
                    elif "/text()" not in xpath:
                        assert mine == str(one), xpath


def test_a_document_that_breaks_the_schema() -> None:
    scheme = scheme_of(("2.0", "//zzz[matches(., 'x')]"), odd="//zzz")
    document = b"<db><zzz>x</zzz></db>"
    assert [m.query for m in extract.match(scheme, document)] == ["odd", "0"]


def test_equal_queries_are_evaluated_once() -> None:
    scheme = scheme_of(("2.0", "//name"), ("2.0", "//name"), ("3.1", "//name"))
    assert scheme.counts()["canonical"] == 2
    ready = document_filter(scheme, load_matcher(), Options())
    (done,) = ready.process([("d", DOCUMENT)])
    assert len(done.findings) == 6
    assert done.figures["elementpath_evaluations"] == 2
    assert done.figures["elementpath_questions"] == 3


def test_too_large_a_document() -> None:
    scheme = scheme_of(("2.0", "//name"), names="//name")
    ready = document_filter(scheme, load_matcher(), Options(limits=Limits(whole_bytes=10)))
    (done,) = ready.process([("d", DOCUMENT)])
    assert len(done.findings) == 2
    assert [(one.query, "evaluated whole up to" in one.reason) for one in done.rejections] == [
        ("0", True)
    ]


@pytest.mark.parametrize(
    "xpath",
    [
        "count(for $a in 1 to 100000, $b in 1 to 100000 return 1)",
        "matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '^(a+)+$')",
    ],
)
def test_a_hostile_query_is_given_up(xpath: str) -> None:
    scheme = scheme_of(("2.0", xpath), ("2.0", "//email"), names="//name")
    ready = document_filter(scheme, load_matcher(), Options(limits=Limits(query_seconds=2.0)))
    (done,) = ready.process([("d", DOCUMENT)])
    assert [one.query for one in done.rejections] == ["0"]
    assert "longer than 2 s" in done.rejections[0].reason
    assert len(done.findings) == 3


# -- what is refused


@pytest.mark.parametrize(
    ("version", "xpath", "reason", "offset"),
    [
        ("2.0", "//a[", "unexpected end of source", 4),
        ("2.0", "//a b", "unexpected name 'b'", 4),
        ("2.0", "//a[exist(b)]", "unknown function 'exist'", 4),
        ("2.0", "//q:a", "prefix 'q' is not declared", 3),
        ("2.0", "//a[$x = 1]", "there is no value for the variable $x", 4),
        ("2.0", "let $x := 1 return $x", "unexpected unparsed variable reference", 4),
        ("3.1", "//a ! doc(.)", "doc() would read something else", 6),
        ("3.1", "collection('x')", "collection() would read something else", 0),
        ("3.1", "unparsed-text('/etc/passwd')", "unparsed-text() would read", 0),
        ("3.1", "environment-variable('HOME')", "environment-variable() would read", 0),
        ("3.1", "", "source is empty", -1),
        ("3.1", "(" * 5000 + "1" + ")" * 5000, "nested too deeply", -1),
    ],
)
def test_refused_when_it_is_registered(version: str, xpath: str, reason: str, offset: int) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        parse_later(xpath, version, {})
    assert reason in raised.value.reason
    assert raised.value.hint
    if offset >= 0:
        assert abs(raised.value.offset - offset) <= 1
    scheme = scheme_of((version, xpath), ("2.0", "//name"))
    assert [one.id for one in scheme.rejected] == ["0"]
    assert [one.subscriber.id for one in scheme.later] == ["1"]


@pytest.mark.parametrize(
    "call",
    [
        "function-lookup(xs:QName('fn:{0}'), 1)('{1}')",
        "{0}#1('{1}')",
        "'{1}' => {0}()",
        "let $f := {0}#1 return $f('{1}')",
        "Q{{http://www.w3.org/2005/xpath-functions}}{0}#1('{1}')",
        "for-each('{1}', {0}#1)",
    ],
)
@pytest.mark.parametrize("name", ["unparsed-text", "doc", "json-doc", "unparsed-text-lines"])
def test_nothing_else_is_read(tmp_path: Path, name: str, call: str) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<secret/>")
    scheme = scheme_of(("3.1", call.format(name, secret.as_uri())))
    if not scheme.rejected:
        with pytest.raises(MatcherError, match="could not be evaluated"):
            list(extract.match(scheme, DOCUMENT))


def test_registering_does_not_evaluate() -> None:
    assert not scheme_of(("2.0", "count(1 to 100000000000)")).rejected


# -- how it is declared


def test_query_files(tmp_path: Path) -> None:
    lines = "a\t//x\n#! xpath 3.1\nb\t//x ! 1\n#! xpath 1.0\nc\t//x\n"
    (tmp_path / "q.tsv").write_text(lines)
    loaded = extract.Subscriptions.load(tmp_path / "q.tsv", version="2.0")
    assert [one.version for one in loaded] == ["2.0", "3.1", "1.0"]
    rows = [{"xpath": "//x", "version": v} for v in ("2.0", 3.1, "1.0")] + [{"xpath": "//x"}]
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    loaded = extract.Subscriptions.load(tmp_path / "q.jsonl")
    assert [one.version for one in loaded] == ["2.0", "3.1", "1.0", "1.0"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "#! xpath 4.0\n//a\n"),
        ("q.tsv", "#! xpath\n//a\n"),
        ("q.jsonl", '{"xpath": "//a", "version": null}\n'),
        ("q.jsonl", '{"flwr": "for $a in //a return <b/>", "version": "3.1"}\n'),
        ("q.jsonl", '{"xscl": "a//b->x JOIN{x=y, 1} c//d->y", "version": "3.1"}\n'),
    ],
)
def test_unknown_versions(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SubscriptionsError, match=r"3\.1") as raised:
        extract.Subscriptions.load(tmp_path / name)
    assert raised.value.line == 1
    with pytest.raises(SubscriptionsError):
        extract.Subscriptions.of([extract.Subscription("a", "//a", version="9")])
    with pytest.raises(SubscriptionsError):
        extract.Subscriptions.of(["//a"], version="9")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.jsonl", '{"id": "a", "xpath": "//a", "version": "9"}\n{"id": "b", "xpath": "//b"}\n'),
        ("q.csv", "id,xpath,version\na,//a,9\nb,//b,\n"),
    ],
)
def test_a_query_of_an_unknown_version_is_rejected_alone(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    if name.endswith("csv"):
        queries = read_table_file(tmp_path / name, {}, Limits(), "1.0")
    else:
        queries = extract.Subscriptions.load(tmp_path / name)
    scheme = extract.prepare(queries)
    (rejected,) = scheme.rejected
    assert (rejected.id, rejected.reason) == ("a", "there is no XPath '9' here")
    told = extract.Filter(scheme).table([("d", b"<b/>")])
    assert told["query"].to_pylist() == ["b"]
    empty = extract.prepare(extract.Subscriptions.of({"c": "//c"}))
    reviser = Reviser(empty)
    assert [one.id for one in reviser.add_all(queries).rejected] == ["a"]


def test_prefixes_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text(
        "<!ELEMENT p:a (#PCDATA)><!ATTLIST p:a xmlns:p CDATA #FIXED 'urn:one'>"
    )
    schema = extract.Schema.load(tmp_path / "s.dtd", root="p:a")
    queries = extract.Subscriptions.of(
        [
            extract.Subscription("q", "//p:a", {"p": "urn:one", "unused": "urn:x"}, version="2.0"),
            extract.Subscription("r", "//p:a", {"p": "urn:two"}, version="2.0"),
        ]
    )
    scheme = extract.prepare(schema, queries, 1)
    assert [dict(one.namespaces) for one in scheme.later] == [{"p": "urn:one"}, {"p": "urn:two"}]
    document = b"<p:a xmlns:p='urn:one'/>"
    assert [m.query for m in extract.match(scheme, document)] == ["q"]


# -- the scheme


def test_the_scheme_keeps_them_apart(tmp_path: Path) -> None:
    scheme = scheme_of(("2.0", "//name"), ("3.1", "1 +"), names="//name")
    scheme.save(tmp_path / "s.json")
    assert extract.Scheme.load(tmp_path / "s.json") == scheme
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["later"] == [{"id": "0", "xpath": "//name", "version": "2.0"}]
    assert scheme.counts()["later"] == 1
    assert scheme.counts()["registered"] == 3
    assert not scheme.document.branches
    assert scheme.every_chunk[-1].whole == ("XPath 2.0, which is not analysed",)
    written["later"][0]["version"] = "7"
    (tmp_path / "s.json").write_text(json.dumps(written))
    with pytest.raises(extract.SchemeError, match="is none of"):
        extract.Scheme.load(tmp_path / "s.json")


def test_the_prefilter_gives_the_whole_document() -> None:
    document = DOCUMENT.replace(b"<student id='1'>", b"<student id='1'>  ")
    scheme = scheme_of(("2.0", "//name"), mail="//email")
    assert extract.Prefilter(scheme).project(document) == document


def test_subscriptions_come_and_go() -> None:
    reviser = Reviser(scheme_of(mail="//email"))
    added = reviser.add(extract.Subscription("new", "//name ! 1", version="3.1"))
    assert isinstance(added, Later)
    assert "new" in reviser
    assert reviser.scheme().later == (added,)
    assert list(extract.count(reviser.scheme(), DOCUMENT)) == [
        ("<bytes>", "mail", 1),
        ("<bytes>", "new", 2),
    ]
    again = Reviser(reviser.scheme())
    with pytest.raises(SubscriptionsError, match="already has a query 'new'"):
        again.add(extract.Subscription("new", "//a"))
    assert again.remove("new") == added
    assert again.scheme() == scheme_of(mail="//email")


def test_explained() -> None:
    report = explain_query(scheme_of(("2.0", "//name"), mail="//email"), "0")
    assert "in XPath 2.0: evaluated by elementpath" in str(report)
    assert report.to_json()["version"] == "2.0"


# -- the commands


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.xml").write_bytes(DOCUMENT)
    lines = "one\t//email\n#! xpath 2.0\ntwo\t//name[ends-with(., 'n')]\nbad\t//name[\n"
    Path("q.tsv").write_text(lines)
    result = call("prep", "-s", str(SCHEMA), "--root", "db", "-q", "q.tsv", "-n", "2", "-o", "s")
    assert result.exit_code == 1
    assert "\n  //name[\n         ^\nHint: it ends too early" in result.stderr
    return tmp_path


def test_a_mixed_rule_set_runs_as_one(here: Path) -> None:
    wanted = ["one", "two", "two"]
    for matcher in ("auto", "lxml", "columnar"):
        result = call(
            "run", "--scheme", "s", "d.xml", "-o", matcher, "--engine", "local",
            "--format", "jsonl", "--matcher", matcher,
        )  # fmt: skip
        assert result.exit_code == 1, result.output  # one query was rejected
        lines = Path(matcher, "matches", "part-00000.jsonl").read_text().splitlines()
        assert [json.loads(line)["query"] for line in lines] == wanted
        facts = json.loads(Path(matcher, "report.json").read_text())
        assert facts["queries"]["later"] == 1
        assert facts["queries"]["rejected"] == 1
        assert facts["figures"]["elementpath_evaluations"] == 1
    assert call("chunk", "--scheme", "s", "d.xml", "-o", "chunks").exit_code == 0
    result = call("filter", "--scheme", "s", "chunks")
    assert [json.loads(line)["query"] for line in result.stdout.splitlines()] == wanted


def test_other_commands_know_of_it(here: Path) -> None:
    result = call("trans", "-s", str(SCHEMA), "--root", "db", "-q", "q.tsv")
    row = json.loads(result.stdout.splitlines()[1])
    assert (row["status"], row["version"]) == ("later", "2.0")
    assert "1 in XPath 2.0 or later" in result.stderr
    assert "the whole document: XPath 2.0" in call("explain", "--scheme", "s").stdout
    assert "by elementpath" in call("explain", "--scheme", "s", "two").stdout
    subs = ("subs", "--scheme", "s")
    assert call(*subs, "add", "--xpath-version", "3.1", "x", "//name ! 1").exit_code == 0
    assert call(*subs, "add", "--xpath-version", "9", "y", "//name").exit_code == 2
    listed = [json.loads(line) for line in call(*subs, "list", "--json").stdout.splitlines()]
    assert {row["id"]: row.get("version") for row in listed if row["status"] != "rejected"} == {
        "one": None,
        "two": "2.0",
        "x": "3.1",
    }
    assert call(*subs, "remove", "x").exit_code == 0
    assert "elementpath" in call("doctor").stdout
    result = call(
        "run", "--scheme", "s", "d.xml", "-o", "o", "--engine", "local", "--matcher", "elementpath"
    )
    assert result.exit_code == 2
    assert "only those" in result.stderr
