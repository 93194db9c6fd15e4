"""``extract prep`` and ``extract explain`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lxml import etree

from extract import Scheme
from extract.cli import cli
from tests.support.paths import SCHEMAS

UNIVERSITY = ["--schema", str(SCHEMAS / "university.dtd"), "--root", "db"]
QUERIES = """\
names\t//student/name
mail\t/db/*[email]
count\tcount(//url)
third\t/db[professor/name = 'Codd']/student[3]/name
none\t/db/zzz
same\t/db/student/name
"""


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def prep(queries: str, *args: str) -> Result:
    return run("prep", *UNIVERSITY, "--queries", "-", *args, stdin=queries)


@pytest.fixture
def scheme(tmp_path: Path) -> str:
    path = tmp_path / "scheme.json"
    more = QUERIES + "id\tid('x')\nbad\t//a[\nrel\tdb/*/link\n"
    assert prep(more, "--chunks", "3", "-o", str(path)).exit_code == 1
    return str(path)


# -- prep


def test_the_summary_counts_one_query_as_one() -> None:
    result = prep("one\t/db/student/name\n", "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert "1 query in " in result.stderr
    assert "(1 different of 1 template; " in result.stderr


def test_a_scheme_and_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "scheme.json"
    result = prep(QUERIES, "--chunks", "3", "-o", str(path))
    assert result.exit_code == 0
    assert result.stdout == ""
    scheme = Scheme.load(path)
    assert [chunk.prefix for chunk in scheme.chunks] == [
        "/db/assistant",
        "/db/lecturer",
        "/db/student/name",
    ]
    assert "query 'none' cannot match: " in result.stderr
    table = result.stderr[result.stderr.index("chunk  ") :]
    rows = [line.split() for line in table.splitlines()]
    assert rows[0][:3] == ["chunk", "queries", "share"]
    assert ["3", "3", "60%", "2", "2", "~21%", "no", "/db/student/name"] in rows
    assert "6 queries in" in result.stderr
    assert "5 can match (4 different" in result.stderr
    assert "1 unsatisfiable, 0 rejected" in result.stderr


def test_the_scheme_may_go_down_a_pipe() -> None:
    result = prep(QUERIES, "--chunks", "2")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["format"] == 2


def test_json_has_the_same_facts() -> None:
    result = prep(QUERIES + "bad\t//a[\n", "--chunks", "2", "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stderr)
    assert facts["queries"] == {
        "registered": 7,
        "satisfiable": 5,
        "canonical": 4,
        "templates": 5,
        "potpourri": 2,
        "later": 0,
        "unsatisfiable": 1,
        "rejected": 1,
    }
    assert [chunk["id"] for chunk in facts["chunks"]] == ["1", "2", "potpourri"]
    assert facts["chunks"][0]["share"] == pytest.approx(facts["chunks"][0]["queries"] / 5)
    assert facts["notes"] == []
    (told,) = facts["rejected"]
    assert (told["id"], told["line"], told["offset"]) == ("bad", 7, 4)


def test_a_bad_query_is_shown_and_the_others_go_on() -> None:
    result = prep("good\t//name\nbad\t//name[\n", "--chunks", "1")
    assert result.exit_code == 1
    assert "query 'bad' rejected: <stdin>:2:12" in result.stderr
    assert "^" in result.stderr
    scheme = json.loads(result.stdout)
    assert [query["id"] for query in scheme["queries"]] == ["good"]
    assert [query["id"] for query in scheme["rejected"]] == ["bad"]


def test_many_bad_queries_do_not_flood_the_screen() -> None:
    result = prep("//name[\n" * 50 + "//name\n", "--chunks", "1")
    assert result.exit_code == 1
    assert result.stderr.count("rejected: <stdin>") == 20
    assert "and 30 more rejected, all in the scheme" in result.stderr


def test_more_chunks_than_there_are_is_noted() -> None:
    result = prep("//student/name\n", "--chunks", "7")
    assert result.exit_code == 0
    assert "Note: 7 chunks were asked for" in result.stderr


def test_weights_by_subscribers(tmp_path: Path) -> None:
    queries = tmp_path / "q.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "a", "xpath": "/db/student/name"},
        {"id": "b", "xpath": "/db/student/email"},
        {"id": "c", "xpath": "/db/lecturer", "weight": 9},
    ]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = {}
    for weights in ("one", "subscribers"):
        args = ["--queries", str(queries), "--chunks", "1", "--weights", weights]
        raw = json.loads(run("prep", *UNIVERSITY, *args).stdout)
        found[weights] = raw["chunks"][0]["prefix"]
    assert found == {"one": "/db/student", "subscribers": "/db/lecturer"}


def test_all_unsatisfiable_says_why() -> None:
    result = prep("/db/zzz\n//yyy\n", "--chunks", "2")
    assert result.exit_code == 0
    assert "Note: no query can match any document that keeps to the schema" in result.stderr
    assert "query '1' cannot match: db has no child zzz" in result.stderr


@pytest.mark.parametrize(
    ("queries", "args", "message"),
    [
        ("# nothing\n", ["--chunks", "2"], "<stdin>: there is no query in the file"),
        ("//name\n", ["--chunks", "0"], "documents cannot be cut into 0 chunks"),
        ("//name\n", ["--chunks", "-1"], "documents cannot be cut into -1 chunks"),
        ("//name\n", ["--chunks", "many"], "'many' is neither a number nor auto"),
        ("//name\n", ["--chunks", "2", "--weights", "none"], "--weights"),
        ("//name\n", ["--chunks", "2", "-o", "no/where/scheme.json"], "no/where/scheme.json"),
        ("a\t//name\na\t//name\n", ["--chunks", "2"], "already taken"),
    ],
)
def test_nothing_done_is_exit_2(queries: str, args: list[str], message: str) -> None:
    result = prep(queries, *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


# -- explain


def test_the_table_of_chunks(scheme: str) -> None:
    result = run("explain", "--scheme", scheme)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        "chunk",
        "queries",
        "share",
        "branches",
        "filter",
        "nodes",
        "estimated",
        "bytes",
        "splittable",
        "prefix",
    ]
    assert any(line.startswith("document") and "id() may find" in line for line in lines)
    assert "cannot be split: db[professor/name = $string1] looks beyond the record" in result.stdout
    facts = json.loads(run("explain", "--scheme", scheme, "--json").stdout)
    assert facts["queries"]["registered"] == 9
    assert [one["id"] for one in facts["chunks"][-2:]] == ["potpourri", "document"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("names", ["the same normal form as: same", "whose prefix is its path /db/student/name"]),
        (
            "mail",
            [
                "the union of 5 branches",
                "in the potpourri: its path /db/lecturer begins with the prefix of no chunk",
                "needs /db/lecturer: all of it",
            ],
        ),
        ("count", ["in the potpourri: a number cannot be put together from chunks"]),
        ("third", ["needs /db/professor/name: the text", "needs /db/student: the tag"]),
        ("id", ["on the whole document, for id() may find an element anywhere"]),
        ("none", ["cannot match any document that keeps to the schema: db has no child zzz"]),
        ("bad", ["rejected: expected an expression before the end"]),
        ("rel", ["that is: /db/*/link"]),
    ],
)
def test_explain_says_why_a_query_is_in_its_chunk(scheme: str, query: str, said: list[str]) -> None:
    result = run("explain", "--scheme", scheme, query)
    assert result.exit_code == 0
    for sentence in said:
        assert sentence in result.stdout
    facts = json.loads(run("explain", "--scheme", scheme, query, "--json").stdout)
    assert facts["id"] == query
    assert facts["status"] == {"none": "unsatisfiable", "bad": "rejected"}.get(query, "satisfiable")


def test_a_tail_that_stays_is_explained(tmp_path: Path) -> None:
    path = str(tmp_path / "s.json")
    args = ["--schema", str(SCHEMAS / "figure4.dtd"), "--root", "a", "--queries", "-"]
    assert run("prep", *args, "--chunks", "2", "-o", path, stdin="//c\n(//c)[3]\n").exit_code == 0
    said = run("explain", "--scheme", path, "1").stdout
    assert "keeps its tail: the schema recurses below /a/b/m" in said
    said = run("explain", "--scheme", path, "2").stdout
    assert "in the potpourri: it is not a plain location path" in said


def test_a_query_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    path = str(tmp_path / "s.json")
    args = ["--schema", str(SCHEMAS / "university.dtd"), "--root", "db", "--queries", "-"]
    queries = "\x1b[2J\t//name\n"
    assert run("prep", *args, "--chunks", "1", "-o", path, stdin=queries).exit_code == 0
    said = run("explain", "--scheme", path, "\x1b[2J").stdout
    assert "\x1b" not in said
    assert "\ufffd[2J" in said


def test_the_picture(scheme: str, tmp_path: Path) -> None:
    svg, dot = tmp_path / "tree.svg", tmp_path / "tree.dot"
    result = run("explain", "--scheme", scheme, "--svg", str(svg), "--dot", str(dot))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert etree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert dot.read_text(encoding="utf-8").startswith("digraph")
    assert run("explain", "--scheme", scheme, "--dot", "-").stdout.startswith("digraph")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nam"], "did you mean 'names'"),
        (["zzz"], "the scheme has no query 'zzz'"),
    ],
)
def test_an_unknown_query_is_exit_2(scheme: str, args: list[str], message: str) -> None:
    result = run("explain", "--scheme", scheme, *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_scheme_that_is_none_is_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "scheme.json"
    path.write_text('{"format": 3}', encoding="utf-8")
    result = run("explain", "--scheme", str(path))
    assert result.exit_code == 2
    assert "format 3" in result.stderr
    assert "scheme.json" in result.stderr
    assert run("explain", "--scheme", str(tmp_path / "no.json")).exit_code == 2
    assert run("explain").exit_code == 2


def test_explain_checks_the_schema(scheme: str, tmp_path: Path) -> None:
    assert run("explain", "--scheme", scheme, *UNIVERSITY[:2]).exit_code == 0
    other = run("explain", "--scheme", scheme, *UNIVERSITY[:2], "--root", "student")
    assert other.exit_code == 2
    assert "start with db, not with student" in other.stderr
    changed = tmp_path / "changed.dtd"
    text = Path(UNIVERSITY[1]).read_text(encoding="utf-8")
    changed.write_text(f"{text}<!ELEMENT new EMPTY>", encoding="utf-8")
    result = run("explain", "--scheme", scheme, "--schema", str(changed))
    assert result.exit_code == 2
    assert "the scheme was made for another schema" in result.stderr
    assert result.stdout == ""
    assert "--root is for --schema" in run("explain", "--scheme", scheme, "--root", "a").stderr
