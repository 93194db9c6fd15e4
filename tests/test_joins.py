"""Joins between documents: windows, lateness, publishing, state and snapshots."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

import extract
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins
from tests.support.join_streams import DEEP_QUERIES, deep_stream, locally

BOOK = b"""<book><authors><author>Danny Ayers</author><author>Andrew Watt</author></authors>
<title>Beginning RSS and Atom Programming</title><category>Scripting &amp; Programming</category>
<category>Web Site Development</category></book>"""
BLOG = b"""<blog><author>Danny Ayers</author><title>Beginning RSS and Atom Programming</title>
<description>Book Announcement</description>
<category>Scripting &amp; Programming</category></blog>"""
PAPER = {
    "Q1": "S//book->x1[.//author->x2][.//title->x3] FOLLOWED BY{x2=x5 AND x3=x6, 60} "
    "S//blog->x4[.//author->x5][.//title->x6]",
    "Q2": "S//book->x1[.//author->x2][.//category->x7] FOLLOWED BY{x2=x5 AND x7=x8, 60} "
    "S//blog->x4[.//author->x5][.//category->x8]",
    "Q3": "S//blog->x4[.//author->x5][.//title->x6] FOLLOWED BY{x5=x5' AND x6=x6', 60} "
    "S//blog->x4'[.//author->x5'][.//title->x6']",
}
PAIR = "a//o->x[k->i] {}{{i=j, {}}} b//p->y[k->j]"
ORDER, PACK = b"<o><k>1</k></o>", b"<p><k>1</k></p>"


def pairs(joins: Joins, *documents: tuple[str, bytes, object]) -> list[tuple[int, int]]:
    """The seqs of all rows, for documents that are called after their streams."""
    rows = []
    for stream, data, time in documents:
        rows += joins.process(stream, stream, data, time)  # type: ignore[arg-type]
    return [(row.left_seq, row.right_seq) for row in rows]


def test_the_books_and_blogs_of_the_paper() -> None:
    """Tables 1, 2 and 4 of the paper."""
    joins = extract.Joins(PAPER)
    assert joins.process("S", "d1", BOOK, 0) == []
    rows = joins.process("S", "d2", BLOG, 10)
    assert [row.query for row in rows] == ["Q1", "Q2"]
    assert rows[0].bindings == {
        "x1": "/book[1]",
        "x2": "/book[1]/authors[1]/author[1]",
        "x3": "/book[1]/title[1]",
        "x4": "/blog[1]",
        "x5": "/blog[1]/author[1]",
        "x6": "/blog[1]/title[1]",
    }
    assert rows[1].bindings["x7"] == "/book[1]/category[1]"
    assert rows[0].output == rows[1].output == f"<join>{BOOK.decode()}{BLOG.decode()}</join>"
    [third] = [row for row in joins.process("S", "d3", BLOG, 20) if row.query == "Q3"]
    assert (third.left, third.right, third.left_seq, third.right_seq) == ("d2", "d3", 1, 2)
    assert joins.figures()["templates"] == 1


@pytest.mark.parametrize(
    ("operator", "left", "right", "joined"),
    [
        ("FOLLOWED BY", 0, 0, False),
        ("FOLLOWED BY", 0, 0.000001, True),
        ("FOLLOWED BY", 0, 10, True),
        ("FOLLOWED BY", 0, 10.000001, False),
        ("FOLLOWED BY", 1, 0, False),
        ("JOIN", 0, 0, True),
        ("JOIN", 0, 10, True),
        ("JOIN", 10, 0, True),
        ("JOIN", 10.000001, 0, False),
    ],
)
@pytest.mark.parametrize("left_first", [True, False])
def test_windows_in_time(
    operator: str, left: float, right: float, joined: bool, left_first: bool
) -> None:
    joins = Joins({"q": PAIR.format(operator, 10)}, lateness=100)
    documents = [("a", ORDER, left), ("b", PACK, right)]
    found = pairs(joins, *(documents if left_first else documents[::-1]))
    assert bool(found) is joined


def test_windows_are_whole_microseconds() -> None:
    joins = Joins({"q": PAIR.format("FOLLOWED BY", 0.1)})
    assert pairs(joins, ("a", ORDER, 1.0), ("b", PACK, 1.1)) == [(0, 1)]


@pytest.mark.parametrize(("n", "joined"), [(1, []), (2, [(0, 3)]), (3, [(0, 3)])])
def test_windows_in_events_count_the_stream_that_a_side_names(
    n: int, joined: list[tuple[int, int]]
) -> None:
    joins = Joins({"q": PAIR.format("JOIN", f"{n} EVENTS")})
    documents = [("a", ORDER, 9), ("a", b"<z/>", 9), ("b", b"<z/>", 9), ("b", PACK, 0)]
    assert pairs(joins, *documents) == joined


def test_events_of_all_streams() -> None:
    text = "S//o->x[k->i] FOLLOWED BY{i=j, 2 EVENTS} S//p->y[k->j]"
    assert pairs(Joins({"q": text}), ("a", ORDER, 0), ("b", b"<z/>", 0), ("b", PACK, 0)) == [(0, 2)]
    more = [("a", ORDER, 0), ("b", b"<z/>", 0), ("c", b"<z/>", 0), ("b", PACK, 0)]
    joins = Joins({"q": text})
    assert pairs(joins, *more) == []
    assert joins.state.documents == 0  # what is past every window is gone
    assert pairs(Joins({"q": text}), ("b", PACK, 0), ("a", ORDER, 0)) == []


def test_a_document_does_not_join_itself_and_pairs_come_both_ways() -> None:
    joins = Joins({"q": "S//o->x[k->i] JOIN{i=j, 5} S//o->y[k->j]"})
    assert pairs(joins, ("a", ORDER, 0), ("a", ORDER, 1)) == [(0, 1), (1, 0)]


def test_a_result_that_becomes_possible_late_is_given_late() -> None:
    joins = Joins({"q": PAIR.format("FOLLOWED BY", 10)})
    assert pairs(joins, ("a", ORDER, 0), ("c", b"<z/>", 19), ("b", PACK, 10)) == [(0, 2)]


def test_a_document_past_the_lateness_is_rejected() -> None:
    joins = Joins({"q": PAIR.format("FOLLOWED BY", 10)})
    assert pairs(joins, ("a", ORDER, 0), ("b", b"<z/>", 20)) == []
    assert joins.process("b", "late.xml", PACK, 9.999999) == []
    [late] = joins.rejected
    assert (late.document, late.query, late.stage) == ("late.xml", "q", "late")
    assert joins.process("b", "just.xml", PACK, 10) != []
    assert joins.rejected == ()


def test_without_windows_in_time_nothing_is_late() -> None:
    joins = Joins({"q": PAIR.format("JOIN", "5 EVENTS")})
    assert pairs(joins, ("a", ORDER, 1000), ("b", PACK, 0)) == [(0, 1)]


def test_a_wider_window_that_is_added_brings_no_rejected_time_back() -> None:
    joins = Joins({"q": PAIR.format("FOLLOWED BY", 10)})
    pairs(joins, ("a", ORDER, 0), ("b", b"<z/>", 25))
    joins.add({"wide": PAIR.format("FOLLOWED BY", 100)})
    assert pairs(joins, ("b", PACK, 10)) == []
    assert [(one.query, one.stage) for one in joins.rejected] == [("q", "late")]
    [row] = joins.process("a", "a2", ORDER, 9)
    assert (row.query, row.right_time) == ("wide", 10_000_000)


def test_state_is_dropped_when_window_and_lateness_have_passed() -> None:
    joins = Joins({"q": PAIR.format("FOLLOWED BY", 10)}, lateness=5)
    pairs(joins, ("a", ORDER, 0), ("b", b"<z/>", 15))
    assert joins.state.documents == 1
    pairs(joins, ("b", b"<z/>", 15.000001))
    assert joins.state == (0, 0, 0)


def test_a_query_sees_documents_from_when_it_was_added_on_both_sides() -> None:
    joins = Joins({"old": PAIR.format("JOIN", 100)})
    joins.process("a", "a1", ORDER, 0)
    joins.add({"new": PAIR.format("JOIN", 100)})
    assert [row.query for row in joins.process("b", "b1", PACK, 1)] == ["old"]
    assert [row.query for row in joins.process("a", "a2", ORDER, 2)] == ["old", "new"]
    joins.remove(["old"])
    assert [row.query for row in joins.process("b", "b2", PACK, 3)] == ["new"]


def test_a_bad_query_is_refused_and_changes_nothing() -> None:
    joins = Joins({"q": PAIR.format("JOIN", 1), "bad": "S//a->x JOIN{x=y, 1}"})
    [bad] = joins.rejected_queries
    assert (bad.query, bad.stage) == ("bad", "prepare")
    with pytest.raises(extract.QuerySyntaxError):
        joins.add({"n1": PAIR.format("JOIN", 1), "n2": "S//a->x"})
    with pytest.raises(extract.SubscriptionsError, match="there is a query with the id 'q'"):
        joins.add({"n1": PAIR.format("JOIN", 1), "q": PAIR.format("JOIN", 1)})
    with pytest.raises(extract.SubscriptionsError, match="no query with the id 'n1'"):
        joins.remove(["n1"])
    assert list(joins.queries) == ["q"]


# -- Values and bindings


def test_values_are_string_values_by_code_point() -> None:
    joins = Joins({"q": "S//o->x[k->i] JOIN{i=j, 5} S//p->y[@k->j]"})
    joins.process("a", "a", "<o><k>a<b>é</b><![CDATA[&]]></k></o>".encode(), 0)
    assert joins.process("a", "b", "<p k='ae\u0301&amp;'/>".encode(), 1) == []
    [row] = joins.process("a", "c", "<p k='aé&#38;'/>".encode(), 1)
    assert row.bindings == {"x": "/o[1]", "i": "/o[1]/k[1]", "y": "/p[1]", "j": "/p[1]/@k"}


def test_no_row_comes_twice_where_other_nodes_lead_to_it_in_several_ways() -> None:
    joins = Joins({"q": "S//o[.//k->i] JOIN{i=j, 5} S//p->y//k->j"})
    joins.process("a", "a", b"<o><o><k>1</k></o></o>", 0)
    [row] = joins.process("a", "b", PACK, 0)
    assert row.output == "<join><o><o><k>1</k></o></o><p><k>1</k></p></join>"


def test_every_combination_of_bindings_is_a_row() -> None:
    joins = Joins({"q": PAIR.format("JOIN", 5)})
    joins.process("a", "a", b"<o><k>1</k><k>2</k><k>1</k></o>", 0)
    rows = joins.process("b", "b", b"<p><k>1</k><k>2</k><k>1</k></p>", 0)
    found = [(row.bindings["i"][-3:], row.bindings["j"][-3:]) for row in rows]
    assert found == [("[1]", "[1]"), ("[1]", "[3]"), ("[2]", "[2]"), ("[3]", "[1]"), ("[3]", "[3]")]


def test_outputs_copy_nodes_with_their_namespaces() -> None:
    select = 'SELECT <r n="{i}-{j}">{x}{j}</r> FROM a//n:o->x[n:k->i] JOIN{i=j, 5} b//p[@k->j]'
    joins = Joins({"q": select}, namespaces={"n": "urn:n"})
    joins.process("a", "a", b"<m:o xmlns:m='urn:n'><m:k>1</m:k></m:o>", 0)
    rows = joins.process("b", "b", b"<p k='1'/>", 0)
    assert rows == []
    [rejection] = joins.rejected  # the attribute comes after content
    assert (rejection.query, rejection.stage) == ("q", "join")
    joins = Joins({"q": select.replace("{x}{j}", "{j}{x}")}, namespaces={"n": "urn:n"})
    joins.process("a", "a", b"<m:o xmlns:m='urn:n'><m:k>1</m:k></m:o>", 0)
    [row] = joins.process("b", "b", b"<p k='1'/>", 0)
    assert row.output == '<r n="1-1" k="1"><m:o xmlns:m="urn:n"><m:k>1</m:k></m:o></r>'


def test_a_query_with_too_many_rows_is_rejected_alone() -> None:
    limits = extract.Limits(query_rows=8)
    joins = Joins({"q": PAIR.format("JOIN", 5)}, limits=limits)
    joins.process("a", "a", b"<o><k>1</k><k>1</k><k>1</k></o>", 0)
    assert joins.process("b", "b", b"<p><k>1</k><k>1</k><k>1</k></p>", 0) == []
    [rejection] = joins.rejected
    assert "--max-query-rows" in rejection.reason
    assert len(joins.process("b", "c", PACK, 0)) == 3


# -- Publishing


def test_what_is_published_is_returned_by_the_same_call() -> None:
    joins = Joins(
        {
            "first": f"SELECT <m>{{i}}</m> FROM {PAIR.format('JOIN', 5)} PUBLISH m",
            "second": "m//k->x JOIN{x=z, 5} c//r->z",
            "all": "S//k->x JOIN{x=z, 5} c//r->z",
        }
    )
    joins.process("c", "c1", b"<r>1</r>", 6)
    joins.process("a", "a1", ORDER, 1)
    rows = joins.process("b", "b1", PACK, 4)
    assert [(row.query, row.left, row.left_seq, row.left_time) for row in rows] == [
        ("first", "a1", 1, 1_000_000),
        ("all", "b1", 2, 4_000_000),
        ("second", "m#0", 0, 4_000_000),
    ]
    with pytest.raises(extract.JoinError, match="published by a query"):
        joins.process("m", "x", b"<m/>", 9)


def test_a_published_document_that_cannot_be_read_has_its_number_and_joins_nothing() -> None:
    rows, rejected = locally(Joins(DEEP_QUERIES), deep_stream())
    published = [(row.left, row.right) for row in rows if row.query == "p"]
    pairs = ["d0 d1", "d0 d2", "d1 d2", "d0 d3", "d1 d3", "d2 d3"]
    assert published == [tuple(pair.split()) for pair in pairs]
    assert {row.left for row in rows if row.query == "again"} == {"p#4"}  # of d1 and d3
    assert [(one.document, one.query, one.stage) for one in rejected] == [
        (f"p#{number}", None, "publish") for number in (0, 1, 2, 3, 5)
    ]
    assert "--max-depth" in rejected[0].reason


def test_a_cycle_of_published_streams_is_a_rejected_query() -> None:
    joins = Joins(
        {
            "p": "S//a->x JOIN{x=y, 1} q//b->y PUBLISH p",
            "q": "S//a->x JOIN{x=y, 1} p//b->y PUBLISH q",
        }
    )
    assert [one.query for one in joins.rejected_queries] == ["q"]


# -- Documents and files


def test_documents_that_are_not_well_formed_change_nothing() -> None:
    joins = Joins({"q": PAIR.format("JOIN", "1 EVENTS")})
    joins.process("a", "a1", ORDER, 0)
    assert joins.process("a", "broken.xml", b"<o>\n<k></o>", 0) == []
    [rejection] = joins.rejected
    assert (rejection.document, rejection.stage, rejection.line) == ("broken.xml", "read", 2)
    assert len(joins.process("b", "b1", PACK, 0)) == 1


def test_queries_from_files(tmp_path: Path) -> None:
    tsv = tmp_path / "j.tsv"
    lines = ["# joins", "#! ns n=urn:n", f"q\t{PAIR.format('JOIN', 5)}"]
    tsv.write_text("\n".join([*lines, "r\ta//n:o->x JOIN{x=y', 1} b//p->y'"]))
    joins = Joins.load(tsv)
    assert list(joins.queries) == ["q", "r"]
    jsonl = tmp_path / "j.jsonl"
    jsonl.write_text('{"id": "q", "xscl": "a//o->x JOIN{x=y, 1} b//p->y", "owner": "me"}\n')
    assert str(Joins.load(jsonl).queries["q"]) == "a//o->x JOIN{x=y, 1} b//p->y"
    document = tmp_path / "d.xml"
    document.write_bytes(ORDER)
    assert joins.process("a", "d", document, "2026-01-01T00:00:00Z") == []
    assert joins.state.documents == 1


# -- State and snapshots


def test_a_full_state_stops_or_drops_the_oldest_and_tells() -> None:
    joins = Joins({"q": PAIR.format("JOIN", 500)}, max_state=10_000)

    def process_all() -> None:
        for number in range(10):
            joins.process("a", f"a{number}", ORDER, number)

    with pytest.raises(extract.JoinError, match="--max-state"):
        process_all()
    stopped = joins.state
    assert 0 < stopped.bytes <= 10_000
    joins = Joins({"q": PAIR.format("JOIN", 500)}, max_state=10_000, when_full="drop")
    dropped: list[Rejection] = []
    for number in range(10):
        joins.process("a", f"a{number}", ORDER, number)
        dropped += joins.rejected
    assert [one.document for one in dropped] == [f"a{n}" for n in range(10 - stopped.documents)]
    assert {one.stage for one in dropped} == {"state"}
    rows = joins.process("b", "b", PACK, 10)
    assert len(rows) == stopped.documents - 1  # one more had to go for the new one


def test_a_document_that_is_larger_than_the_limit_stops_or_is_kept_alone() -> None:
    joins = Joins({"q": PAIR.format("JOIN", 500)}, max_state=1_000)
    with pytest.raises(extract.JoinError, match="1,000 bytes"):
        joins.process("a", "a1", ORDER, 0)
    assert joins.state.documents == 0
    joins = Joins({"q": PAIR.format("JOIN", 500)}, max_state=1_000, when_full="drop")
    for number in range(3):
        joins.process("a", f"a{number}", ORDER, number)
        assert joins.state.documents == 1
    assert [one.document for one in joins.rejected] == ["a1"]


def test_a_snapshot_is_taken_up_and_a_replay_gives_the_same_keys(tmp_path: Path) -> None:
    joins = Joins({**PAPER, "e": PAIR.format("JOIN", "2 EVENTS")}, lateness=7)
    joins.process("a", "a1", ORDER, 0)
    joins.process("S", "d1", BOOK, 0)
    joins.save(tmp_path / "saved")
    expected = joins.process("b", "b1", PACK, 3), joins.process("S", "d2", BLOG, 5)
    assert all(expected)
    again = Joins.restore(tmp_path / "saved")
    assert (again.process("b", "b1", PACK, 3), again.process("S", "d2", BLOG, 5)) == expected
    assert again.process("S", "late", BLOG, -3) == []
    assert {(one.document, one.stage) for one in again.rejected} == {("late", "late")}
    assert [one.query for one in again.rejected] == list(PAPER)
    (tmp_path / "saved/notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="was not written by extract"):
        joins.save(tmp_path / "saved")
    (tmp_path / "saved/notes.txt").unlink()
    joins.save(tmp_path / "saved")  # replaces the older one
    assert Joins.restore(tmp_path / "saved").state == joins.state


def test_a_restored_state_has_windows_in_events_however_its_blocks_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.joins.store.BLOCK_DOCUMENTS", 1)
    joins = Joins({"q": PAIR.format("JOIN", "4 EVENTS")})
    for number in range(6):
        joins.process("a", f"a{number}", ORDER, number)
    joins.save(tmp_path / "saved")
    again = Joins.restore(tmp_path / "saved")
    assert [row.left for row in again.process("b", "b1", PACK, 9)] == ["a2", "a3", "a4", "a5"]


def test_a_snapshot_is_whole_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(extract.JoinError, match="no snapshot"):
        Joins.restore(tmp_path)
    (tmp_path / "mine.txt").write_text("x")
    joins = Joins(PAPER)
    with pytest.raises(extract.JoinError, match="exists and has no snapshot"):
        joins.save(tmp_path)
    joins.save(tmp_path / "s")
    state = tmp_path / "s" / "joins.json"
    state.write_text(state.read_text().replace('"format": 2', '"format": 9'))
    with pytest.raises(extract.JoinError, match="format 9"):
        Joins.restore(tmp_path / "s")
    (tmp_path / "s" / "documents.parquet").write_bytes(b"x")
    with pytest.raises(extract.JoinError, match="cannot be read"):
        Joins.restore(tmp_path / "s")


def test_a_snapshot_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = Joins({"q": PAIR.format("JOIN", 5)})
    joins.process("a", "a1", ORDER, 0)
    joins.save(tmp_path / "saved")
    joins.process("a", "a2", ORDER, 1)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("extract.filtertool.joins.snapshot.pq.write_table", fail)
    with pytest.raises(OSError, match="No space left"):
        joins.save(tmp_path / "saved")
    again = Joins.restore(tmp_path / "saved")
    assert again.state.documents == 1
    assert [one.name for one in tmp_path.iterdir()] == ["saved"]
    assert len(again.process("b", "b1", PACK, 1)) == 1


def test_the_bytes_of_the_state_are_about_right() -> None:
    joins = Joins({"q": "S//o->x[k->i] JOIN{i=j, 10000} S//p->y[k->j]"})
    tracemalloc.start()
    documents = [f"<o><k>{n}</k><k>{n} {n}</k><z/></o>".encode() for n in range(897)]
    for number in range(385):  # trees of the last documents are kept, too
        joins.process("a", f"a{number}", documents[number], number)
    gc.collect()
    before, told = tracemalloc.get_traced_memory()[0], joins.state.bytes
    for number in range(385, 897):
        joins.process("a", f"a{number}", documents[number], number)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.5 < (joins.state.bytes - told) / taken < 2
    assert joins.state.bytes < 8 * sum(map(len, documents))  # these are 30 bytes long each
