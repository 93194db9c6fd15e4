"""Reading scheme.json: what is no scheme, and a damaged one, is an error that says why."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract import SchemeError
from extract.scheme import Scheme
from tests.support.saved_scheme import TEXT, load


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
        (b'{"format": 3}', "format 3; this version of extract reads 1 to 2"),
        (b'{"format": 0}', "format 0"),
        (b'{"format": 2}', "branches: is missing"),
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
        (change("queries", 0, "metadata", to=[]), "queries[0].metadata: is not a JSON object"),
        (
            change("queries", 0, "metadata", to={"": 1}),
            "queries[0].metadata: the metadata key '' is empty",
        ),
        (
            change("queries", 0, "metadata", to={"a": float("inf")}),
            "queries[0].metadata: the metadata of 'a' has a number that JSON does not have: inf",
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
        (change("queries", to={}), "wordings: is missing"),
        (change("queries", to="x"), "queries: is not a list"),
        (change("queries", 0, to="//a"), "queries[0] is not a JSON object"),
        (remove("queries", 0, "xpath"), "queries[0].xpath: is missing"),
        (change("queries", 0, "id", to=5), "queries[0].id: is not a string"),
        (remove("queries", 0, "template"), "queries[0].template: is missing"),
        (change("queries", 0, "template", to=99), "queries[0].template: there is no templates[99]"),
        (change("queries", 0, "template", to=-1), "queries[0].template: there is no templates[-1]"),
        (change("queries", 6, "xpath", to="//a"), "queries[6].xpath: is no query of templates[6]"),
        (change("queries", 6, "xpath", to="'"), "queries[6].xpath: is no query of templates[6]"),
        (remove("templates"), "templates: is missing"),
        (remove("templates", 0, "xpath"), "templates[0].xpath: is missing"),
        (remove("templates", 0, "branches"), "templates[0].branches: is missing"),
        (change("templates", 0, "type", to="nodeset"), "templates[0].type: is no type of XPath"),
        (change("templates", 0, "branches", to=[0, 99]), "[1]: there is no branches[99]"),
        (change("templates", 0, "branches", to=[True]), "templates[0].branches[0]: is not a whole"),
        (change("templates", 0, "branches", to=[]), "0 branches cannot give nodes"),
        (change("templates", 3, "branches", to=[0, 1]), "2 branches cannot give number"),
        (change("templates", 6, "arguments", to=[1]), "arguments[0]: there is no parameters[1]"),
        (change("queries", 2, "weight", to=0), "queries[2].weight: is not a number above zero"),
        (change("queries", 2, "weight", to=float("nan")), "queries[2].weight"),
        (twice, "two queries have the id"),
        (change("rejected", 0, "id", to="names"), "two queries have the id 'names'"),
        (change("unsatisfiable", 0, "id", to="names"), "unsatisfiable: are other queries than"),
        (change("rejected", 0, "line", to="7"), "rejected[0].line: is not a whole number"),
        (change("chunks", 0, "queries", to=["zzz"]), "chunks[0].queries: are other queries"),
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
    with pytest.raises(SchemeError, match=r"truncated|not JSON"):
        load(tmp_path, TEXT.encode()[: len(TEXT) * part // 40])
