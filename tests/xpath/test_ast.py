"""Nodes are values: equal by content, hashable, picklable, unchangeable, and cheap to share."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from extract.xpath import ast, traverse
from extract.xpath.node import Node
from extract.xpath.parser import parse
from tests.fixtures.xpath.samples import Trees, randoms
from tests.support.generate.draw import between

ONE_OF_EACH = (
    "/a/p:b[1]//@*",
    "(a | b)[2]/text()",
    "a | b",
    "a + 1",
    "-a",
    "concat('x', \"it's\")",
    "'x'",
    "1.50",
    "$p:x",
    "processing-instruction('t')",
)


@pytest.mark.parametrize("xpath", ONE_OF_EACH)
def test_equal_text_makes_equal_nodes(xpath: str) -> None:
    one, other = parse(xpath), parse(f" {xpath} ")
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    assert str(one) == xpath


def test_different_nodes_differ() -> None:
    nodes = [
        parse(xpath)
        for xpath in (*ONE_OF_EACH, "1.5", "$x", "a|c", "a - 1", "a", "/a", "@a", "'1'")
    ]
    assert len(set(nodes)) == len(nodes)
    assert ast.NameTest("x") != ast.StringLiteral("x")
    assert ast.StringLiteral("1") != ast.Number("1")
    assert ast.NameTest("a", "b") != ast.NameTest("b", "a")
    assert parse("a") != "a"


@given(randoms)
def test_nodes_are_values(rng: Random) -> None:
    depth = between(rng, 1, 4)
    state = rng.getstate()
    one = Trees(rng).expr(depth)
    rng.setstate(state)
    other = Trees(rng).expr(depth)
    assert one is not other
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) is str(one)


def test_texts_made_in_c_are_those_of_python(repo_root: Path) -> None:
    code = (
        "from random import Random\n"
        "from extract.xpath import traverse\n"
        "from tests.fixtures.xpath.samples import Trees\n"
        "waiting = [Trees(Random(n)).expr(1 + n % 4) for n in range(500)]\n"
        "while waiting:\n"
        "    print(one := waiting.pop())\n"
        "    waiting += traverse.children(one)\n"
    )
    texts = []
    for switch in ("", "off"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "EXTRACT_SUBSCRIPTIONS": switch, "PYTHONIOENCODING": "utf-8"},
            cwd=repo_root,
            capture_output=True,
            check=True,
            timeout=60,
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert texts[0].count(b"\n") > 1000


@given(randoms)
def test_nodes_survive_pickling(rng: Random) -> None:
    expr = Trees(rng).expr(4)
    text, code = str(expr), hash(expr)
    copy = pickle.loads(pickle.dumps(expr))
    assert copy == expr
    assert (str(copy), hash(copy)) == (text, code)


def test_hashes_do_not_travel_between_processes(repo_root: Path) -> None:
    """Hashes of strings differ from process to process; a node must not bring its own along."""
    expr = parse("//a[@b = 'x']/c | id('y')")
    hash(expr), str(expr)
    code = (
        "import pickle, sys\n"
        "from extract.xpath.parser import parse\n"
        "expr = pickle.load(sys.stdin.buffer)\n"
        "assert {parse(str(expr)): 1}[expr] == 1\n"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(expr),
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=repo_root,
            check=True,
        )


@pytest.mark.parametrize("node", [parse("a"), ast.HERE, ast.ANY_NAME, ast.ANY_NODE, parse("'x'")])
def test_nodes_cannot_be_changed(node: Node) -> None:
    hash(node), str(node)
    field = node.__slots__[0]
    with pytest.raises(FrozenInstanceError):
        setattr(node, field, "x")
    with pytest.raises((AttributeError, TypeError)):
        node.note = "x"  # type: ignore[attr-defined]


def test_a_changed_copy_forgets_the_text_and_hash_of_the_original() -> None:
    path = ast.make_path(True, (ast.make_step("child", ast.name_test("a")),))
    assert str(path) == "/a"
    relative = replace(path, absolute=False)
    assert str(relative) == "a"
    assert relative == parse("a")
    assert str(path.steps[0].where(parse("b"), parse("1"))) == "a[b][1]"


def test_constructors_share() -> None:
    test = ast.name_test("a", "p")
    assert ast.name_test("a", "p") is test
    step = ast.make_step("child", test, (parse("1"),))
    assert ast.make_step("child", ast.NameTest("a", "p"), (ast.Number("1"),)) is step
    assert ast.make_path(True, (step,)) is parse("/p:a[1]")
    assert parse("//a[b]/c") is parse("/descendant-or-self::node()/child::a[ b ]/c")


def test_abbreviations_are_shared_constants() -> None:
    path = parse("./..//node()")
    assert isinstance(path, ast.LocationPath)
    here, up, depth, child = path.steps
    assert here is ast.HERE
    assert up is ast.UP
    assert depth is ast.ANY_DEPTH
    assert child.test is ast.ANY_NODE


def test_a_union_is_flat() -> None:
    a, b, c = parse("a"), parse("b"), parse("c")
    assert ast.union((a,)) is a
    assert ast.union((ast.union((a, b)), c)) == ast.Union((a, b, c))
    assert ast.union((a, ast.union((b, c)))) == parse("a | b | c")


# -- Walking and changing


def test_children_are_the_direct_parts() -> None:
    def parts(xpath: str) -> list[str]:
        return [str(child) for child in traverse.children(parse(xpath))]

    assert parts("/a[b[c]]/d[1][2]") == ["b[c]", "1", "2"]
    assert parts("(a)[b]/c[d]") == ["a", "b", "d"]
    assert parts("a | b") == ["a", "b"]
    assert parts("a = 1") == ["a", "1"]
    assert parts("-a") == ["a"]
    assert parts("f(a, 1)") == ["a", "1"]
    assert parts("'x'") == parts("1") == parts("$x") == parts("/") == []


@given(randoms)
def test_rebuilding_without_a_change_gives_the_same_object(rng: Random) -> None:
    expr = Trees(rng).expr(4)
    assert traverse.rebuild(expr, lambda e: e) is expr


@given(randoms)
def test_rebuilding_changes_exactly_the_children(rng: Random) -> None:
    expr = Trees(rng).expr(4)
    seen: list[ast.Expr] = []

    def change(child: ast.Expr) -> ast.Expr:
        seen.append(child)
        return ast.Number(str(len(seen)))

    changed = traverse.rebuild(expr, change)
    assert seen == list(traverse.children(expr))
    if not isinstance(expr, ast.Union):  # which would merge with what is put in
        numbers = [ast.Number(str(i + 1)) for i in range(len(seen))]
        assert list(traverse.children(changed)) == numbers
    assert (changed is expr) == (not seen)


def test_equal_but_not_identical_children_count_as_changed() -> None:
    expr = parse("f(1)")
    copy = traverse.rebuild(expr, lambda _: ast.Number("1"))
    assert copy == expr
    assert copy is not expr


class Seen:
    """Notes nodes that are tested; none passes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, expr: object) -> bool:
        self.texts.append(str(expr))
        return False


@given(randoms)
def test_what_is_walked_in_c_is_the_same_in_python(rng: Random) -> None:
    expr = Trees(rng).expr(4)
    assert list(traverse.children(expr)) == list(traverse.children_in_python(expr))

    def negated(one: ast.Expr) -> ast.Expr:
        return ast.Negate(one) if rng.randrange(2) else one

    for walks in (
        (traverse.rebuild, traverse.rebuild_in_python),
        (
            lambda expr, change: traverse.substitute(expr, ast.Number, change),
            lambda expr, change: traverse.substitute_in_python(expr, ast.Number, change),
        ),
    ):
        state = rng.getstate()
        one = walks[0](expr, negated)
        rng.setstate(state)
        other = walks[1](expr, negated)
        assert one == other
        assert (one is expr) == (other is expr)
    for kind in (ast.Number, ast.FunctionCall, ast.LocationPath):
        in_c, in_python = Seen(), Seen()
        assert not traverse.any_in(expr, kind, in_c.note)
        assert not traverse.any_in_python(expr, kind, in_python.note)
        assert in_c.texts == in_python.texts
        assert bool(in_c.texts) == traverse.any_in(expr, kind, lambda _: True)


def test_a_change_inside_of_a_node_is_left_to_whoever_changes_it() -> None:
    expr = parse("f(g(h()), a[g(1)])")
    seen: list[str] = []

    def change(call: ast.FunctionCall) -> ast.Expr:
        seen.append(str(call))
        return call

    for walk in (traverse.substitute, traverse.substitute_in_python):
        assert walk(expr, ast.FunctionCall, change) is expr
        assert walk(parse("-g(1) + a[h()]"), ast.FunctionCall, change) == parse("-g(1) + a[h()]")
    assert seen == ["f(g(h()), a[g(1)])", "g(1)", "h()"] * 2


# -- Imports


def test_the_room_needs_no_lxml(repo_root: Path) -> None:
    code = (
        "import importlib, pkgutil, sys, types\n"
        "room = types.ModuleType('extract')\n"
        "room.__path__ = ['extract']\n"  # what other rooms import is not this room's matter
        "sys.modules['extract'] = room\n"
        "import extract.xpath\n"
        "for module in pkgutil.iter_modules(extract.xpath.__path__):\n"
        "    importlib.import_module(f'extract.xpath.{module.name}')\n"
        "heavy = {'lxml', 'xmlschema', 'elementpath', 'networkx', 'click'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=repo_root, check=True)
