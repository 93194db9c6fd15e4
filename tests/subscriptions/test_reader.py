"""Lines of query files: read in C as columns, and in Python, alike."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract import Subscription, Subscriptions, SubscriptionsError
from extract.limits import Limits
from extract.subscriptions.bindings import bindings_of
from extract.subscriptions.native import ENVIRONMENT
from tests.support.query_files import Write, pairs


def choose(patch: pytest.MonkeyPatch, lines: str) -> None:
    """Reads lines in C (``on``) or in Python (``off``)."""
    if lines == "on":
        pytest.importorskip("extract.subscriptions._lines")
    patch.setenv(ENVIRONMENT, lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("//a[. = 'x\ty']", ("1", "//a[. = 'x\ty']")),
        ("//a[. = \"x\ty\" and b = '\t']", ("1", "//a[. = \"x\ty\" and b = '\t']")),
        ("q\t//a[. = 'x\ty']", ("q", "//a[. = 'x\ty']")),
        ("it's\t//a", ("it's", "//a")),
        ("it's\t//a[. = 'x']", ("it's", "//a[. = 'x']")),
        ("'q'\t//a", ("'q'", "//a")),
        ("'\t'", ("1", "'\t'")),
        ("'a\t'", ("1", "'a\t'")),
        ("a[b\t= 'x']", ("a[b", "= 'x']")),
        ("O'Brien\t'x' = a", ("O'Brien", "'x' = a")),
        ("'x\t//a[", ("'x", "//a[")),
        ('say "it\'s\t//a[b = "x"]', ("say \"it's", '//a[b = "x"]')),
    ],
)
@pytest.mark.parametrize("lines", ["on", "off"])
def test_a_tab_inside_a_literal_separates_nothing(
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    expected: tuple[str, str],
    lines: str,
) -> None:
    choose(monkeypatch, lines)
    assert pairs(Subscriptions.load(write(f"{line}\n//z"))) == [expected, ("2", "//z")]


def test_a_tab_inside_a_literal_of_a_later_version_separates_nothing(write: Write) -> None:
    line = "for $x in //a[. = 'it''s\tx'] return $x"
    assert pairs(Subscriptions.load(write(f"#! xpath 2.0\n{line}"))) == [("2", line)]


_PIECES = (
    "q", "q1", "3", "//a", "//a[b = 'x", "'", '"', "]", "\t", "\t", "\n", "\n", "\n", "\r\n", " ",
    "#", "#! ns p=urn:p\n", "\n#! ns q=urn:q\n", "#! xpath 2.0\n", "#!/bin/sh\n", "é", "\u2028",
    "\n#! ns p=urn:other\n", "\n#! wrong", "id\t",
)  # fmt: skip


def load_both(path: Path, limits: Limits) -> list[object]:
    """What C makes of a file, and what Python does."""
    outcomes: list[object] = []
    for lines in ("on", "off"):
        with pytest.MonkeyPatch.context() as patch:
            choose(patch, lines)
            try:
                outcomes.append(list(Subscriptions.load(path, limits=limits)))
            except SubscriptionsError as error:
                outcomes.append(error.args)
    return outcomes


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join), st.integers(1, 9))
def test_lines_are_read_alike_in_c_and_in_python(
    tmp_path_factory: pytest.TempPathFactory, text: str, most: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "alike.tsv"
    path.write_bytes(text.encode())
    in_c, in_python = load_both(path, Limits(subscriptions=most))
    assert in_c == in_python


def test_queries_of_a_file_are_made_when_they_are_asked_for(write: Write) -> None:
    text = "".join(f"q{i}\t//a[b = {i}]\n" for i in range(1_000))
    path = write(f"{text}#! ns p=urn:p\n  ü\t //p:a\n//b\n")
    subscriptions = Subscriptions.load(path)
    every = list(subscriptions)
    assert len(every) == len(subscriptions) == 1_002
    assert [subscriptions[i] for i in range(-1_002, 1_002)] == every * 2
    assert list(subscriptions[998:]) == every[998:]
    assert list(subscriptions[::-300]) == every[::-300]
    assert every[1_000] == Subscription("ü", "//p:a", {"p": "urn:p"}, 1.0, 1_002, 6)
    assert subscriptions == Subscriptions(tuple(every), str(path))
    assert pickle.loads(pickle.dumps(subscriptions)) == subscriptions
    for index in (1_002, -1_003):
        with pytest.raises(IndexError):
            subscriptions[index]


@pytest.mark.parametrize("lines", ["on", "off"])
def test_blocks_are_the_queries_as_columns(
    write: Write, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    choose(monkeypatch, lines)
    path = write("//a\nq\t//b\n\n#! ns p=urn:p\n//p:c[. = 'x\ty']\n//d\n#! xpath 3.1\n//e\n")
    blocks = list(Subscriptions.load(path).blocks())
    texts = ["//a", "//b", "//p:c[. = 'x\ty']", "//d", "//e"]
    assert [name for block in blocks for name in block.ids] == ["1", "q", "5", "6", "8"]
    assert [xpath for block in blocks for xpath in block.xpaths] == texts
    bound = [dict(bindings_of(one.namespaces, n)) for one in blocks for n in range(len(one))]
    assert bound == [{}, {}, *[{"p": "urn:p"}] * 3]
    assert [one.version for one in blocks for _ in one] == [*["1.0"] * 4, "3.1"]
    assert [line for block in blocks for line in block.lines.tolist()] == [1, 2, 5, 6, 8]


@pytest.mark.parametrize("lines", ["on", "off"])
def test_a_space_in_place_of_the_tab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    choose(monkeypatch, lines)
    path = tmp_path / "q.tsv"
    path.write_text("# my queries\nq1\t//a\nq2  /db/student\n", encoding="utf-8")
    with pytest.raises(SubscriptionsError) as caught:
        Subscriptions.load(path)
    assert caught.value.reason == "there is a space between q2 and the XPath, and no tab"
    assert (caught.value.line, caught.value.column) == (3, 4)
    assert caught.value.hint.startswith("write q2<TAB>xpath")
    path.write_text("q1\tdb /student\ndb/student\ndb div 2\n(a) /b\n", encoding="utf-8")
    queries = [one.xpath for one in Subscriptions.load(path)]
    assert queries == ["db /student", "db/student", "db div 2", "(a) /b"]


@pytest.mark.parametrize("text", ["<!ELEMENT a EMPTY>", "\n<?xml version='1.0'?><a/>"])
def test_a_schema_or_document_is_no_query_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.dtd"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SubscriptionsError, match="is XML or a schema, not a query file"):
        Subscriptions.load(path)
