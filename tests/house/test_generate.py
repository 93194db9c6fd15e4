"""The generators keep their promises: valid, varied, sized, repeatable, and often answered."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from lxml import etree

from extract.schema.conformance import first_violation
from extract.schema.model import Particle, Schema
from tests.support.generate import oracle, schemas, strategies
from tests.support.generate.cases import Case, cases, smallest
from tests.support.generate.content import ANYTHING, content_model, is_deterministic
from tests.support.generate.documents import Documents, Options, document, wrong_document
from tests.support.generate.queries import PROFILES, Queries, query
from tests.support.generate.schemas import GeneratedSchema
from tests.support.paths import ROOT

FUNCTIONS = [
    "last", "position", "count", "id", "local-name", "namespace-uri", "name",
    "string", "concat", "starts-with", "contains", "substring-before", "substring-after",
    "substring", "string-length", "normalize-space", "translate",
    "boolean", "not", "true", "false", "lang", "number", "sum", "floor", "ceiling", "round",
]  # fmt: skip
AXES = [
    "ancestor", "ancestor-or-self", "attribute", "child", "descendant", "descendant-or-self",
    "following", "following-sibling", "namespace", "parent", "preceding", "preceding-sibling",
    "self",
]  # fmt: skip
PARTS = [
    " and ", " or ", " div ", " mod ", " * ", " + ", " - ", " | ", "=", "!=", "<", "<=", ">", ">=",
    "//", "..", "@*", ":*", "[1]", "[last()]", "]/", ")[", "][", "instruction('",
]  # fmt: skip

KINDS = {"dtd": schemas.dtd, "xsd": schemas.xsd}


def validator(schema: GeneratedSchema) -> Any:
    """lxml's own validator, to judge our documents by."""
    if schema.kind == "dtd":
        return etree.DTD(io.StringIO(schema.text))
    return etree.XMLSchema(etree.fromstring(schema.text))


@cache
def loaded(seed: int) -> Schema:
    """The random schema of a seed."""
    return schemas.schema(Random(seed)).load()


class TestSchemas:
    @pytest.mark.parametrize("kind", KINDS)
    def test_validators_accept_every_schema(self, kind: str) -> None:
        for seed in range(150):
            validator(KINDS[kind](Random(seed)))

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_schema_has_the_root_and_the_size_that_were_asked_for(self, kind: str) -> None:
        for seed in range(20):
            schema = KINDS[kind](Random(seed), 3 + seed % 8)
            model = schema.load()
            assert {model.declarations[root].name for root in model.roots} == {schema.root}
            assert len(model.declarations) >= 2
            if kind == "dtd":
                assert schema.text.count("<!ELEMENT") == 3 + seed % 8

    @pytest.mark.parametrize(
        ("kind", "features"),
        [
            (
                "dtd",
                "EMPTY|ANY|#PCDATA \\||xmlns CDATA #FIXED|xmlns:p CDATA #FIXED|p:\\w+ CDATA|ID #REQ"
                "|IDREFS|NMTOKENS|\\(x\\|y\\|z\\)|#FIXED|xml:lang",
            ),
            (
                "xsd",
                "substitutionGroup|abstract|nillable|xs:any |xs:anyAttribute|skip|strict|lax|xs:all"
                "|xs:group ref|complexContent|simpleContent|mixed|qualified|targetNamespace|ref="
                "|maxOccurs=.4|xs:ID|enumeration|fixed|default",
            ),
        ],
    )
    def test_every_feature_occurs(self, kind: str, features: str) -> None:
        texts = "".join(KINDS[kind](Random(seed)).text for seed in range(100))
        assert [f for f in re.split(r"(?<!\\)\|", features) if not re.search(f, texts)] == []

    def test_many_schemas_recurse(self) -> None:
        recursive = [bool(loaded(seed).places.recursive) for seed in range(60)]
        assert sum(recursive) > 20

    def test_local_elements_share_a_name_and_differ_in_type(self) -> None:
        def shares(model: Schema) -> bool:
            concrete = [d.name for d in model.declarations if not d.type.endswith("x")]
            return len(set(concrete)) < len(concrete)

        assert any(shares(schemas.xsd(Random(seed)).load()) for seed in range(20))

    def test_determinism_is_judged_right(self) -> None:
        a, b, optional = (_leaf(n, low) for n, low in ((1, 1), (2, 1), (1, 0)))
        model = content_model(Random(0), 0, [1, 2, 3], [(1, (1, 1))])
        assert is_deterministic(model)
        assert is_deterministic(_sequence(a, b, a))
        assert not is_deterministic(_sequence(optional, a))
        assert not is_deterministic(_sequence(optional, b), lambda leaf: frozenset((ANYTHING,)))


def _leaf(number: int, low: int) -> Particle:
    return Particle("element", low, element=number)


def _sequence(*parts: Particle) -> Particle:
    return Particle("sequence", parts=parts)


def check_documents(seeds: range, kind: str) -> int:
    """Documents of one kind of schema: strict ones are valid, all have only edges it has."""
    count = 0
    for seed in seeds:
        rng = Random(seed)
        schema = KINDS[kind](rng)
        model, judge = schema.load(), validator(schema)
        documents = Documents(model)
        for number in range(4):
            entities = number == 3
            options = Options(size=5 + 9 * number, strict=number > 0, markup_entities=entities)
            text = documents.document(rng, options)
            tree = oracle.parse(text).tree
            if options.strict:
                valid = judge.validate(tree)
                assert valid, f"seed {seed}: {judge.error_log}\n{schema.text}\n{text.decode()}"
            violation = first_violation(model, tree)
            assert violation is None, f"seed {seed}: {violation}\n{schema.text}\n{text.decode()}"
            count += 1
    return count


class TestDocuments:
    @pytest.mark.parametrize("kind", KINDS)
    def test_strict_ones_are_valid_and_all_conform(self, kind: str) -> None:
        assert check_documents(range(100), kind) == 400

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_many_are_valid_and_conform(self, kind: str) -> None:
        assert check_documents(range(1000, 4000), kind) == 12_000

    def test_loose_ones_are_mostly_not_valid(self) -> None:
        verdicts = Counter[bool]()
        for seed in range(60):
            schema = schemas.dtd(Random(seed))
            text = document(Random(seed), schema.load(), strict=False)
            verdicts[validator(schema).validate(oracle.parse(text).tree)] += 1
        assert verdicts[False] > 25

    def test_wrong_ones_have_an_edge_too_many(self) -> None:
        kinds = set()
        for seed in range(80):
            model = loaded(seed)
            tree = oracle.parse(wrong_document(Random(seed), model)).tree
            violation = first_violation(model, tree)
            assert violation is not None
            kinds.add(("@" in violation.child, violation.parent == ""))
        assert len(kinds) >= 3  # an attribute, a child, a root

    @pytest.mark.parametrize("strict", [True, False])
    def test_the_same_seed_gives_the_same_bytes(self, strict: bool) -> None:
        model = loaded(7)
        texts = {document(Random(1), model, strict=strict) for _ in range(2)}
        assert len(texts) == 1
        assert document(Random(2), model, strict=strict) not in texts

    @pytest.mark.parametrize("size", [12, 100, 3000])
    def test_sizes_are_kept_where_the_schema_allows(self, size: int) -> None:
        counts = []
        for seed in range(40 if size < 1000 else 10):
            pieces: list[str] = []
            counts.append(Documents(loaded(seed)).write(Random(seed), pieces.append, Options(size)))
            assert oracle.parse("".join(pieces).encode()).tree.xpath("count(//*)") == counts[-1]
        assert max(counts) < 2 * size + 20
        assert sum(count > size * 0.6 for count in counts) > 0.6 * len(counts)

    def test_depth_is_kept_and_may_be_large(self) -> None:
        model = GeneratedSchema("dtd", "<!ELEMENT a (a | b)*><!ELEMENT b EMPTY>", "a").load()
        for depth in (1, 3, 200):
            tree = oracle.parse(document(Random(3), model, size=5000, depth=depth, odd=0)).tree
            deepest = max(tree.xpath("count(ancestor-or-self::*)") for tree in tree.iter("*"))
            assert deepest <= depth
        assert deepest > 10

    def test_odd_things_occur_in_odd_places(self) -> None:
        text = b""
        for seed in range(150):
            model = loaded(seed)
            text += document(Random(seed), model, strict=seed % 2 == 0, size=20) + b"\n=====\n"
        expected = [
            rb"=====\n<!--", rb"=====\n\xef\xbb\xbf", rb"<\?xml ", rb"<!DOCTYPE", rb"<!ENTITY",
            rb"<!ATTLIST \w+ id ID", rb"<!\[CDATA\[\]\]>", rb"<!\[CDATA\[[^]]", rb"&#\d+;", rb"&#x",
            rb"&e;", rb"&nil;", rb"\w='", rb'\w="', rb"\s=\s", rb"/>", rb" />", rb"></", rb"\r\n",
            rb"</\w+\s+>", rb"<\?\w+", rb'xmlns="', rb"xmlns:", rb'xmlns=""', rb"xml:lang=",
            rb"xsi:type=", rb"xsi:nil=", rb"schemaLocation", rb"NaN", rb"\]\]&gt;", rb"&lt;",
            b"\xc3\xbc", rb"(?:\?>|-->)\s*\n=====",
        ]  # fmt: skip
        assert [pattern for pattern in expected if not re.search(pattern, text)] == []

    def test_plain_ones_have_nothing_odd(self) -> None:
        for seed in range(30):
            text = document(Random(seed), loaded(seed), odd=0)
            assert not re.search(rb"<!|<\?|&#x|\s=|\s>", text)

    def test_entities_with_markup_only_on_request(self) -> None:
        text = b"".join(
            document(Random(seed), loaded(seed), markup_entities=True) for seed in range(40)
        )
        assert re.search(rb"<!ENTITY el\d '<", text)
        assert re.search(rb">[^<]*&el\d;", text)
        assert re.search(rb">[^<]*&cmt;", text)

    @pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "us-ascii"])
    def test_other_encodings_say_the_same(self, encoding: str) -> None:
        model = loaded(11)
        tree = oracle.parse(document(Random(5), model, encoding=encoding)).tree
        assert first_violation(model, tree) is None


class TestQueries:
    @pytest.mark.parametrize("profile", PROFILES)
    def test_every_query_compiles(self, profile: str) -> None:
        for seed in range(15):
            queries = Queries(loaded(seed))
            for number in range(100):
                text = queries.query(Random(number), profile)
                etree.XPath(text, namespaces=queries.namespaces)

    def test_the_same_seed_gives_the_same_query(self) -> None:
        model = loaded(3)
        texts = [[query(Random(n), model) for n in range(50)] for _ in range(2)]
        assert texts[0] == texts[1]
        assert len(set(texts[0])) > 35

    @pytest.mark.parametrize(
        ("profile", "least"), [("linear", 0.5), ("filtered", 0.4), ("axes", 0.3), ("wild", 0.25)]
    )
    def test_many_queries_select_something(self, profile: str, least: float) -> None:
        found = total = 0
        for seed in range(60):
            for case in cases(Random(seed), queries=25, profile=profile, strict=True):
                result = oracle.answer(oracle.parse(case.document), case.query, case.namespaces)
                found += not oracle.is_empty(result)
                total += 1
        assert found / total > least

    def test_the_whole_grammar_occurs(self) -> None:
        text = "\n".join(
            queries.query(Random(1000 * seed + number), "wild")
            for seed, queries in enumerate(Queries(loaded(seed)) for seed in range(10))
            for number in range(300)
        )
        missing = [f for f in FUNCTIONS if not re.search(rf"(?<![\w-]){f}\s*\(", text)]
        missing += [axis for axis in AXES if not re.search(rf"(?<![\w-]){axis}\s*::", text)]
        tests = ["text", "node", "comment", "processing-instruction"]
        missing += [test for test in tests if not re.search(rf"(?<![\w-]){test}\s*\(", text)]
        assert missing + [part for part in PARTS if part not in text] == []


class TestOracle:
    DOCUMENT = (
        b'<!--p--><?t x?><a k="1" xmlns:p="u" p:n="2">t1<!--c-->t2<b>u</b>t3<?q r?>t4'
        b"<c><![CDATA[]]></c></a><!--e-->"
    )

    @pytest.mark.parametrize(
        ("xpath", "expected"),
        [
            ("a", ("nodes", ("element", 2))),
            ("b", ("nodes",)),
            ("/", ("nodes",)),
            (".", ("nodes",)),
            ("..", ("nodes",)),
            ("count(a) + count(b)", ("number", "1.0")),
            ("/node()", ("nodes", ("comment", 0), ("pi", 1), ("element", 2), ("comment", 7))),
            ("a/@*", ("nodes", ("attribute", 2, "k"), ("attribute", 2, "{u}n"))),
            ("/a/text()", ("nodes", ("text", 2), ("tail", 3), ("tail", 4), ("tail", 5))),
            ("//c/text()", ("nodes", ("text", 6))),
            ("//b | /a | //b", ("nodes", ("element", 2), ("element", 4))),
            ("/a/namespace::p", ("nodes", ("namespace", "p", "u"))),
            ("-0", ("number", "-0.0")),
            ("number('x')", ("number", "nan")),
            ("string(a/b)", ("string", "u")),
            ("a = 't1t2ut3t4'", ("boolean", True)),
            ("position()", ("error", "XPathEvalError")),
            ("'[' = last()", ("error", "XPathEvalError")),
            ("true() or position()", ("boolean", True)),
            ("a[position() = last()]", ("nodes", ("element", 2))),
            ("'last()'", ("string", "last()")),
            ("a] | a[b", ("error", "XPathSyntaxError")),
            ("count(1)", ("error", "XPathEvalError")),
        ],
    )
    def test_answers(self, xpath: str, expected: oracle.Answer) -> None:
        assert oracle.answer(oracle.parse(self.DOCUMENT), xpath) == expected

    def test_the_internal_subset_is_seen_by_two_axes(self) -> None:
        tree = oracle.parse(b"<!DOCTYPE a [<!ENTITY e 'x<b/>'><!--s-->]><a>&e;<c/></a>")
        before = oracle.answer(tree, "//c/preceding::node()")
        assert ("declared", "x") in before
        assert ("declared", "b") in before
        assert ("declared", "<!--s-->") in before
        assert oracle.answer(tree, "/node()") == ("nodes", ("element", 0))
        assert oracle.answer(tree, "//comment()") == ("nodes",)

    def test_catching_the_value_changes_nothing(self) -> None:
        """Absolute paths need no document node as context: lxml can be asked directly."""
        compared = 0
        for seed in range(40):
            for case in cases(Random(seed), queries=40, profile="axes"):
                if not case.query.lstrip().startswith("/"):
                    continue
                tree = oracle.parse(case.document)
                direct = etree.XPath(case.query, namespaces=case.namespaces)(tree.tree)
                caught = oracle.answer(tree, case.query, case.namespaces)
                assert len(direct) == len(caught) - 1, str(case)
                elements = [tree.rank[n] for n in direct if etree.iselement(n) and n in tree.rank]
                ranked = [n[1] for n in caught[1:] if n[0] in ("element", "comment", "pi")]
                assert elements == ranked, str(case)
                compared += 1
        assert compared > 800

    def test_identities_are_unique_and_in_order(self) -> None:
        for seed in range(60):
            model = loaded(seed)
            tree = oracle.parse(document(Random(seed), model, strict=False, odd=30))
            nodes = oracle.answer(tree, "//node() | //@*")[1:]
            assert len(set(nodes)) == len(nodes)
            ranks = [node[1] for node in nodes if node[0] in ("element", "comment", "pi")]
            assert ranks == sorted(ranks)
            assert len(ranks) == len(tree)


class TestCases:
    def test_nothing_depends_on_the_order_of_sets(self) -> None:
        """The same seeds in two processes that hash differently."""
        script = (
            "from random import Random; from tests.support.generate.cases import cases\n"
            "for s in range(10): print(*cases(Random(s), documents=2, queries=20), sep='\\n')"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", script],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
            ).stdout
            for seed in "12"
        }
        assert len(outputs) == 1

    @settings(max_examples=60)
    @given(strategies.cases())
    def test_hypothesis_draws_whole_cases(self, case: Case) -> None:
        tree = oracle.parse(case.document)
        assert first_violation(case.model, tree.tree) is None
        assert oracle.answer(tree, case.query, case.namespaces)[0] != "error"

    def test_a_failing_case_is_cut_down(self) -> None:
        def fails(case: Case) -> bool:
            tree = oracle.parse(case.document)
            return len(oracle.answer(tree, "//*[@*]")) > 1

        failing = next(c for seed in range(9) for c in cases(Random(seed)) if fails(c))
        small = smallest(failing, fails)
        assert fails(small)
        assert oracle.answer(oracle.parse(small.document), "count(//@*)") == ("number", "1.0")
        assert first_violation(small.model, oracle.parse(small.document).tree) is None
