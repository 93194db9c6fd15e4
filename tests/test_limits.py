"""Every limit: one name in Python and on the command line, and a reason that names it."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import click
import pytest
from click.testing import CliRunner
from lxml import etree

import extract
from extract.cli import cli
from extract.errors import SubscriptionsError
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.job import Job
from extract.filtertool.local import run_local
from extract.filtertool.matchers.protocol import UnlimitedFactory
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output.directory import result_directory
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome
from extract.limits import Limits, option
from extract.preptool.revise import Reviser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DTD = "<!ELEMENT a (#PCDATA | a | b)*><!ATTLIST a c CDATA #IMPLIED d CDATA #IMPLIED>"
DTD += "<!ELEMENT b EMPTY>"
ENTITIES = b'<!DOCTYPE a [<!ENTITY x "1234567890">]>'


def deep(levels: int) -> bytes:
    return b"<a>" * levels + b"</a>" * levels


# For each limit of documents: its value, a document that keeps to it, and one that does not.
DOCUMENTS: dict[str, tuple[int, bytes, bytes]] = {
    "document_bytes": (7, b"<a></a>", b"<a> </a>"),
    "depth": (3, deep(3), deep(4)),
    "token_bytes": (9, b"<a>123456789</a>", b"<a>1234567890</a>"),
    "name_bytes": (4, b"<a c='12345678'></a>", b"<a abcde='1'></a>"),
    "attribute_bytes": (4, b"<a c='1234'></a>", b"<a c='12345'></a>"),
    "attributes": (1, b"<a c='1'></a>", b"<a c='1' d='2'></a>"),
    "entity_references": (2, ENTITIES + b"<a>&x;&x;</a>", ENTITIES + b"<a>&x;<a/>&x;&x;</a>"),
    "entity_bytes": (20, ENTITIES + b"<a>&x;&x;</a>", ENTITIES + b"<a>&x;&x;&x;</a>"),
    "gzip_ratio": (9, gzip.compress(b"<a>1</a>"), gzip.compress(b"<a>" + b" " * 999 + b"</a>")),
}
SMALL = {"gzip_ratio": {"gzip_free_bytes": 0}}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> extract.Schema:
    path = tmp_path_factory.mktemp("schema") / "a.dtd"
    path.write_text(DTD)
    return extract.Schema.load(path, root="a")


def scheme_of(schema: extract.Schema, *xpaths: str) -> extract.Scheme:
    return extract.prepare(schema, extract.Subscriptions.of(xpaths or ("//b",)), chunks=1)


def process(scheme: extract.Scheme, document: bytes, **options: Any) -> DocumentOutcome:
    (done,) = document_filter(scheme, load_matcher("auto"), Options(**options)).process(
        [("doc.xml", document)]
    )
    return done


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_beyond_a_limit_is_a_row_that_names_it(
    name: str, kernel: bool, schema: extract.Schema
) -> None:
    value, good, bad = DOCUMENTS[name]
    limits = Limits(**{name: value}, **SMALL.get(name, {}))
    scheme = scheme_of(schema)
    assert process(scheme, good, limits=limits, kernel=kernel).fate != "rejected"
    (rejection,) = process(scheme, bad, limits=limits, kernel=kernel).rejections
    assert rejection.query is None
    assert rejection.reason == limits.passed(name)
    assert f"({option(name)})" in rejection.reason
    assert process(scheme, bad, kernel=kernel).fate != "rejected", "the usual limits allow it"


@pytest.mark.parametrize("kernel", [True, False])
def test_limits_hold_after_the_schema_is_broken(kernel: bool, schema: extract.Schema) -> None:
    for name in ("depth", "name_bytes", "attribute_bytes", "attributes"):
        value, _, bad = DOCUMENTS[name]
        document = b"<a><b><a/></b>" + bad + b"</a>"
        limits = Limits(**{name: value})
        (rejection,) = process(scheme_of(schema), document, limits=limits, kernel=kernel).rejections
        assert rejection.reason == limits.passed(name)


def test_the_expansion_of_entities_is_bounded_by_what_was_read(schema: extract.Schema) -> None:
    long = b'<!DOCTYPE a [<!ENTITY x "%s">]><a>' % (b"x" * 1_000)
    limits = Limits(entity_ratio=3, entity_free_bytes=1_000)
    assert process(scheme_of(schema), long + b"&x;&x;&x;</a>", limits=limits).fate == "conforming"
    (rejection,) = process(scheme_of(schema), long + b"&x;" * 4 + b"</a>", limits=limits).rejections
    assert rejection.reason == limits.passed("entity_ratio")


@pytest.mark.parametrize("document", [b"<a><b/><b/></a>", b"<a><b/><b/><zz/></a>"])
def test_a_query_that_selects_too_much_fails_alone(document: bytes, schema: extract.Schema) -> None:
    scheme = scheme_of(schema, "//b", "/a", "/a/b[1]")
    for name, value in (("query_rows", 1), ("query_bytes", 7)):
        limits = Limits(**{name: value})
        done = process(scheme, document, limits=limits)
        failing = ["1"] if name == "query_rows" else ["1", "2"]
        assert [one.query for one in done.rejections] == failing
        assert {one.reason for one in done.rejections} == {limits.passed(name)}
        assert len(done.findings) == 3 - len(failing)
        counted = process(scheme, document, limits=limits, select="count")
        assert not counted.rejections, "a number is one row, however large it is"


def test_a_value_that_is_too_long_is_left_out(schema: extract.Schema) -> None:
    (found,) = extract.match(scheme_of(schema, "/a"), b"<a>12</a>", limits=Limits(value_bytes=8))
    assert (found.value, found.end) == (None, 9)


def test_a_document_too_large_to_be_evaluated_whole(schema: extract.Schema) -> None:
    limits = Limits(whole_bytes=7)
    (rejection,) = process(scheme_of(schema), b"<a><zz/></a>", limits=limits).rejections
    assert rejection.reason == "it has 12 bytes, and " + limits.passed("whole_bytes")


QUERIES = {
    "xpath_chars": (3, "/aa", "/aaa"),
    "constant_chars": (3, "/a[. = '123']", "/a[. = '1234']"),
    "xpath_depth": (2, "/a[b]", "/a[b[c]]"),
    "xpath_branches": (2, "/a | /b", "/a[b | c] | /b"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_beyond_a_limit_is_rejected_and_the_others_go_on(
    name: str, schema: extract.Schema
) -> None:
    value, good, bad = QUERIES[name]
    limits = Limits(**{name: value})
    queries = extract.Subscriptions.of({"good": good, "bad": bad})
    scheme = extract.prepare(schema, queries, chunks=1, limits=limits)
    assert [(one.id, one.reason) for one in scheme.rejected] == [("bad", limits.passed(name))]
    reviser = Reviser(scheme_of(schema), limits)
    assert reviser.add(extract.Subscription("bad", bad)).reason == limits.passed(name)  # type: ignore[union-attr] # it is a Rejected


@pytest.mark.parametrize("matcher", ["auto", "columnar", "lxml"])
def test_constants_of_a_megabyte(matcher: str, tmp_path: Path) -> None:
    """libxml2 takes them, so every matcher does, also out of a file and beside short ones."""
    text = "".join(Random(1).choices("abcdefgh ", k=1_000_000)) + "."
    queries = {
        "equal": f"/a[b = '{text}']",
        "short": "/a[b = 'x']",
        "contains": f'/a/b[contains(., "{text}")]',
        "number": f"/a[b = {'1' * 1_000_000}]",
        "truth": f"/a['{text}']/b",
    }
    file = tmp_path / "scheme.json"
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    assert not scheme.rejected
    scheme.save(file)
    filtered = extract.Filter(extract.Scheme.load(file), "doc", matcher)
    documents = {
        "whole": text,
        "more": f"{text}.",
        "less": text[:-1],
        "x": "x",
        "n": "1" * 1_000_000,
    }
    for name, value in documents.items():
        document = f"<a><b>{value}</b></a>".encode()
        tree = etree.fromstring(document, etree.XMLParser(huge_tree=True)).getroottree()
        expected = {one for one, xpath in queries.items() if etree.XPath(xpath)(tree)}
        assert set(filtered.table([(name, document)])["query"].to_pylist()) == expected, name


def test_what_libxml2_compiles_and_cannot_evaluate_is_rejected(schema: extract.Schema) -> None:
    (rejected,) = scheme_of(schema, " | ".join(["/a"] * 6_000)).rejected
    assert rejected.reason == Limits().passed("xpath_branches")


def test_a_tenant_can_register_only_so_many(schema: extract.Schema, tmp_path: Path) -> None:
    limits = Limits(subscriptions=2)
    queries = tmp_path / "queries.txt"
    queries.write_text("/a\n/a/b\n/a/a\n")
    for register in (
        lambda: extract.Subscriptions.load(queries, limits=limits),
        lambda: extract.prepare(schema, extract.Subscriptions.load(queries), 1, limits=limits),
        lambda: Reviser(scheme_of(schema, "/a", "//b"), limits).add(
            extract.Subscription("x", "/a/a")
        ),
    ):
        with pytest.raises(SubscriptionsError, match="more than 2 subscriptions") as caught:
            register()
        assert caught.value.reason == limits.passed("subscriptions")


def test_a_bomb_of_queries(tmp_path: Path) -> None:
    bomb = tmp_path / "queries.txt.gz"
    bomb.write_bytes(gzip.compress(b"\n" * 100_000))
    limits = Limits(queries_bytes=99_999)
    with pytest.raises(SubscriptionsError) as caught:
        extract.Subscriptions.load(bomb, limits=limits)
    assert caught.value.reason == limits.passed("queries_bytes")
    assert not len(extract.Subscriptions.load(bomb))


def test_limits_are_values_that_travel() -> None:
    limits = Limits(depth=3)
    assert pickle.loads(pickle.dumps(limits)) == limits != Limits()
    for wrong in ({"depth": 0}, {"depth": 2_049}, {"document_bytes": -1}, {"attributes": 1 << 20}):
        with pytest.raises(ValueError, match=f"the limit {next(iter(wrong))} is"):
            Limits(**wrong)


def test_every_limit_is_an_option_with_the_same_name_and_default() -> None:
    by_command: dict[str, set[str]] = {}
    for command in ("run", "chunk", "project", "filter", "prep", "trans"):
        found: Any = cli.get_command(click.Context(cli), command)
        for parameter in found.params:
            if any(one.startswith("--max-") for one in parameter.opts):
                by_command.setdefault(command, set()).add(parameter.name)
                limit = Limits.__dataclass_fields__.get(parameter.name.removeprefix("max_"))
                assert limit is None or parameter.default == limit.default
    assert by_command["run"] == {f"max_{one.name}" for one in fields(Limits)}
    assert by_command["chunk"] == by_command["project"] <= by_command["filter"]


def test_the_page_on_security_names_every_limit_and_only_tests_that_exist(repo_root: Path) -> None:
    page = (repo_root / "docs/security.md").read_text()
    missing = [one.name for one in fields(Limits) if f"`{one.name}`" not in page]
    assert not missing
    for name in re.findall(r"`(tests/[a-z_/]+\.py)`", page):
        assert (repo_root / name).exists(), name


def test_options_reach_every_stage(tmp_path: Path) -> None:
    (tmp_path / "a.dtd").write_text(DTD)
    (tmp_path / "q.tsv").write_text("b\t//b\nlong\t/a[b][b][b][b]\n")
    (tmp_path / "doc.xml").write_bytes(deep(4))
    run = ["run", "--engine", "local", "-s", str(tmp_path / "a.dtd"), "--root", "a"]
    run += ["-q", str(tmp_path / "q.tsv"), str(tmp_path / "doc.xml"), "-o", str(tmp_path / "out")]
    run += ["--format", "jsonl", "--max-depth", "3", "--max-xpath-chars", "9"]
    result = CliRunner().invoke(cli, run)
    assert result.exit_code == 1, result.output
    lines = (tmp_path / "out/rejected/part-00000.jsonl").read_text().splitlines()
    assert [json.loads(line)["reason"] for line in lines] == [
        "longer than 9 characters (--max-xpath-chars)",
        "more than 3 levels of nested elements (--max-depth)",
    ]


# A matcher that takes what it is told to, in a worker that may die of it.


class _Greedy:
    """Takes time or memory on a document that has a certain text."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def match(self, units: Any, select: Any) -> Any:
        for unit in units:
            if b"spin" in unit.table.data:
                while True:
                    pass
            if b"eat" in unit.table.data:
                bytes(1 << 31)  # at once: little by little, it would take all of its time first
        return self._inner.match(units, select)

    def report(self) -> Any:
        return self._inner.report()


@dataclass(frozen=True)
class GreedyFactory(UnlimitedFactory):
    """Makes them."""

    name: str = "greedy"
    consumes: Literal["xml", "table"] = "table"

    def build(self, questions: Any, namespaces: Any) -> Any:
        return _Greedy(load_matcher("columnar").build(questions, namespaces))


@pytest.fixture
def greedy(tmp_path: Path) -> list[str]:
    """Documents, one that takes for ever and one that takes all memory among them."""
    texts = {"good": b"fine", "slow": b"spin", "large": b"eat", "other": b"fine"}
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_bytes(b"<a><b/>" + text + b"</a>")
    return [str(tmp_path / f"{name}.xml") for name in texts]


GREEDY = Limits(document_seconds=1.0, document_memory=1 << 30)
EXPECTED = {"slow": "document_seconds", "large": "document_memory"}


def check_greedy(found: dict[str, str]) -> None:
    """Two documents are rejected, each for its reason; the others are not."""
    assert {Path(name).stem: reason for name, reason in found.items() if reason} == {
        name: GREEDY.passed(limit) for name, limit in EXPECTED.items()
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_a_document_that_takes_too_much_is_rejected_alone(
    schema: extract.Schema, greedy: list[str], workers: int
) -> None:
    job = Job(scheme_of(schema), GreedyFactory(), Options(limits=GREEDY))
    done = list(document_outcomes(run_local(job, greedy, workers)))
    assert [one.document for one in done] == greedy
    check_greedy({one.document: one.rejections[0].reason if one.rejections else "" for one in done})
    assert [len(one.findings) for one in done] == [1, 0, 0, 1]


@pytest.mark.parametrize("text", [b"fine", b"spin", b"eat"])
def test_standard_input_that_takes_too_much_is_rejected_alone(
    schema: extract.Schema, greedy: list[str], text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"<a><b/>" + text + b"</a>"))
    monkeypatch.setattr(sys, "stdin", stdin)
    job = Job(scheme_of(schema), GreedyFactory(), Options(limits=GREEDY))
    done = list(document_outcomes(run_local(job, [greedy[0], "-", greedy[3]])))
    assert [one.document for one in done] == [greedy[0], "<stdin>", greedy[3]]
    reasons = {b"spin": ["document_seconds"], b"eat": ["document_memory"]}.get(text, [])
    assert [one.reason for one in done[1].rejections] == [GREEDY.passed(one) for one in reasons]
    assert [len(one.findings) for one in done] == [1, int(not reasons), 1]
    assert sys.stdin is stdin


def test_spark_rejects_the_same(
    spark: SparkSession, schema: extract.Schema, greedy: list[str], tmp_path: Path
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.engine import run_into_directory

    job = Job(scheme_of(schema), GreedyFactory(), Options(limits=GREEDY))
    with result_directory(tmp_path / "out") as partial:
        run_into_directory(spark.sparkContext, job, find_inputs(greedy), partial, "jsonl")
    lines = [
        json.loads(line)
        for path in (tmp_path / "out/rejected").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    check_greedy({one["document"]: one["reason"] for one in lines})
