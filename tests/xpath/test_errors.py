"""Errors of XPath: each says what is wrong, points at the place, and knows what was meant."""

from __future__ import annotations

import pickle

import pytest

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.xpath.check import parse_checked
from extract.xpath.functions import ELSEWHERE, EXSLT_REGEXP, FUNCTIONS
from extract.xpath.parser import parse
from tests.fixtures.xpath.samples import documents
from tests.support.generate import oracle
from tests.support.paths import FIXTURES
from tests.support.xpath_corpus import compiles

MAX_DEPTH = Limits().xpath_depth

BOUND = {
    "p": "urn:p",
    "re": EXSLT_REGEXP,
    "fn": "http://www.w3.org/2005/xpath-functions",
    "xs": "http://www.w3.org/2001/XMLSchema",
}
TREES = documents()


def read_blocks() -> list[str]:
    """The blocks of the fixture file."""
    file = FIXTURES / "xpath" / "errors.txt"
    blocks = file.read_text(encoding="utf-8").strip("\n").split("\n\n")
    return [block for block in blocks if not block.startswith("#")]


def failure(xpath: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_checked(xpath, BOUND)
    return caught.value


def fails(xpath: str, tree: oracle.Tree) -> bool:
    """Whether lxml raises something; that need be no XPathError where it calls Python."""
    try:
        return bool(oracle.answer(tree, xpath, BOUND)[0] == "error")
    except Exception:
        return True


def name_of(block: str) -> str:
    return ascii(block.split("\n")[1].strip())[:50]


@pytest.mark.parametrize("block", read_blocks(), ids=name_of)
def test_the_user_sees(block: str) -> None:
    shown = block.split("\n")[1][2:]
    if shown.startswith("..."):
        conditions = " or ".join(f"@n = {i}" for i in range(20))
        shown = f"a[{conditions} or ] | b" + " | c" * 20
    error = failure(shown)
    assert str(error) == block
    assert error.xpath == shown
    assert 0 <= error.offset <= len(shown)


@pytest.mark.parametrize("block", read_blocks(), ids=name_of)
def test_queries_that_only_libxml2_compiles_fail_on_some_document(block: str) -> None:
    xpath = block.split("\n")[1][2:]
    if compiles(xpath) and not xpath.startswith("re:match"):  # whose nodes are in no document
        assert any(fails(xpath, tree) for tree in TREES)


def test_the_empty_expression_is_said_to_be_empty() -> None:
    for xpath in ("", " ", "\n\t"):
        error = failure(xpath)
        assert error.reason == "the expression is empty"
        assert error.offset == len(xpath)


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_functions_of_other_languages_have_a_hint(name: str) -> None:
    assert name not in FUNCTIONS
    for xpath, offset in ((f"{name}(a)", 0), (f"a[{name}(b) = 1]", 2), (f"a/{name}(b)", 2)):
        error = failure(xpath)
        assert error.offset == offset
        assert name in error.reason
        assert error.hint == ELSEWHERE[name]


@pytest.mark.parametrize(
    "hint",
    [
        "boolean(//b)",
        "not(//b)",
        "substring(//c, string-length(//c) - string-length('x') + 1) = 'x'",
        "sum(//c) div count(//c)",
        "//div[not(../div < .)]",
        "//c * (1 - 2 * (//c < 0))",
        "translate(//c, 'ABC', 'abc')",
        "re:test(//c, 'x')",
        "re:replace(//c, 'a', 'g', 'b')",
        "//a[b] | //b[not(c)]",
        "count(//a | //b) = 1",
        "//a[count(. | //b) = count(//b)]",
        "//a[position() >= 2 and position() <= 5]",
        "floor(//c div 2)",
        "//c[number(.) = number(.)]",
        "*[local-name() = 'Ⰰ']",
        "self::node()[a]",
        "processing-instruction('target')",
        "concat(a, b)",
    ],
)
def test_hints_recommend_queries_that_work(hint: str) -> None:
    parse_checked(hint, BOUND)
    for tree in TREES:
        assert oracle.answer(tree, hint, BOUND)[0] != "error"


def test_the_xml_prefix_is_always_bound() -> None:
    assert str(parse_checked("//@xml:lang", {})) == "//@xml:lang"


def test_the_deepest_place_is_shown() -> None:
    error = failure("a[" * 10_000 + "1" + "]" * 10_000)
    assert error.reason == Limits().passed("xpath_depth")
    assert error.offset == 2 * MAX_DEPTH
    _, excerpt, caret, hint = str(error).split("\n")
    assert len(excerpt) < 120
    assert excerpt[caret.index("^")] == "a"
    assert hint == "Hint: split it into several subscriptions"


@pytest.mark.parametrize("line", ["\t//a [\n b = = 1 ]", "//a[\r\n\tb = = 1]"])
def test_the_caret_is_right_after_line_breaks_and_tabs(line: str) -> None:
    error = failure(line)
    assert error.offset == line.index("= =") + 2
    _, excerpt, caret, _ = str(error).split("\n")
    assert excerpt[caret.index("^")] == "="


def test_the_place_in_a_query_file_adds_up() -> None:
    error = failure("//a[b").at("q.tsv", 7, 4)
    assert error.place == "q.tsv:7:7"
    assert str(error).startswith("q.tsv:7:7: this '[' is never closed\n")


@pytest.mark.parametrize("block", read_blocks()[::10], ids=name_of)
def test_errors_survive_pickling(block: str) -> None:
    error = failure(block.split("\n")[1][2:]).at("queries.tsv", 3, 5)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is QuerySyntaxError
    assert vars(copy) == vars(error)
    assert copy.args == error.args
    assert str(copy) == str(error)


def test_parse_and_check_are_two_things() -> None:
    for xpath in ("foo(1)", "$x", "q:a", "count('x')", "'a'/b", "position()"):
        parse(xpath)
        failure(xpath)


def test_what_cannot_be_printed_does_not_reach_the_terminal() -> None:
    error = QuerySyntaxError("bad", xpath="a\x1b[31m\ud800b", offset=1)
    assert str(error) == "bad\n  a\ufffd[31m\ufffdb\n   ^"
    str(error).encode()
