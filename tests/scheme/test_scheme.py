"""scheme.json: the same after saving and loading, the same bytes each time, and never half read."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract import Schema, SchemeError, Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.schema.places import Places
from extract.scheme import Branch, Branches, Need, Scheme
from extract.scheme.spine import take_apart
from extract.xpath.ast import LocationPath
from extract.xpath.parser import parse
from tests.preptool.test_prepare import GOLDEN, UNIVERSITY, random_scheme
from tests.support.paths import ROOT, SCHEMAS

QUERIES = Subscriptions.of(
    [
        Subscription("names", "//student/name"),
        Subscription("mail", "/db/*[email]", weight=2.5),
        Subscription("same", " db / student / name"),
        Subscription("number", "count(//url)"),
        Subscription("third", "/db[professor]/student[3]"),
        Subscription("none", "/db/zzz"),
        Subscription("bad", "//a[", line=7, column=3),
    ]
)
SCHEME = prepare(UNIVERSITY, QUERIES, 2)
TEXT = "".join(SCHEME.lines())


def load(folder: Path, content: str | bytes | dict[str, Any]) -> Scheme:
    """A scheme from the content of a file."""
    path = folder / "scheme.json"
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Scheme.load(path)


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


# -- The text


def schema_of_the_format() -> Any:
    path = ROOT / "extract" / "scheme" / "scheme.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(10))
def test_what_is_written_is_as_the_json_schema_says(seed: int) -> None:
    validator = jsonschema.Draft202012Validator(schema_of_the_format())
    validator.check_schema(schema_of_the_format())
    validator.validate(json.loads("".join(random_scheme(Random(seed)).lines())))
    validator.validate(json.loads(TEXT))


def test_the_json_schema_describes_every_field_that_is_written() -> None:
    described = json.dumps(schema_of_the_format())
    words: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            words.update(value)
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                collect(item)

    raw = json.loads(TEXT)
    raw["settings"]["limits"] = raw["namespaces"] = {}
    collect(raw)
    assert {word for word in words if f'"{word}"' not in described} == set()


def test_the_contract() -> None:
    raw = json.loads(TEXT)
    assert raw["format"] == 1
    assert {"schema", "namespaces", "queries", "potpourri", "unsatisfiable", "rejected"} <= set(raw)
    for chunk in raw["chunks"]:
        assert {"id", "prefix", "filters", "queries"} <= set(chunk)
        assert all(set(want) == {"path", "need"} for want in chunk["filters"])
    assert {"id": "names", "xpath": "//student/name"}.items() <= raw["queries"][0].items()
    assert raw["unsatisfiable"] == [
        {"id": "none", "xpath": "/db/zzz", "reason": "db has no child zzz (at /db)"}
    ]


def test_one_query_more_changes_few_lines() -> None:
    queries = [f"/db/student[name = '{i}']" for i in range(200)]
    before, after = (
        "".join(prepare(UNIVERSITY, Subscriptions.of(some), 1).lines()).splitlines()
        for some in (queries[:-1], queries)
    )
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    # The query, its branch, both in the chunk, the commas before them, a line of steps and of uses.
    assert len(changed) <= 16


def test_long_lists_have_one_row_a_line() -> None:
    queries = [f"/db/student[name = '{i}']" for i in range(200)]
    lines = "".join(prepare(UNIVERSITY, Subscriptions.of(queries), 1).lines()).splitlines()
    assert '    "7",' in lines
    assert "    7," in lines
    assert """   "/db/student[name = '7']",""" in lines
    assert max(map(len, lines)) < 200


HASHED = """
import sys
from extract import Schema, Subscriptions
from extract.preptool.prepare import prepare
schema = Schema.load(sys.argv[1], root="db")
queries = Subscriptions.of(["//name", "/db[professor]/student[url | email]", "//*[3]", "//a[", "x"])
sys.stdout.writelines(prepare(schema, queries, 3).lines())
"""


def test_the_bytes_do_not_depend_on_hashing() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", HASHED, str(SCHEMAS / "university.dtd")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "12345")
    }
    assert len(outputs) == 1
    assert b'"format"' in outputs.pop()


# -- Writing


def test_a_file_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scheme.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)

    def broken(_: Scheme) -> Any:
        yield "{"
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("extract.scheme.writer.scheme_lines", broken)
        with pytest.raises(OSError, match="No space"):
            SCHEME.save(path)
    assert path.read_text(encoding="utf-8") == "old"
    SCHEME.save(path)
    assert path.read_text(encoding="utf-8") == TEXT
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["scheme.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    SCHEME.save(link)
    assert link.is_symlink()
    assert Scheme.load(target) == SCHEME


def test_a_missing_folder_is_named_as_the_user_did(tmp_path: Path) -> None:
    path = tmp_path / "no" / "scheme.json"
    with pytest.raises(FileNotFoundError) as caught:
        SCHEME.save(path)
    assert caught.value.filename == str(path)


# -- Files that are no good


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"scheme", "is not JSON"),
        (b"\xff\xfe{", "is not UTF-8"),
        (b"[]", "the file is not a JSON object"),
        (b"{}", 'does not say its "format"'),
        (b'{"format": "1"}', "format: is not a whole number"),
        (b'{"format": true}', "format: is not a whole number"),
        (b'{"format": 2}', "format 2; this version of extract reads format 1"),
        (b'{"format": 0}', "format 0"),
        (b'{"format": 1}', "branches: is missing"),
        (b"[" * 100_000, "is not a scheme"),
        (b'{"format": ' + b"1" * 5000 + b"}", "is not a scheme"),
        (TEXT[: len(TEXT) // 2].encode(), "the scheme file is truncated"),
        ((TEXT + "x").encode(), "is not JSON"),
    ],
    ids=range(14),
)
def test_what_is_no_scheme_says_so(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(SchemeError) as caught:
        load(tmp_path, content)
    assert message in caught.value.reason
    assert caught.value.file == str(tmp_path / "scheme.json")
    assert "extract" in caught.value.hint


def test_a_newer_format_hints_at_a_newer_version(tmp_path: Path) -> None:
    with pytest.raises(SchemeError) as caught:
        load(tmp_path, {"format": 99})
    assert "the version of extract that wrote it" in caught.value.hint


def test_a_missing_file_is_an_error_of_the_scheme(tmp_path: Path) -> None:
    with pytest.raises(SchemeError, match="cannot read the scheme: No such file"):
        Scheme.load(tmp_path / "nowhere.json")


def change(*path: str | int, to: Any) -> Callable[[Any], None]:
    """Sets one value of a scheme file."""

    def apply(raw: Any) -> None:
        for key in path[:-1]:
            raw = raw[key]
        raw[path[-1]] = to

    return apply


def remove(*path: str | int) -> Callable[[Any], None]:
    """Removes one value of a scheme file."""

    def apply(raw: Any) -> None:
        for key in path[:-1]:
            raw = raw[key]
        del raw[path[-1]]

    return apply


def twice(raw: Any) -> None:
    raw["queries"].append(raw["queries"][-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("queries"), "queries: is missing"),
        (remove("potpourri"), "potpourri: is missing"),
        (remove("schema", "digest"), "schema.digest: is missing"),
        (
            change("schema", "kind", to="rng"),
            "schema.kind: 'rng' is none of dtd, xsd, inferred, none",
        ),
        (change("schema", "roots", to=[99]), "schema.roots[0]: there is no declarations[99]"),
        (
            change("schema", "declarations", 0, "children", to=[1, -1]),
            "schema.declarations[0].children[1]: there is no declarations[-1]",
        ),
        (
            change("schema", "declarations", 1, "attributes", 0, "name", to=None),
            "schema.declarations[1].attributes[0].name: is not a string",
        ),
        (change("schema", "declarations", 1, "text", to="some"), "declarations[1].text: 'some'"),
        (change("namespaces", to={"p": 1}), "namespaces.p: is not a string"),
        (change("settings", "limits", to=[]), "settings.limits: is not a JSON object"),
        (change("settings", "chunks", to=2.5), "settings.chunks: is not a whole number"),
        (change("queries", to={}), "queries: is not a list"),
        (change("queries", 0, to="//a"), "queries[0] is not a JSON object"),
        (remove("queries", 0, "xpath"), "queries[0].xpath: is missing"),
        (change("queries", 0, "id", to=5), "queries[0].id: is not a string"),
        (change("queries", 0, "type", to="nodeset"), "queries[0].type: is no type of XPath"),
        (change("queries", 0, "branches", to=[0, 99]), "[1]: there is no branches[99]"),
        (change("queries", 0, "branches", to=[True]), "queries[0].branches[0]: is not a whole"),
        (change("queries", 0, "branches", to=[]), "0 branches cannot give nodes"),
        (change("queries", 3, "branches", to=[0, 1]), "2 branches cannot give number"),
        (change("queries", 1, "same_as", to="zzz"), "queries[1].same_as: there is no query 'zzz'"),
        (change("queries", 2, "weight", to=0), "queries[2].weight: is not a number above zero"),
        (change("queries", 2, "weight", to=float("nan")), "queries[2].weight"),
        (twice, "two queries have the id"),
        (change("unsatisfiable", 0, "id", to="names"), "two queries have the id 'names'"),
        (remove("unsatisfiable", 0, "reason"), "unsatisfiable[0].reason: is missing"),
        (change("rejected", 0, "line", to="7"), "rejected[0].line: is not a whole number"),
        (change("chunks", 0, "queries", to=["zzz"]), "chunks[0].queries[0]: there is no query"),
        (change("chunks", 0, "branches", to=[99]), "chunks[0].branches[0]: there is no branches"),
        (change("chunks", 0, "branches", to=[]), "belongs to no chunk"),
        (change("chunks", 0, "splittable", to="yes"), "chunks[0].splittable: is not true or false"),
        (change("chunks", 0, "splittable", to=True), "chunks[0].unsplittable: must say why"),
        (
            change("chunks", 0, "filters", 0, "need", to="all"),
            "chunks[0].filters[0].need: 'all' is none of node, children",
        ),
        (change("chunks", 1, "id", to="1"), "chunks: two have one id"),
        (change("potpourri", "id", to="rest"), "potpourri.id: must be 'potpourri'"),
        (change("document", "id", to="1"), "document.id: must be 'document'"),
        (change("chunks", 0, "inside", 0, "need", to="all"), "chunks[0].inside[0].need: 'all'"),
        (change("chunks", 0, "uses", to=[[1]] * 99), "chunks[0].uses: 99 counts cannot go with"),
        (change("chunks", 0, "uses", 0, to=[1, 0]), "chunks[0].uses[0]: cannot be [1, 0] for"),
        (change("chunks", 0, "uses", 0, to=[-1]), "chunks[0].uses[0]: cannot be [-1] for"),
        (change("chunks", 0, "uses", 0, to=[0, 0, 0, 0, 1]), "chunks[0].uses[0]: cannot be"),
        (change("chunks", 0, "uses", 0, to=[0, 9]), "chunks[0].uses[0]: cannot be [0, 9] for"),
        (change("chunks", 0, "uses", 0, to=[True]), "chunks[0].uses[0]: cannot be [True] for"),
        (change("chunks", 0, "uses", 0, to=[]), "chunks[0].uses[0]: cannot be [] for"),
        (change("potpourri", "uses", 0, to="1"), "potpourri.uses[0]: cannot be 1 for"),
        (remove("originals"), "originals: is missing"),
        (change("potpourri", "whole", to="yes"), "potpourri.whole: is not a list"),
        (change("branches", to=[]), "branches: is not a JSON object"),
        (change("branches", "xpaths", 1, to=None), "branches.xpaths[1]: is not a string"),
        (change("branches", "steps", 1, to=-1), "branches.steps[1]"),
        (change("branches", "steps", to=[2]), "1 numbers cannot go with"),
        (change("notes", to="none"), "notes: is not a list"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_scheme_says_what_is_wrong(
    damage: Callable[[Any], None], message: str, tmp_path: Path
) -> None:
    raw = json.loads(TEXT)
    # The first chunk is one with filters, which cannot be split.
    raw["chunks"].sort(key=lambda chunk: chunk["splittable"])
    assert raw["chunks"][0]["filters"]
    damage(raw)
    with pytest.raises(SchemeError) as caught:
        load(tmp_path, raw)
    assert message in caught.value.reason
    assert caught.value.hint
    assert str(tmp_path) in str(caught.value)


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The places of all values in a JSON value."""
    found = [path] if path else []
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, item in inside:
        found += paths_of(item, (*path, key))
    return found


PLACES = paths_of(json.loads(TEXT))
VALUES = st.sampled_from(
    [None, True, -1, 0, 7, 1.5, "", "x", "names", [], ["x"], [0], {}, {"x": 1}]
)


@given(st.sampled_from(PLACES), st.one_of(st.none(), st.tuples(VALUES)))
def test_no_damage_is_worse_than_a_scheme_error(
    place: tuple[str | int, ...], value: tuple[Any] | None
) -> None:
    raw = json.loads(TEXT)
    (remove(*place) if value is None else change(*place, to=value[0]))(raw)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SchemeError):
        loaded = load(Path(folder), raw)
        # What still loads can be written, and is the same again.
        assert load(Path(folder), "".join(loaded.lines())) == loaded


@pytest.mark.parametrize("part", range(1, 40))
def test_no_part_of_a_scheme_is_taken_for_a_whole(part: int, tmp_path: Path) -> None:
    with pytest.raises(SchemeError, match=r"cut off|not JSON"):
        load(tmp_path, TEXT.encode()[: len(TEXT) * part // 40])


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


def test_needs_have_an_essence_and_a_word() -> None:
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
