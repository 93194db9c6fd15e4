"""The path automaton: what outputs need of each element, and which elements are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

import extract
from extract.chunktool.automaton.automaton import Automaton, StateInfo
from extract.chunktool.automaton.outputs import Output, chunk_outputs, projection_output
from extract.errors import SchemeError
from extract.preptool.prepare import prepare
from extract.schema.model import (
    Attribute,
    Declaration,
    Schema,
    Wildcard,
    local_of,
    namespace_of,
)
from extract.schema.places import Place
from extract.scheme.model import Need, Scheme, Want
from tests.support.chunking import check_scanner
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.schemas import schema as random_schema
from tests.support.generate.walk import bindings
from tests.support.simple_scanner import SimpleScanner

LETTERS = {"a": "b d", "b": "b c", "c": "", "d": ""}


def schema_of(edges: Mapping[str, str], **wildcards: Wildcard) -> Schema:
    """A schema from the names of each element's children; the first is the root."""
    keys = {name: key for key, name in enumerate(edges)}
    declarations = tuple(
        Declaration(
            keys[name],
            name,
            children=tuple(keys[child] for child in children.split()),
            wildcards=(wildcards[name],) if name in wildcards else (),
        )
        for name, children in edges.items()
    )
    return Schema("memory", "dtd", declarations, roots=(0,))


def scheme_of(schema: Schema, *queries: str, **namespaces: str) -> Scheme:
    """A scheme for queries over a schema, in one chunk."""
    texts = {str(number): query for number, query in enumerate(queries)}
    return prepare(schema, extract.Subscriptions.of(texts, namespaces), 1)


def keeping(*wants: str) -> Output:
    """An output from wants as text, such as ``/a/b subtree``."""
    pairs = [want.split() for want in wants]
    needs = {"node": Need.NODE, "children": Need.CHILDREN, "string": Need.STRING}
    found = tuple(Want(path, needs.get(need, Need.SUBTREE)) for path, need in pairs)
    return Output("test", found, False)


def automaton_of(*outputs: Output, originals: str = "/", **options: bool | int) -> Automaton:
    """An automaton over `LETTERS`."""
    scheme = replace(scheme_of(schema_of(LETTERS)), originals=tuple(originals.split()))
    return Automaton(scheme, outputs, **options)  # type: ignore[arg-type]


def at(automaton: Automaton, path: str) -> int:
    """The state of an element by its path of names, without namespaces."""
    state = automaton.START
    for name in path.split("/")[1:]:
        state = automaton.step(state, automaton.symbol("", name))
    return state


def info(automaton: Automaton, path: str) -> StateInfo:
    return automaton.info(at(automaton, path))


# -- what is kept


def test_a_subtree_is_reported_once_at_its_root() -> None:
    automaton = automaton_of(keeping("/a/b subtree", "/a/b/b node"))
    assert info(automaton, "/a/b").subtree == (0,)
    assert info(automaton, "/a/b/b") == StateInfo((), (), (), inside=True, skip=False)


def test_nothing_is_reported_inside_a_subtree_that_an_output_has() -> None:
    wants = (
        "/a/b subtree",
        "/a/b children",
        "//b subtree",
        "//b children",
        "//c node",
        "//c string",
    )
    automaton = automaton_of(keeping(*wants))
    assert info(automaton, "/a/b") == StateInfo((0,), (), (), inside=True, skip=False)
    inside = StateInfo((), (), (), inside=True, skip=False)
    assert info(automaton, "/a/b/b") == info(automaton, "/a/b/c") == inside
    assert at(automaton, "/a/b/b") == at(automaton, "/a/b/b/b/b")  # the wants are forgotten


def test_nothing_is_reported_inside_a_subtree_even_if_another_output_wants_the_same() -> None:
    automaton = automaton_of(
        keeping("/a/b subtree", "/a/b/b children", "/a/b/c subtree", "//c node"),
        keeping("/a/b/b children", "/a/b/c subtree", "//c node"),
    )
    assert info(automaton, "/a/b/b")[:3] == ((), (1,), (1,))
    assert info(automaton, "/a/b/c")[:3] == ((1,), (), ())
    assert info(automaton, "/a/b/b/c")[:3] == ((), (1,), ())


def test_a_string_is_kept_as_a_subtree() -> None:
    assert info(automaton_of(keeping("/a/b string")), "/a/b").subtree == (0,)


def test_the_root_is_in_every_output() -> None:
    automaton = automaton_of(keeping("/a/b subtree"), keeping(), keeping("/a subtree"))
    assert info(automaton, "/a")[:2] == ((2,), (0, 1))


def test_a_node_is_its_tags_and_children_are_tags_with_the_texts_between() -> None:
    automaton = automaton_of(keeping("/a/b node"), keeping("/a children"))
    assert info(automaton, "/a") == StateInfo((), (0, 1), (1,), inside=False, skip=False)
    assert info(automaton, "/a/b")[:3] == ((), (0, 1), ())
    assert info(automaton, "/a/d")[:3] == ((), (1,), ())
    assert info(automaton, "/a/b/b")[:3] == ((), (), ())


def test_a_subtree_of_one_output_does_not_end_another_output() -> None:
    automaton = automaton_of(keeping("/a/b subtree"), keeping("/a/b/c subtree", "/a/b/b node"))
    assert info(automaton, "/a/b/c")[:2] == ((1,), ())
    assert info(automaton, "/a/b/b")[:2] == ((), (1,))


@pytest.mark.parametrize(
    ("wants", "path", "kept"),
    [
        ("/a/descendant::c", "/a/b/b/c", True),
        ("/a//c", "/a/b/b/c", True),
        ("//c", "/a/b/b/c", True),
        ("/a/*/c", "/a/b/c", True),
        ("/a/*/c", "/a/b/b/c", False),
        ("/descendant::a", "/a", True),
        ("/descendant-or-self::a", "/a", True),
        ("/descendant-or-self::*/d", "/a/d", True),
        ("/a/b/descendant-or-self::b/c", "/a/b/c", True),
        ("/a/b/descendant-or-self::*/descendant-or-self::b", "/a/b", True),
        ("/a/b/descendant-or-self::c", "/a/b", False),
        ("/a/b/descendant::b", "/a/b", False),
        ("/a/b/descendant::b", "/a/b/b/b", True),
        ("/a/descendant::b/descendant::b", "/a/b", False),
        ("/a/descendant::b/descendant::b", "/a/b/b", True),
    ],
)
def test_axes(wants: str, path: str, kept: bool) -> None:
    automaton = automaton_of(keeping("/a node", f"{wants} node"))
    found = info(automaton, path)
    assert (found.tag == (0,)) is (kept or path == "/a")


def test_the_document_node() -> None:
    outputs = [keeping(f"/ {need}") for need in ("children", "subtree", "string", "node")]
    automaton = automaton_of(*outputs, Output("whole", (), True))
    start = automaton.info(automaton.START)
    assert (start.subtree, start.content, start.inside) == ((4,), (0, 1), True)
    assert info(automaton, "/a")[:3] == ((1, 2), (0, 3), ())


# -- names


def test_names_that_nothing_asks_for_share_a_symbol() -> None:
    automaton = automaton_of(keeping("/a/b node"))
    assert automaton.symbol("", "z") == automaton.symbol("urn:x", "b") == automaton.symbol("u", "")
    assert automaton.symbol("", "z") != automaton.symbol("", "b")
    assert max(automaton.symbol("", name) for name in LETTERS) < automaton.symbols


def test_namespaces_are_told_apart_where_something_does() -> None:
    wildcard = Wildcard(frozenset(["urn:no", ""]), True, frozenset(["{urn:yes}not"]))
    schema = schema_of({"a": ""}, a=wildcard)
    scheme = replace(scheme_of(schema), namespaces={"p": "urn:p"})
    automaton = Automaton(scheme, [keeping("/a/p:* node", "/a/*/p:x node")])
    root = at(automaton, "/a")
    steps = {
        name: automaton.step(root, automaton.symbol(*name))
        for name in [
            ("urn:p", "z"),
            ("urn:p", "x"),
            ("urn:yes", "z"),
            ("urn:yes", "not"),
            ("urn:no", "z"),
            ("", "z"),
        ]
    }
    illegal = [name for name, state in steps.items() if state == automaton.ILLEGAL]
    assert illegal == [("urn:yes", "not"), ("urn:no", "z"), ("", "z")]
    assert automaton.info(steps["urn:p", "z"]).tag == (0,)
    assert automaton.info(steps["urn:p", "x"]).tag == (0,)
    assert automaton.info(steps["urn:yes", "z"]).tag == ()
    below = automaton.step(steps["urn:yes", "z"], automaton.symbol("urn:p", "x"))
    assert automaton.info(below).tag == (0,)


def test_attributes() -> None:
    schema = Schema(
        "memory",
        "xsd",
        (
            Declaration(
                0,
                "a",
                attributes=(Attribute("k"),),
                attribute_wildcards=(Wildcard(frozenset(["urn:x"]), False),),
            ),
        ),
        roots=(0,),
    )
    automaton = Automaton(scheme_of(schema), [keeping()])
    root = at(automaton, "/a")
    names = [("", "k"), ("", "z"), ("urn:x", "z"), ("urn:y", "k")]
    allowed = [automaton.allows(root, automaton.attribute_symbol(*name)) for name in names]
    assert allowed == [True, False, True, False]


@pytest.mark.parametrize("path", ["a/b", "/a/parent::b", "/a/b[c]", "/a/", "/a/@k", "/a/text()"])
def test_what_is_no_pattern_is_rejected(path: str) -> None:
    with pytest.raises(SchemeError, match="is not a path"):
        automaton_of(keeping(f"{path} node"))


def test_a_prefix_that_nothing_binds_is_rejected() -> None:
    with pytest.raises(SchemeError, match="nothing says which namespace q: is"):
        automaton_of(keeping("/q:a node"))


# -- edges and skipping


def test_an_edge_that_the_schema_does_not_have_is_illegal() -> None:
    automaton = automaton_of(keeping("/a/b node"))
    assert at(automaton, "/b") == at(automaton, "/z") == automaton.ILLEGAL
    assert at(automaton, "/a/c") == at(automaton, "/a/d/b") == automaton.ILLEGAL


def test_dead_by_schema_is_not_dead() -> None:
    # TRAPS 8: the schema says that d has no b, but the document might.
    assert not info(automaton_of(keeping("/a/b subtree")), "/a/d").skip


def test_what_no_query_as_written_looks_at_is_skipped() -> None:
    automaton = automaton_of(keeping("/a/b/c subtree"), originals="/a/b/c")
    assert info(automaton, "/a/d").skip
    assert info(automaton, "/a/b/b").skip
    assert not info(automaton, "/a").skip
    assert not info(automaton, "/a/b").skip
    assert not info(automaton, "/a/b/c").skip  # it is kept


def test_what_queries_as_written_look_at_is_not_skipped() -> None:
    automaton = automaton_of(keeping("/a/b node"), originals="/a/b")
    assert not info(automaton, "/a/b").skip
    assert not info(automaton, "/a/b/b/c").skip


def test_what_is_wanted_is_not_skipped() -> None:
    automaton = automaton_of(
        keeping("/a/d children", "/a/b/b/c node", "/a/b/b/descendant::c node"), originals="/a/a"
    )
    assert not info(automaton, "/a/d").skip
    assert not info(automaton, "/a/b").skip
    assert not info(automaton, "/a/b/b/b").skip
    assert info(automaton, "/a/b/c").skip


def test_a_document_that_is_trusted_is_skipped_wherever_nothing_is_wanted() -> None:
    automaton = automaton_of(keeping("//c node", "/a/b/b/d node"), assume_valid=True)
    assert info(automaton, "/a/d").skip
    assert not info(automaton, "/a/b").skip
    assert info(automaton, "/a/b/c").skip


def test_below_a_lax_wildcard_nothing_is_illegal_and_only_wants_count() -> None:
    scheme = scheme_of(schema_of({"a": "b", "b": ""}, a=Wildcard()), "//z")
    automaton = Automaton(scheme, [keeping("/a/x/y node")])
    assert not info(automaton, "/a/x").skip
    assert info(automaton, "/a/x/y").skip
    assert info(automaton, "/a/x/y/z/z").skip
    assert info(automaton, "/a/b").skip  # a wildcard that admits b may have any b


def test_beside_a_wildcard_edges_are_checked() -> None:
    other = Wildcard(frozenset(["urn:x"]), False)
    scheme = scheme_of(schema_of({"a": "b", "b": "c", "c": ""}, a=other), "//z")
    automaton = Automaton(scheme, [keeping("/a/b/c node")])
    assert not info(automaton, "/a/b/c").skip
    assert at(automaton, "/a/b/b") == at(automaton, "/a/c") == automaton.ILLEGAL


# -- states


def test_states_are_not_paths() -> None:
    automaton = automaton_of(keeping("/a/b/b/c node", "/a/descendant::d node"))
    rng = Random(1)
    for _ in range(200):
        at(automaton, "/a" + "/b" * rng.randrange(1, 50) + "/c")
    assert automaton.states < 15


def test_too_many_states() -> None:
    automaton = automaton_of(keeping("/a/b/b/b/b/c node"), max_states=4)
    assert at(automaton, "/a/b/b") == 3
    assert at(automaton, "/a/b/b/b") == automaton.FULL
    assert at(automaton, "/a/b") == 2
    assert at(automaton, "/a/z") == automaton.ILLEGAL


def test_tables_have_every_state_and_step() -> None:
    outputs = [keeping("/a/b/c subtree"), keeping("/ children", "/a/d children"), keeping()]
    automaton = automaton_of(*outputs, originals="/a/b")
    for path in ("/a/b/c", "/a/d", "/a/z", "/a/b/b"):
        at(automaton, path)
    tables = automaton.tables()
    assert len(tables.step_at) == automaton.states + 1
    for state in range(automaton.states):
        found = StateInfo(
            tuple(tables.subtree[slice(*tables.subtree_at[state : state + 2])].tolist()),
            tuple(tables.tag[slice(*tables.tag_at[state : state + 2])].tolist()),
            tuple(tables.content[slice(*tables.content_at[state : state + 2])].tolist()),
            bool(tables.inside[state]),
            bool(tables.skip[state]),
        )
        assert found == automaton.info(state)
        steps = slice(*tables.step_at[state : state + 2])
        for symbol, target in zip(tables.symbol[steps], tables.target[steps], strict=True):
            assert automaton.step(state, int(symbol)) == target
    assert len(tables.symbol) == 6
    assert tables.target.min() == automaton.ILLEGAL


# -- outputs


def test_outputs_of_a_scheme() -> None:
    schema = schema_of(LETTERS)
    scheme = scheme_of(schema, "/a/b/c", "/a/b[c]", "/a[d]/b/b/c", "count(//d)", "id('x')")
    *chunks, document = chunk_outputs(scheme)
    assert [output.id for output in chunks] == ["1", "potpourri"]
    assert chunks[0].wants == (Want("/a/d", Need.NODE), Want("/a/b", Need.SUBTREE))
    assert document == Output("document", (), True)
    assert projection_output(scheme).whole


def test_the_projection_has_each_path_once() -> None:
    scheme = scheme_of(schema_of(LETTERS), "/a/b/c", "/a[b]/d", "string(/a/d)")
    output = projection_output(scheme)
    assert not output.whole
    assert len({want.path for want in output.wants}) == len(output.wants)
    assert Want("/a/d", Need.SUBTREE) in output.wants


# -- against the projector


class Patterns:
    """Random patterns over a schema that probably select something."""

    def __init__(self, rng: Random, schema: Schema, namespaces: Mapping[str, str]) -> None:
        self._rng = rng
        self._document = schema.places.document
        self._prefixes = {uri: f"{prefix}:" for prefix, uri in namespaces.items()}

    def plain(self) -> tuple[str, Place]:
        """One in child steps by name, and where it leads."""
        place, path = self._document, ""
        for _ in range(between(self._rng, 0, 3)):
            if place.children:
                name = pick(self._rng, sorted(place.children))
                place, path = place.children[name], f"{path}/{self._written(name)}"
        return path or "/", place

    def below(self, path: str, place: Place) -> str:
        """One of any kind that begins with a plain one."""
        path = path.removesuffix("/")
        for _ in range(between(self._rng, 0, 4)):
            if place.children:
                name = pick(self._rng, sorted(place.children))
                place, written = place.children[name], self._written(name)
                any_name = f"{written.rpartition(':')[0]}:*" if ":" in written else "*"
                axis = pick(self._rng, ["/"] * 5 + ["/descendant::", "/descendant-or-self::", "//"])
                path += axis + pick(self._rng, [written] * 6 + ["*", any_name, "zz"])
        return path or "/"

    def _written(self, name: str) -> str:
        return self._prefixes.get(namespace_of(name), "") + local_of(name)

    def output(self, origins: Sequence[tuple[str, Place]]) -> Output:
        """An output with wants of all kinds in these places."""
        paths = [self.below(*pick(self._rng, origins)) for _ in range(between(self._rng, 1, 4))]
        wants = [Want(path, pick(self._rng, list(Need))) for path in dict.fromkeys(paths)]
        return Output("test", tuple(wants), chance(self._rng, 3))


def round_of(rng: Random) -> Counter[str]:
    """Random wants over a random schema: the automaton against projector and conformance."""
    schema = random_schema(rng).load()
    namespaces = bindings(schema)
    patterns = Patterns(rng, schema, namespaces)
    # Queries look as written at least where their normal forms look.
    originals = [patterns.plain() for _ in range(between(rng, 1, 3))]
    outputs = [patterns.output(originals) for _ in range(between(rng, 1, 3))]
    scheme = replace(
        scheme_of(schema), namespaces=namespaces, originals=tuple(path for path, _ in originals)
    )
    documents = Documents(schema)
    words: Counter[str] = Counter()
    for _ in range(3):
        options = Options(size=between(rng, 3, 40), strict=chance(rng, 50), doctype=False)
        valid = chance(rng, 70)
        document = documents.document(rng, options) if valid else documents.wrong(rng, options)
        trust = valid and chance(rng, 50)
        try:
            word = check_scanner(SimpleScanner, scheme, outputs, document, rng, trust, sizes=())
        except AssertionError as error:
            error.add_note(f"{document.decode()}\n{outputs}\n{scheme.originals}")
            raise
        words[word if valid or word != "same" else "skipped"] += 1
    return words


def test_what_is_kept_is_what_the_projector_keeps() -> None:
    words = sum((round_of(Random(seed)) for seed in range(60)), Counter[str]())
    assert words["same"] > 100
    assert words["nonconforming"] > 20
    assert words["skipped"] > 0


@pytest.mark.slow
def test_what_is_kept_is_what_the_projector_keeps_at_length() -> None:
    words = sum((round_of(Random(seed)) for seed in range(1_000, 6_000)), Counter[str]())
    print(f"no difference: {dict(words)}")
