"""Templates: which queries share one, what their constants are, and that nothing else is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from lxml import etree

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.subscriptions import Subscriptions
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.records import fields_of
from extract.subscriptions.templates import Member, Template, Templates, template_counts
from extract.subscriptions.wording_index import NO_WORDING
from extract.subscriptions.wordings import Resolution, Wordings
from extract.xpath import ast
from extract.xpath.check import parse_checked
from extract.xpath.functions import EXSLT_REGEXP
from extract.xpath.numbers import to_number
from extract.xpath.parameters import QueryShape, parameter_types, shape_of, with_constants
from extract.xpath.parser import parse
from extract.xpath.traverse import prefixes_in, rebuild
from tests.fixtures.xpath.samples import NAMESPACES, Spelling, Trees, documents, randoms, scrambled
from tests.support.generate import oracle
from tests.support.generate.draw import between, chance, pick
from tests.support.xpath_corpus import CORPUS, generated, respelled

DOCUMENTS = documents()


def alike(*xpaths: str, namespaces: Mapping[str, str] | None = None) -> bool:
    """Whether the queries share one template."""
    templates = Templates()
    return len({templates.add(xpath, namespaces).template for xpath in xpaths}) == 1


def constants(xpath: str, namespaces: Mapping[str, str] | None = None) -> tuple[str, ...]:
    return Templates().add(xpath, namespaces).constants


# -- What is a parameter


@pytest.mark.parametrize(
    ("xpath", "expected"),
    [
        ("/stock[symbol = 'YHOO' and price > 50.5]", ("YHOO", "50.5")),
        ("a[2-b=1]", ("1",)),
        ("a[b=-5]", ("5",)),
        ("a[b=--5]", ("5",)),
        ("a[5 < @n]", ("5",)),
        ("a[. = 'x']", ("x",)),
        ("a[string() = 'x']", ("x",)),
        ("a[count(b) = '2.0']", ("2.0",)),
        ("a[contains(b, 1e3)]", ("1e3",)),
        ("a[contains('abc', b)]", ("abc",)),
        ("a[starts-with(b, 'x')][not(c != 'y')]", ("x", "y")),
        ("a[substring-after(b, '@') = 'x.org']", ("@", "x.org")),
        ("a=5=5", ("5",)),
        ("a[(b='1')='no']", ("1",)),
        ("a[position() = 2 or b = 3]", ("3",)),
        ("a[b[c = 4]][5]", ("4",)),
        ("count(a[b = 1]) > 2", ("1", "2")),
        ("a[count(b[c = 1])]", ("1",)),
        ("(a[b = 'x'])[1]", ("x",)),
        ("id('i')/a[b = 'x']", ("x",)),
        ("a[@n mod 2 = 1]", ("1",)),
        ("a[b * 1.1 > 50]", ("50",)),
        ("a[substring(b, 2, 3) = 'xyz']", ("xyz",)),
    ],
)
def test_parameters(xpath: str, expected: tuple[str, ...]) -> None:
    assert constants(xpath) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a[3]", "a[4]"),
        ("a[position() = 3]", "a[position() = 4]"),
        ("a[position()='2']", "a[position()='3']"),
        ("a[last() - 1]", "a[last() - 2]"),
        ("a[position() mod 2 = 1]", "a[position() mod 2 = 0]"),
        ("a[contains(position(), '1')]", "a[contains(position(), '2')]"),
        ("a[(b = 3) + 1]", "a[(b = 4) + 1]"),
        ("r[string-length('a')]", "r[string-length('ab')]"),
        ("r[number('2')]", "r[number('3')]"),
        ("r['x']", "r['']"),
        ("r[not('x')]", "r[not('')]"),
        ("r[a or 'x']", "r[a or '']"),
        ("r[1 = 2]", "r[1 = 1]"),
        ("r[contains('ab', 'b')]", "r[contains('ab', 'c')]"),
        ("r[1 + 1 = 2]", "r[1 + 1 = 3]"),
        ("r[true() = 'x']", "r[true() = '']"),
        ("r[(a = 1) = 'no']", "r[(a = 1) = '']"),
        ("id('x')", "id('y')"),
        ("r[id(concat('x', a[b = 'x']))]", "r[id(concat('x', a[b = 'y']))]"),
        ("r[lang('en')]", "r[lang('de')]"),
        ("processing-instruction('p')", "processing-instruction('q')"),
        ("a[b + 1 = 2]", "a[b + 2 = 2]"),
        ("concat(a, 'x')", "concat(a, 'y')"),
        ("'x'", "'y'"),
        ("re:test(a, 'x')", "re:test(a, 'y')"),
        ("a[b = '1.0']", "a[b = 1.0]"),
        ("a[b = 5]", "a[b = -5]"),
        ("a[3]", "a[3.0]"),
        ("a-1 = 2", "a -1 = 2"),
        ("a[b = 1]", "a[b != 1]"),
        ("a[b = 1]", "a[b = 1][1]"),
    ],
)
def test_literals_that_are_shape_make_other_templates(one: str, other: str) -> None:
    namespaces = {"re": EXSLT_REGEXP}
    assert not alike(one, other, namespaces=namespaces)
    assert alike(one, one, namespaces=namespaces)


@pytest.mark.parametrize(
    "xpaths",
    [
        ("/a[@b = 'x']//c", '/child::a[attribute::b="y"]/descendant-or-self::node()/child::c'),
        ("a[./b = 1]/..", "a [ self::node() / b = 2.5 ] / parent::node()"),
        ("r[2-a=1]", "r[2 - a = 7]"),
        ("1and 1=a", "1 and 2 = a"),
        ("a['it' = b]", 'a["it\'s" = b]', "a['say \"it\"' = b]", 'a["" = b]'),
        ("a[(b = 1)]", "(a[((b)) = (2)])"),
        ("a[b=1or c=2]", "a[b = 1 or c = 2]", "a[b=3 orc=4]"),
    ],
)
def test_spelling_does_not_matter(xpaths: tuple[str, ...]) -> None:
    assert alike(*xpaths)


# -- Bindings and versions


def test_bindings_of_the_prefixes_in_use_belong_to_the_template(tokens: str) -> None:
    templates = Templates()
    one, other = {"p": "urn:1", "q": "urn:q"}, {"p": "urn:2", "q": "urn:q"}
    first = templates.add("//p:a[b = 'x:y']", one)
    assert templates.add("//p:a[b = 'z']", other).template != first.template
    assert templates.add("//p:a[b = 'z']", {**one, "r": "urn:r"}).template == first.template
    assert templates[first.template].namespaces == (("p", "urn:1"),)
    unprefixed = templates.add("//a[b = 'p:a']", one)
    assert templates.add("//a[b = 'x']", other) == Member(unprefixed.template, ("x",))
    assert templates.add("//@xml:lang", one) == templates.add("//@xml:lang", {})
    functions = [{"re": EXSLT_REGEXP}, {"re": EXSLT_REGEXP, "x": "urn:x"}]
    assert len({templates.add("re:test(a, 'b')", bound) for bound in functions}) == 1


def test_a_prefix_that_is_not_bound_is_an_error_whatever_was_added_before(tokens: str) -> None:
    templates = Templates()
    templates.add("//p:a[b = 1]", {"p": "urn:1"})
    with pytest.raises(QuerySyntaxError, match="the prefix 'p' is not bound"):
        templates.add("//p:a[b = 1]", {"q": "urn:1"})


def test_later_versions_have_templates_without_parameters(tokens: str) -> None:
    templates = Templates()
    later = templates.add("//a[b = 'x']", version="2.0")
    assert later.constants == ()
    assert templates.add(" //a[b = 'x'] ", version="2.0") == later
    assert templates.add("//a[b = 'x']", version="3.1").template != later.template
    assert templates.add("//a[b = 'x']").template != later.template
    assert templates[later.template].query(()) == "//a[b = 'x']"
    with pytest.raises(ValueError, match="has no expression"):
        templates[later.template].expression()
    added = templates.add_all(["//a[b = 'x']", "//a[", "//a[b = 'y']"], version="2.0")
    assert added.templates.tolist() == [later.template, -1, len(templates) - 1]
    assert list(added.errors) == [1]


# -- Every query, looked up or parsed, has the template and the constants of its own parse


class Reference:
    """Parses every query."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits
        self.numbers: dict[Template, int] = {}

    def add(self, xpath: str, namespaces: Mapping[str, str]) -> Member:
        shape = shape_of(parse_checked(xpath, namespaces, self.limits))
        used = prefixes_in(shape.expression) - {"xml"}
        bound = tuple(sorted((prefix, namespaces[prefix]) for prefix in used))
        template = Template(str(shape.expression), parameter_types(shape.expression), bound)
        values = zip(shape.roles, shape.values, strict=True)
        number = self.numbers.setdefault(template, len(self.numbers))
        return Member(number, tuple(value for role, value in values if role))


def outcome(adder: Templates | Reference, xpath: str, namespaces: Mapping[str, str]) -> object:
    try:
        return adder.add(xpath, namespaces)
    except QuerySyntaxError as error:
        return error.args


def compare(xpaths: Iterable[str], namespaces: Mapping[str, str]) -> int:
    """How many queries were not the first of their template."""
    templates, reference, shared = Templates(), Reference(), 0
    names, found = [], []
    for xpath in xpaths:
        known = len(reference.numbers)
        expected = outcome(reference, xpath, namespaces)
        assert outcome(templates, xpath, namespaces) == expected, xpath
        shared += isinstance(expected, Member) and len(reference.numbers) == known
        names.append(xpath)
        found.append(expected)
    assert list(templates) == list(reference.numbers)
    bulk = Templates()
    added = bulk.add_all(names, namespaces)
    for row, expected in enumerate(found):
        if isinstance(expected, Member):
            assert added.templates[row] == expected.template, names[row]
        else:
            assert (added.templates[row], added.errors[row].args) == (-1, expected), names[row]
    assert list(bulk) == list(templates)
    check_records(names, namespaces)
    return shared


def check_records(xpaths: list[str], namespaces: Mapping[str, str]) -> None:
    """Records have ids and constants, and the text of a query can be made of them again."""
    reference, texts = Reference(), list[str]()

    def resolve(shape: QueryShape, namespaces: Mapping[str, str]) -> Resolution:
        texts.append(str(shape.expression))
        return Resolution(len(texts) - 1, texts[-1])

    wordings = Wordings(resolve)
    ids = [f"q{i}" for i in range(len(xpaths))]
    (codes, ends, heap), errors, _ = wordings.read_all(
        TextColumn.of(xpaths), TextColumn.of(ids), namespaces
    )
    starts = [0, *ends.tolist()]
    for row, (xpath, name) in enumerate(zip(xpaths, ids, strict=True)):
        record = heap[starts[row] : starts[row + 1]]
        if row in errors:
            assert (codes[row], record) == (NO_WORDING, b"")
            continue
        found, *constants = fields_of(record)
        assert found == name
        assert tuple(constants) == reference.add(xpath, namespaces).constants
        template = wordings.template_of(int(codes[row]))
        assert wordings.written(int(codes[row]), texts[template], constants) == xpath


@given(randoms)
def test_looking_up_gives_what_parsing_gives(rng: Random) -> None:
    text = scrambled(rng, CORPUS)
    compare([text, *(respelled(rng, text) for _ in range(20))], NAMESPACES)


def test_looking_many_up_gives_what_parsing_gives(tokens: str) -> None:
    rng = Random(5)
    corpus = CORPUS + generated(rng, 500)
    texts = [respelled(rng, pick(rng, corpus)) for _ in range(6_000)]
    shared = compare(corpus + texts, NAMESPACES)
    print(f"{shared:,} queries share a template")
    assert shared > 1_000


def test_looking_real_queries_up_gives_what_parsing_gives(shared_data: Path, tokens: str) -> None:
    files = ("wordnet/queries.tsv", "eforms/queries.jsonl.gz", "ubl/rules.jsonl")
    for file in files:
        queries = list(Subscriptions.load(shared_data / file))[::7]
        bound = {prefix: uri for one in queries for prefix, uri in one.namespaces.items()}
        assert compare([one.xpath for one in queries], bound) > 0


def test_subscriptions_are_added_in_their_own_namespaces(tokens: str, tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    lines = [
        {"id": str(i), "xpath": f"//p:a[b = {i}]", "namespaces": {"p": f"urn:{i % 2}"}}
        for i in range(6)
    ]
    lines.insert(3, {"id": "bad", "xpath": "//p:a["})
    path.write_text("\n".join(map(json.dumps, lines)))
    subscriptions = Subscriptions.load(path)
    templates = Templates()
    added = templates.add_subscriptions(subscriptions)
    assert added.templates.tolist() == [0, 1, 0, -1, 1, 0, 1]
    assert list(added.errors) == [3]
    counts = template_counts(subscriptions)
    assert (counts.templates, counts.rejected) == (2, 1)
    assert counts.sizes.tolist() == [3, 3, 3, 0, 3, 3, 3]
    assert template_counts(Subscriptions.of([])).sizes.tolist() == []


# -- Constants put back, or bound as variables, give the query's own answer


def bind(template: Template, member: Member) -> dict[str, str | float]:
    """The constants of a member as variables of the template."""
    return {
        f"{kind}{place}": value if kind == "string" else to_number(value.encode())
        for place, (kind, value) in enumerate(
            zip(template.parameters, member.constants, strict=True), 1
        )
    }


STRINGS = ("x", "", "it's", 'say "x"', "1", "]", "&é\t")
NUMBERS = ("0", "1", "2.50", "1e1", "00.1", "2.")


def query_of(rng: Random) -> ast.Expr:
    """A random query; most have conditions with constants."""
    if chance(rng, 30):
        return Trees(rng).expr(between(rng, 1, 5))
    conditions = [condition(rng) for _ in range(between(rng, 1, 3))]
    step = ast.Step("child", ast.ANY_NAME, (ast.chain("and", conditions, conjunction),))
    return ast.LocationPath(True, (ast.ANY_DEPTH, step.where(*conditions[1:])))


def conjunction(left: ast.Expr, right: ast.Expr) -> ast.Expr:
    return ast.Binary("and", left, right)


def condition(rng: Random) -> ast.Expr:
    """What compares a value of the document with a constant, or seeks one in the other."""
    trees = Trees(rng)
    trees.in_predicate = True
    value = trees.nodes(1) if chance(rng, 60) else trees.expr(between(rng, 1, 2))
    constant: ast.Expr = ast.StringLiteral(pick(rng, STRINGS))
    if chance(rng, 50):
        constant = ast.Number(pick(rng, NUMBERS))
        constant = ast.Negate(constant) if chance(rng, 20) else constant
    sides = (value, constant) if chance(rng, 70) else (constant, value)
    if chance(rng, 30):
        return ast.FunctionCall(pick(rng, ("contains", "starts-with", "substring-after")), sides)
    return ast.Binary(pick(rng, ("=", "!=", "<", ">=")), *sides)


def check_answers(rng: Random) -> int:
    """A random query, spelled twice; how many constants it has."""
    expr = query_of(rng)
    templates = Templates()
    member = templates.add(Spelling(rng).of(expr), NAMESPACES)
    assert templates.add(Spelling(rng).of(expr), NAMESPACES) == member
    assert templates.add(str(expr), NAMESPACES) == member
    template = templates[member.template]
    assert template.expression() == shape_of(expr).expression
    assert with_constants(template.expression(), member.constants) == expr
    query = template.query(member.constants)
    assert parse(query) == expr
    variables = bind(template, member)
    bound = etree.XPath(template.text, namespaces=NAMESPACES)
    plain = etree.XPath(str(expr), namespaces=NAMESPACES)
    for tree in DOCUMENTS:
        expected = oracle.answer(tree, str(expr), NAMESPACES)
        assert oracle.answer(tree, query, NAMESPACES) == expected, query
        assert repr(bound(tree.tree, **variables)) == repr(plain(tree.tree)), query
    return len(member.constants)


@given(randoms)
def test_constants_put_back_give_the_same_answer(rng: Random) -> None:
    check_answers(rng)


def test_constants_of_many_queries_put_back_give_the_same_answer() -> None:
    rng = Random(1)
    counts = [check_answers(rng) for _ in range(1_000)]
    assert sum(map(bool, counts)) > 500


@given(randoms)
def test_queries_of_one_template_with_equal_constants_have_equal_answers(rng: Random) -> None:
    """Also where the constants are those of another member."""
    templates = Templates()
    expr = query_of(rng)
    template = templates[templates.add(str(expr), NAMESPACES).template]
    chosen = [pick(rng, STRINGS if kind == "string" else NUMBERS) for kind in template.parameters]
    query = template.query(chosen)
    spelled = Spelling(rng).of(parse(query))
    expected = Member(0, tuple(chosen))
    assert templates.add(query, NAMESPACES) == templates.add(spelled, NAMESPACES) == expected
    for tree in DOCUMENTS:
        answer = oracle.answer(tree, query, NAMESPACES)
        assert oracle.answer(tree, spelled, NAMESPACES) == answer


@given(randoms)
def test_any_other_difference_makes_another_template(rng: Random) -> None:
    expr = query_of(rng)
    changed = Change(rng).of(expr)
    one, other = shape_of(expr), shape_of(changed)
    same = without_parameters(one.expression) == without_parameters(other.expression)
    assert alike(Spelling(rng).of(expr), str(changed), namespaces=NAMESPACES) == same


def without_parameters(shape: ast.Expr) -> ast.Expr:
    """The expression with the value ``x`` or ``0`` for each parameter."""
    types = parameter_types(shape)
    return with_constants(shape, ["x" if kind == "string" else "0" for kind in types])


class Change:
    """Changes one place of an expression: a literal, an operator, a name, an axis."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.done = False

    def of(self, expr: ast.Expr) -> ast.Expr:
        expr = rebuild(expr, self.of)
        if self.done or not chance(self.rng, 40):
            return expr
        changed = self._changed(expr)
        self.done = changed is not expr
        return changed

    def _changed(self, expr: ast.Expr) -> ast.Expr:
        match expr:
            case ast.StringLiteral():
                return ast.StringLiteral("other")
            case ast.Number():
                return ast.Number("77")
            case ast.Binary(op="="):
                return replace(expr, op="!=")
            case ast.Binary(op="or"):
                return replace(expr, op="and")
            case ast.Negate():
                return ast.Negate(ast.Negate(expr.operand))
            case ast.LocationPath(steps=(first, *rest)):
                other = replace(first, test=ast.NameTest("other"))
                return replace(expr, steps=(other, *rest))
            case _:
                return expr


def test_limits_hold_for_every_member(tokens: str) -> None:
    limits = Limits(xpath_chars=15, constant_chars=20)
    templates, reference = Templates(limits), Reference(limits)
    outcomes = []
    for size in (1, 18, 19, 20, 21, 22, 23, 24, 25, 100):
        for char in "xé€":
            for xpath in (f"a[b = '{char * size}']", f"a[b = '{char}'{' ' * size}]"):
                outcomes.append(outcome(templates, xpath, {}))
                assert outcomes[-1] == outcome(reference, xpath, {}), xpath
    assert len(templates) == 1
    reasons = {one[0] for one in outcomes if isinstance(one, tuple) and isinstance(one[0], str)}
    assert len(reasons) == 2, "one for literals, one for the rest"
