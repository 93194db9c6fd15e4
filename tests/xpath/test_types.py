"""Static types: what an expression gives is known from its text, and so is whether it counts."""

from __future__ import annotations

from random import Random

import pytest

from extract.errors import QuerySyntaxError
from extract.xpath import ast
from extract.xpath.check import parse_checked
from extract.xpath.functions import FUNCTIONS, Type
from extract.xpath.parser import parse
from extract.xpath.types import counts, has_positions, is_positional, type_of
from tests.fixtures.xpath.samples import NAMESPACES, documents, scrambled
from tests.support.generate import oracle
from tests.support.xpath_corpus import CORPUS, generated

# Not table(): only a database evaluates it.
PLAIN = [name for name in FUNCTIONS if name != "table" and not name.startswith("{")]

DOCUMENTS = documents()


@pytest.mark.parametrize(
    ("xpath", "expected"),
    [
        ("a", "nodes"),
        ("/", "nodes"),
        ("(a)[1]", "nodes"),
        ("a | b", "nodes"),
        ("id('x')", "nodes"),
        ("id('x')/a", "nodes"),
        ("1", "number"),
        ("-a", "number"),
        ("--a", "number"),
        ("a + b", "number"),
        ("a div b", "number"),
        ("a mod b", "number"),
        ("a * b", "number"),
        ("count(a)", "number"),
        ("'x'", "string"),
        ("string(a)", "string"),
        ("re:replace('a', 'b', 'c', 'd')", "string"),
        ("a = b", "boolean"),
        ("a < b", "boolean"),
        ("a or b", "boolean"),
        ("1 and 2", "boolean"),
        ("not(a)", "boolean"),
        ("re:test('a', 'b')", "boolean"),
        ("(a or b)", "boolean"),
        ("(1)", "number"),
        ("a[1]", "nodes"),
    ],
)
def test_the_type_is_what_libxml2_gives(xpath: str, expected: str) -> None:
    assert type_of(parse_checked(xpath, NAMESPACES)).value == expected
    assert oracle.answer(DOCUMENTS[0], xpath, NAMESPACES)[0] == expected


@pytest.mark.parametrize("name", PLAIN)
def test_functions_take_what_the_table_says(name: str) -> None:
    function = FUNCTIONS[name]
    high = function.low + 3 if function.high is None else function.high
    for count in range(high + 2):
        call = f"{name}({', '.join(['//a'] * count)})"
        xpath = f"string(//a[{call}])"
        answer = oracle.answer(DOCUMENTS[0], xpath)
        if function.low <= count and (function.high is None or count <= high):
            parse_checked(xpath, {})
            assert answer[0] != "error", xpath
            if name not in ("position", "last"):
                assert oracle.answer(DOCUMENTS[0], call)[0] == function.result.value
        else:
            assert answer[0] == "error", xpath
            with pytest.raises(QuerySyntaxError, match=f"{name}\\(\\) takes"):
                parse_checked(xpath, {})


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("argument", ["1", "'x'", "true()", "//a"])
def test_functions_take_the_types_that_the_table_says(name: str, argument: str) -> None:
    function = FUNCTIONS[name]
    high = function.low if function.high is None else function.high
    for i in range(high):
        arguments = [argument if i == j else "//b" for j in range(high)]
        xpath = f"{name}({', '.join(arguments)})"
        failed = oracle.answer(DOCUMENTS[0], xpath)[0] == "error"
        assert failed == (i in function.nodes and argument != "//a"), xpath
        if failed:
            with pytest.raises(QuerySyntaxError, match="needs a node set"):
                parse_checked(xpath, {})
        else:
            parse_checked(xpath, {})


def check_types(xpaths: list[str]) -> int:
    """Compares the static type of each that passes the check; how many do."""
    passed = 0
    for xpath in xpaths:
        try:
            expr = parse_checked(xpath, NAMESPACES)
        except QuerySyntaxError:
            continue
        if xpath.rstrip().endswith(("(", ",")):
            continue  # compiles only where the text ends, and the oracle puts it elsewhere
        passed += 1
        for tree in DOCUMENTS[:2]:
            assert oracle.answer(tree, xpath, NAMESPACES)[0] == type_of(expr).value, xpath
    return passed


def test_what_passes_the_check_has_its_type_and_never_fails() -> None:
    rng = Random(7)
    assert check_types([scrambled(rng, CORPUS) for _ in range(20_000)]) > 2_000
    assert check_types(generated(rng, 1_000)) > 700


@pytest.mark.slow
def test_very_many_that_pass_the_check_have_their_types_and_never_fail() -> None:
    rng = Random(8)
    passed = check_types([scrambled(rng, CORPUS) for _ in range(300_000)])
    passed += check_types(generated(rng, 20_000))
    print(f"{passed:,} types compared on 2 documents each")


# -- Positions (TRAPS 6)


@pytest.mark.parametrize(
    "predicate",
    [
        "2", "0", "-1", "1 + 1", "count(c)", "number(c)", "string-length()", "position()", "last()",
        "position() = 1", "not(position() = 1)", "last() > 1", "c[1] or position() = 2",
        "c and last()", "string(position())", "concat(last(), 'x')", "-last()", "a = last()",
        "(position())", "id(position())", "id(last())/a", "a | id(last())", "(c | id(last()))[1]",
        "sum(c)", "2 mod 2",
    ],
)  # fmt: skip
def test_positional(predicate: str) -> None:
    assert is_positional(parse(predicate))


@pytest.mark.parametrize(
    "predicate",
    [
        "c", "@c", "'x'", "''", "c = 2", "c[1]", "c[position() = 1]", "c[last()]", "true()",
        "not(c)", "count(c) = 2", "c[2] and d[last()]", "boolean(1)", "string(2)", "(c)[1]",
        "(c)[last()]/d",
        "c/d[count(e)]", "count(c[last()]) = 1", "id('x')[1]", "c | d[1]", "/", "p:last()", "1 = 1",
    ],
)  # fmt: skip
def test_not_positional(predicate: str) -> None:
    assert not is_positional(parse(predicate))


def test_a_step_has_positions_if_any_of_its_predicates_is_positional() -> None:
    steps = [parse(f"a{rest}") for rest in ("", "[b]", "[b][1]", "[1][b]", "[b[1]]")]
    paths = [path for path in steps if isinstance(path, ast.LocationPath)]
    assert [has_positions(path.steps[0]) for path in paths] == [False, False, True, True, False]


def test_only_the_own_context_counts() -> None:
    assert not counts(parse("a[position() = last()]"))
    assert not counts(parse("3"))
    assert counts(parse("concat('x', -last() | b)"))


@pytest.mark.parametrize("expr", [ast.Variable("x"), ast.FunctionCall("foo"), parse("p:foo()")])
def test_the_type_of_an_expression_that_the_check_rejects_is_nodes(expr: ast.Expr) -> None:
    assert type_of(expr) is Type.NODES
