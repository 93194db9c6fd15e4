"""A scheme: the same after saving and loading, bound to its schema, and its values."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random

import pytest

from extract import Schema, SchemeError, Subscriptions
from extract.preptool.prepare import prepare
from extract.schema.places import Places
from extract.scheme import Branch, Branches, Need, Scheme
from extract.scheme.spine import take_apart
from extract.xpath.ast import LocationPath
from extract.xpath.parser import parse
from tests.support.paths import SCHEMAS
from tests.support.saved_scheme import SCHEME, TEXT, load
from tests.support.schemes import GOLDEN, UNIVERSITY, random_scheme


def same_places(one: Places, other: Places) -> bool:
    """Whether two schemas allow the same edges."""
    return len(one.all) == len(other.all) and all(
        a.name == b.name
        and a.open == b.open
        and a.reach == b.reach
        and a.attributes == b.attributes
        and {n: c.index for n, c in a.children.items()}
        == {n: c.index for n, c in b.children.items()}
        for a, b in zip(one.all, other.all, strict=True)
    )


# -- Round trips


@pytest.mark.parametrize("seed", range(20))
def test_a_scheme_is_the_same_after_saving_and_loading(seed: int, tmp_path: Path) -> None:
    scheme = random_scheme(Random(seed))
    scheme.save(tmp_path / "one.json")
    loaded = Scheme.load(tmp_path / "one.json")
    assert loaded == scheme
    assert same_places(loaded.schema.places, scheme.schema.places)
    loaded.save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize(
    ("file", "root"),
    [(path.name, None) for path in sorted(SCHEMAS.glob("*.xsd"))]
    + [("book.dtd", "book"), ("stock.dtd", "quotes")],
)
def test_the_schema_inside_has_the_same_edges(file: str, root: str | None, tmp_path: Path) -> None:
    schema = Schema.load(SCHEMAS / file, root)
    prepare(schema, Subscriptions.of(["//*"]), 1).save(tmp_path / "scheme.json")
    loaded = Scheme.load(tmp_path / "scheme.json").schema
    assert same_places(loaded.places, schema.places)
    assert (loaded.source, loaded.kind, loaded.digest, loaded.roots, loaded.notes) == (
        schema.source,
        schema.kind,
        schema.digest,
        schema.roots,
        schema.notes,
    )
    assert loaded.prefixes == schema.prefixes
    assert [d.attributes for d in loaded.declarations] == [
        d.attributes for d in schema.declarations
    ]


def test_schemes_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(SCHEME)) == SCHEME


def test_strange_ids_and_queries_survive(tmp_path: Path) -> None:
    names = ['"', "\\", "é", "\u2028", "a\tb", "💥", "\x7f", ""]
    queries = {name: f"//name[. = '{index}{name}']" for index, name in enumerate(names)}
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), 1)
    scheme.save(tmp_path / "scheme.json")
    assert Scheme.load(tmp_path / "scheme.json") == scheme


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbf" + TEXT.encode()) == SCHEME


def test_a_file_without_uses_can_be_read(tmp_path: Path) -> None:
    raw = json.loads(TEXT)
    for chunk in (*raw["chunks"], raw["potpourri"]):
        del chunk["uses"]
    loaded = load(tmp_path, raw)
    assert [chunk.uses for chunk in loaded.every_chunk] == [()] * len(loaded.every_chunk)
    assert [chunk.filters for chunk in loaded.chunks] == [chunk.filters for chunk in SCHEME.chunks]


# -- The schema it was made for


def test_the_same_schema_is_accepted() -> None:
    SCHEME.check_schema(Schema.load(SCHEMAS / "university.dtd", root="db"))


def test_a_changed_schema_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "s.dtd"
    file.write_text("<!ELEMENT a (b*)><!ELEMENT b EMPTY>", encoding="utf-8")
    scheme = prepare(Schema.load(file), Subscriptions.of(["//b"]), 1)
    file.write_text("<!ELEMENT a (b*)><!ELEMENT b (a?)>", encoding="utf-8")
    with pytest.raises(SchemeError, match="has changed since the scheme was made") as caught:
        scheme.check_schema(Schema.load(file, root="a"))
    assert "extract prep" in caught.value.hint
    with pytest.raises(SchemeError, match=r"another schema, .*s\.dtd"):
        scheme.check_schema(UNIVERSITY)


def test_another_document_element_is_noticed() -> None:
    other = Schema.load(SCHEMAS / "university.dtd", root="student")
    with pytest.raises(SchemeError, match="start with db, not with student"):
        SCHEME.check_schema(other)


# -- Values


def test_the_essence_of_a_need_is_part_of_it_and_has_the_same_word() -> None:
    for value in range(1, 16):
        need = Need(value)
        assert need.essence & need == need.essence
        assert need.essence.word == need.word


def test_branches_are_a_sequence() -> None:
    rows = [Branch("/a/b", 2), Branch("//c", 0)]
    branches = Branches.of(iter(rows))
    assert list(branches) == rows
    assert branches[1] == rows[1]
    assert list(branches[:1]) == rows[:1]
    assert Branches.of([]) == Branches()
    assert Branch("//c", 0) in branches


@pytest.mark.parametrize("seed", range(10))
def test_a_branch_taken_apart_is_what_the_parser_says(seed: int) -> None:
    for branch in random_scheme(Random(seed)).branches:
        names, filters, tail = take_apart(branch)
        assert len(names) == branch.steps
        path = parse(branch.xpath)
        if branch.steps:
            assert isinstance(path, LocationPath)
            steps = path.steps[: branch.steps]
            assert names == tuple(str(step.test) for step in steps)
            assert list(filters) == [
                (n, f"[{predicate}]")
                for n, step in enumerate(steps, 1)
                for predicate in step.predicates
            ]
        spine = "".join(
            f"/{name}{''.join(text for n, text in filters if n == number)}"
            for number, name in enumerate(names, 1)
        )
        assert spine + tail == branch.xpath


@pytest.mark.parametrize("xpath", ["/a", "//a/b", "/a[x/b", "(/a)[1]"])
def test_a_branch_with_too_few_steps_is_damaged(xpath: str) -> None:
    with pytest.raises(SchemeError, match=r"child steps|bracket"):
        take_apart(Branch(xpath, 2))


def test_the_golden_schemes_load() -> None:
    for path in sorted(GOLDEN.glob("*.json")):
        scheme = Scheme.load(path)
        assert "".join(scheme.lines()) == path.read_text(encoding="utf-8")
        assert scheme.counts()["satisfiable"] >= 6
