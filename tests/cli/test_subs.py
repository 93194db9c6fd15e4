"""``extract subs`` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from extract import Schema, Scheme, Subscriptions
from extract.cli import cli
from extract.cli.exclusive import Unchanged, exclusively
from extract.errors import SchemeError
from extract.preptool.prepare import prepare
from extract.transtool.rules.make_absolute import make_absolute
from extract.xpath.parser import parse
from tests.support.paths import ROOT
from tests.support.scheme_facts import facts
from tests.support.schemes import UNIVERSITY

QUERIES = {
    "names": "//student/name",
    "mail": "/db/*[email]",
    "count": "count(//url)",
    "third": "/db[professor/name = 'Codd']/student[3]/name",
    "none": "/db/zzz",
    "bad": "//a[",
}


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def fresh(queries: dict[str, str]) -> Scheme:
    return prepare(UNIVERSITY, Subscriptions.of(queries), 3)


@pytest.fixture
def scheme(tmp_path: Path) -> str:
    path = tmp_path / "scheme.json"
    fresh(QUERIES).save(path)
    return str(path)


def is_as_fresh(path: str | Path, queries: dict[str, str]) -> bool:
    found, expected = facts(Scheme.load(path)), facts(fresh(queries))
    return {**found, "rejected": 0} == {**expected, "rejected": 0}  # but for lines in files


# -- add


def test_add_one(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "add", "new", "/db/lecturer[url]/name")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert is_as_fresh(scheme, {**QUERIES, "new": "/db/lecturer[url]/name"})
    assert "1 query added in" in result.stderr
    assert "now 7: 5 can match, 1 unsatisfiable, 1 rejected" in result.stderr


def test_it_says_what_changed(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "add", "a", "//professor/name", "b", "//professor")
    assert "no more a chunk: /db/assistant" in result.stderr
    assert "new chunk 1: /db/professor, 2 queries" in result.stderr
    assert "potpourri: " in result.stderr
    assert "2 queries added" in result.stderr
    result = run("subs", "--scheme", scheme, "add", "c", "//student/name/text()")
    assert "chunk 3 /db/student/name: 2 → 3 queries, 2 → 3 branches" in result.stderr


def test_add_from_a_file_with_namespaces_and_weights(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    rows = [{"id": "x", "xpath": "//p:a", "weight": 2.5}, {"id": "y", "xpath": "/db/student[1]"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = run("subs", "--scheme", scheme, "add", "--queries", str(file), "--ns", "p=urn:p")
    assert result.exit_code == 0
    listed = [json.loads(line) for line in run_list(scheme, "--json")]
    x = next(row for row in listed if row["id"] == "x")
    assert x["namespaces"] == {"p": "urn:p"}
    assert x["weight"] == 2.5


def test_add_from_standard_input(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "add", "-q", "-", stdin="x\t//email\n//link\n")
    assert result.exit_code == 0
    assert is_as_fresh(scheme, {**QUERIES, "x": "//email", "2": "//link"})


def test_a_rejected_query_is_recorded_and_exit_1(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "add", "-q", "-", stdin="x\t//email\ny\t//name[\n")
    assert result.exit_code == 1
    assert "query 'y' rejected: <stdin>:2:10" in result.stderr
    assert "^" in result.stderr
    assert {one.id for one in Scheme.load(scheme).rejected} == {"bad", "y"}
    assert "x" in {query.id for query in Scheme.load(scheme).queries}


def test_the_revised_scheme_may_go_elsewhere(scheme: str, tmp_path: Path) -> None:
    before = Path(scheme).read_bytes()
    other = tmp_path / "other.json"
    args = ["subs", "--scheme", scheme, "add", "x", "//email", "-o"]
    assert run(*args, str(other)).exit_code == 0
    assert Path(scheme).read_bytes() == before
    assert is_as_fresh(other, {**QUERIES, "x": "//email"})
    assert json.loads(run(*args, "-").stdout) == json.loads(other.read_text(encoding="utf-8"))


def test_json_has_the_same_facts(scheme: str) -> None:
    args = ["subs", "--scheme", scheme, "add", "--json", "a", "//professor", "b", "/db/yyy"]
    result = run(*args, "c", "//a[")
    assert result.exit_code == 1
    told = json.loads(result.stderr)
    assert (told["added"], told["removed"]) == (3, 0)
    assert [one["id"] for one in told["rejected"]] == ["c"]
    assert [one["id"] for one in told["unsatisfiable"]] == ["b"]
    assert told["queries"]["registered"] == 9
    assert set(told["chunks"]) == {"new", "gone", "changed"}
    assert told["seconds"] >= 0


# -- remove


def test_remove(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "remove", "mail", "none", "bad")
    assert result.exit_code == 0
    assert "3 queries removed" in result.stderr
    left = {name: QUERIES[name] for name in ("names", "count", "third")}
    assert is_as_fresh(scheme, left)
    result = run("subs", "--scheme", scheme, "remove", *left)
    assert result.exit_code == 0
    assert "Note: there is no query to cut documents for" in result.stderr
    assert is_as_fresh(scheme, {})


def test_remove_what_a_file_names(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "ids.tsv"
    file.write_text("# gone\nmail\n\nthird\t/db/whatever\n", encoding="utf-8")
    assert run("subs", "--scheme", scheme, "remove", "--ids", str(file)).exit_code == 0
    assert is_as_fresh(scheme, {k: v for k, v in QUERIES.items() if k not in ("mail", "third")})


# -- replace


def test_replace(scheme: str) -> None:
    result = run("subs", "--scheme", scheme, "replace", "mail", "//url", "count", "count(//name)")
    assert result.exit_code == 0
    assert "2 queries replaced in" in result.stderr
    assert is_as_fresh(scheme, {**QUERIES, "mail": "//url", "count": "count(//name)"})


def test_replace_from_a_file_and_by_another_kind(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "new.tsv"
    file.write_text("names\t/db/zzz\nnone\t//name\nbad\t//email\n", encoding="utf-8")
    result = run("subs", "--scheme", scheme, "replace", "--json", "--queries", str(file))
    assert result.exit_code == 0
    told = json.loads(result.stderr)
    assert (told["added"], told["replaced"], told["removed"]) == (0, 3, 0)
    assert [one["id"] for one in told["unsatisfiable"]] == ["names"]
    new = {"names": "/db/zzz", "none": "//name", "bad": "//email"}
    assert is_as_fresh(scheme, {**QUERIES, **new})


def test_a_missing_id_says_where_it_is_in_the_file(scheme: str) -> None:
    before = Path(scheme).read_bytes()
    lines = "names\t//email\nnowhere\t//url\n"
    result = run("subs", "--scheme", scheme, "replace", "-q", "-", stdin=lines)
    assert result.exit_code == 2
    assert "<stdin>:2:1: the scheme has no query 'nowhere'" in result.stderr
    result = run("subs", "--scheme", scheme, "replace", "-q", "-", stdin="names\t//a[\n")
    assert "<stdin>:1:11: query 'names': " in result.stderr
    assert "^" in result.stderr
    assert Path(scheme).read_bytes() == before


def test_the_id_of_a_rejected_query_is_free(scheme: str) -> None:
    assert run("subs", "--scheme", scheme, "add", "bad", "//b[").exit_code == 1
    assert [one.xpath for one in Scheme.load(scheme).rejected] == ["//b["]
    assert run("subs", "--scheme", scheme, "add", "bad", "//email").exit_code == 0
    assert is_as_fresh(scheme, {**QUERIES, "bad": "//email"})
    assert run("subs", "--scheme", scheme, "add", "bad", "//email").exit_code == 2


# -- prefixes


@pytest.fixture
def orders(tmp_path: Path) -> str:
    schema = Schema.load(ROOT / "schemas" / "orders.xsd")
    namespaces = {"x": "urn:1", **schema.prefixes}
    queries = Subscriptions.of({"old": "//x:y", "all": "//po:order"}, namespaces)
    prepare(schema, queries, 1).save(tmp_path / "orders.json")
    return str(tmp_path / "orders.json")


@pytest.mark.parametrize(
    ("args", "stdin", "expanded"),
    [
        (["new", "//po:order/x:y"], "", "//{po}order/{x}y"),
        (["new", "//x:y", "--ns", "x=urn:2"], "", "//{urn:2}y"),
        (["new", "//x:y | //z:y", "--ns", "z=urn:1"], "", "//{x}y | //{x}y"),
        (["-q", "-"], "#! ns x=urn:2\nnew\t//x:y[po:item]\n", "//{urn:2}y[{po}item]"),
        (
            ["-q", "-"],
            '{"id": "new", "xpath": "//x:y/po:z", "namespaces": {"po": "urn:3"}}',
            "//{x}y/{urn:3}z",
        ),
    ],
)
@pytest.mark.parametrize("command", ["add", "replace"])
def test_prefixes_that_are_not_bound_are_those_of_the_scheme(
    orders: str, args: list[str], stdin: str, expanded: str, command: str
) -> None:
    if command == "replace":
        assert run("subs", "--scheme", orders, "add", "new", "//po:item").exit_code == 0
    table = Scheme.load(orders).namespaces
    assert run("subs", "--scheme", orders, command, *args, stdin=stdin).exit_code == 0
    scheme = Scheme.load(orders)
    (new,) = [one for one in scheme.subscribers if one.id == "new"]
    uris = {"po": table["po"], "x": table["x"], "urn:2": "urn:2", "urn:3": "urn:3"}
    prefix = {uri: name for name, uri in scheme.namespaces.items()}
    expected = expanded
    for name, uri in uris.items():
        expected = expected.replace(f"{{{name}}}", f"{prefix.get(uri)}:")
    assert str(make_absolute(parse(expected))) == new.absolute


def test_a_prefix_that_nobody_binds_is_still_rejected(orders: str) -> None:
    result = run("subs", "--scheme", orders, "add", "new", "//nobody:y")
    assert result.exit_code == 1
    assert "nobody" in result.stderr


def test_later_versions_keep_their_own_prefixes(orders: str) -> None:
    args = ["add", "odd", "//fn:y", "--ns", "fn=urn:fn"]
    assert run("subs", "--scheme", orders, *args).exit_code == 0
    args = ["add", "new", "//po:order[fn:exists(x:y)]", "--xpath-version", "3.1"]
    assert run("subs", "--scheme", orders, *args).exit_code == 0
    (later,) = Scheme.load(orders).later
    assert later.namespaces == {"po": Scheme.load(orders).namespaces["po"], "x": "urn:1"}


# -- list


def run_list(scheme: str, *args: str) -> list[str]:
    result = run("subs", "--scheme", scheme, "list", *args)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_list(scheme: str) -> None:
    rows = [line.split("\t") for line in run_list(scheme)]
    assert [row[0] for row in rows] == ["names", "mail", "count", "third", "none", "bad"]
    assert rows[0] == ["names", "3", "//student/name"]
    assert rows[1][1] == "1,2,potpourri"
    assert rows[4][1:] == ["unsatisfiable", "/db/zzz"]
    assert rows[5][1:] == ["rejected", "//a["]


def test_what_is_listed_as_json_can_be_prepared_again(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(f"{line}\n" for line in run_list(scheme, "--json")), encoding="utf-8")
    again = prepare(UNIVERSITY, Subscriptions.load(file), 3)
    assert again.chunks == Scheme.load(scheme).chunks
    status = {row["id"]: row for row in map(json.loads, run_list(scheme, "--json"))}
    assert status["third"]["chunks"] == ["3"]
    assert "db has no child zzz" in status["none"]["reason"]


OWNED: list[dict[str, Any]] = [
    {"id": "a", "xpath": "//email", "owner": "sales", "tags": ["x", "y"], "team": {"floor": 3}},
    {"id": "b", "xpath": "//url", "owner": "it", "tags": ["y"], "active": True},
    {"id": "c", "xpath": "/db/zzz", "owner": "sales", "team": {"floor": "3"}},
    {"id": "d", "xpath": "//a[", "owner": "sales"},
    {"id": "e", "xpath": "//name[matches(., 'x')]", "version": "2.0", "tags": [1, None]},
    {"id": "f", "xpath": "//email", "weight": 2},
]


@pytest.fixture
def owned(tmp_path: Path) -> str:
    file, scheme = tmp_path / "owned.jsonl", tmp_path / "owned.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in OWNED), encoding="utf-8")
    prepare(UNIVERSITY, Subscriptions.load(file), 2).save(scheme)
    return str(scheme)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (["owner=sales"], "acd"),
        (["owner=sales", "tags=y"], "a"),
        (["tags=y"], "ab"),
        (["tags=1"], "e"),
        (["tags=1.0"], "e"),
        (["tags=null"], "e"),
        (["team.floor=3"], "ac"),
        (["team.floor=3.0"], "a"),
        (["active=true"], "b"),
        (["active=True"], ""),
        (["owner=Sales"], ""),
        (["owner="], ""),
    ],
)
def test_list_where(owned: str, where: list[str], ids: str) -> None:
    args = [part for one in where for part in ("--where", one)]
    rows = [json.loads(line) for line in run_list(owned, "--json", *args)]
    assert sorted(row["id"] for row in rows) == sorted(ids)
    assert [line.split("\t")[0] for line in run_list(owned, *args)] == [row["id"] for row in rows]


def test_a_key_that_nobody_has_is_noted(owned: str) -> None:
    result = run("subs", "--scheme", owned, "list", "--where", "ownr=sales")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no subscription has the metadata 'ownr'; did you mean 'owner'?" in result.stderr


def test_metadata_is_listed_and_can_be_prepared_again(owned: str, tmp_path: Path) -> None:
    lines = run_list(owned, "--json")
    rows = {row["id"]: row for row in map(json.loads, lines)}
    for given in OWNED:
        assert given.items() <= {**rows[str(given["id"])], "xpath": given["xpath"]}.items()
    file = tmp_path / "again.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    again = prepare(UNIVERSITY, Subscriptions.load(file), 2)
    assert again.metadata == Scheme.load(owned).metadata


def test_a_query_given_here_is_replaced_alone_and_a_line_replaces_everything(owned: str) -> None:
    args = ["replace", "a", "/db/lecturer", "d", "//url", "f", "//url"]
    assert run("subs", "--scheme", owned, *args).exit_code == 0
    scheme = Scheme.load(owned)
    subscribers = {one.id: one for one in scheme.subscribers}
    assert scheme.metadata["a"] == {k: OWNED[0][k] for k in ("owner", "tags", "team")}
    assert scheme.metadata["d"] == {"owner": "sales"}
    assert subscribers["f"].weight == 2
    assert run("subs", "--scheme", owned, "replace", "f", "//url", "--weight", "3").exit_code == 0
    line = '{"id": "a", "xpath": "//email", "owner": "it"}'
    assert run("subs", "--scheme", owned, "replace", "-q", "-", stdin=line).exit_code == 0
    scheme = Scheme.load(owned)
    assert scheme.metadata["a"] == {"owner": "it"}
    assert {one.id: one for one in scheme.subscribers}["f"].weight == 3


def test_a_query_cannot_speak_to_the_terminal(scheme: str) -> None:
    assert run("subs", "--scheme", scheme, "add", "\x1b[2J", "//email").exit_code == 0
    assert "\x1b" not in "".join(run_list(scheme))


# -- nothing done


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["add", "names", "//x"], "the scheme already has a query 'names'"),
        (["add", "new", "//email", "none", "//x"], "already has a query 'none'"),
        (["replace", "names", "//email", "nam", "//x"], "did you mean 'names'"),
        (["replace", "names", "//email", "mail", "//x["], "query 'mail': "),
        (["replace", "names", "//p:x"], "query 'names': "),
        (["replace", "names"], "Give an ID and an XPATH"),
        (["replace", "names", "//x", "names", "//y"], "two queries have the id 'names'"),
        (["list", "--where", "owner"], "not of the form key=value"),
        (["list", "--where", "=x"], "not of the form key=value"),
        (["add", "new", "//email", "new", "//x"], "two queries have the id 'new'"),
        (["add"], "Give an ID and an XPATH"),
        (["add", "//email"], "Give an ID and an XPATH"),
        (["add", "a", "//email", "-q", "file"], "Give an ID and an XPATH"),
        (["add", "-q", "no-such-file"], "no-such-file: cannot read the query file"),
        (["add", "a", "//email", "--weight", "0"], "--weight"),
        (["add", "a", "//p:x", "--ns", "p"], "prefix=uri"),
        (["add", "a", "//x", "-o", "no/where.json"], "no/where.json"),
        (["remove", "mail", "nam"], "did you mean 'names'"),
        (["remove"], "Give the ID"),
        (["remove", "--ids", "no-such-file"], "no-such-file"),
        (["removed"], "No such command"),
        ([], "Usage"),
    ],
)
def test_nothing_done_is_exit_2(scheme: str, args: list[str], message: str) -> None:
    before = Path(scheme).read_bytes()
    result = run("subs", "--scheme", scheme, *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert Path(scheme).read_bytes() == before
    assert [one.name for one in Path(scheme).parent.iterdir()] == ["scheme.json"]


def test_a_file_without_ids_is_told_why_they_clash(scheme: str) -> None:
    assert run("subs", "--scheme", scheme, "add", "-q", "-", stdin="//email\n").exit_code == 0
    result = run("subs", "--scheme", scheme, "add", "-q", "-", stdin="//link\n")
    assert result.exit_code == 2
    assert "<stdin>:1:1: the scheme already has a query '1'" in result.stderr
    assert "takes its line number" in result.stderr


@pytest.mark.parametrize("command", [["add", "a", "//b"], ["remove", "a"], ["list"]])
def test_a_scheme_that_is_none_is_exit_2(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "scheme.json"
    for content in (None, '{"format": 1}', "{"):
        if content is not None:
            path.write_text(content, encoding="utf-8")
        result = run("subs", "--scheme", str(path), *command)
        assert result.exit_code == 2
        assert "scheme.json" in result.stderr
    assert run("subs", *command).exit_code == 2


def test_a_scheme_of_unknown_weights_is_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "scheme.json"
    prepare(UNIVERSITY, Subscriptions.of(["//name"]), 1, lambda query: 2.0).save(path)
    result = run("subs", "--scheme", str(path), "add", "a", "//b")
    assert result.exit_code == 2
    assert "weighed by a function" in result.stderr


# -- several at once


def test_two_at_once_wait_for_each_other(scheme: str) -> None:
    ids = [f"new{i}" for i in range(4)]
    command = [sys.executable, "-m", "extract", "subs", "--scheme", scheme, "add"]
    root = str(ROOT)
    environment = {**os.environ, "PYTHONPATH": root}
    started = [
        subprocess.Popen(
            [*command, name, f"//student[name = '{name}']"],
            env=environment,
            stderr=subprocess.PIPE,
        )
        for name in ids
    ]
    for process in started:
        process.communicate()
    assert [process.returncode for process in started] == [0] * len(ids)
    registered = {one.id for query in Scheme.load(scheme).queries for one in query.subscribers}
    assert registered.issuperset(ids)


def test_who_waits_sees_what_was_written_meanwhile(scheme: str) -> None:
    entered, seen = threading.Event(), []

    def second() -> None:
        entered.set()
        with exclusively(scheme):
            seen.append(Path(scheme).read_text(encoding="utf-8"))

    other = threading.Thread(target=second)
    with exclusively(scheme):
        other.start()
        entered.wait()
        replacement = Path(scheme).with_name("replacement")
        replacement.write_text("new", encoding="utf-8")
        assert not seen
        replacement.replace(scheme)  # from here on whoever opens it has the new one, and may go on
    other.join()
    assert seen == ["new"]


def test_a_file_that_somebody_else_replaced_is_not_overwritten(scheme: str) -> None:
    unchanged = Unchanged(scheme)
    unchanged.check()
    Path(scheme).write_text("prepared again", encoding="utf-8")
    with pytest.raises(SchemeError, match="changed by somebody else"):
        unchanged.check()
