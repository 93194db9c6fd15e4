"""FLWR queries in ``extract trans``, ``explain`` and ``subs``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import run

PLAIN = "for $a in //a where $a/b = 1 return <r>{ $a/b }</r>"
PAIRS = "<o>{ for $a in //a where $a/b[. = $a/@id] return <r>{ $a/b }</r> }</o>"
SCHEME = ("--scheme", "flwr.json")


@pytest.fixture
def flwr(here: Path) -> Path:
    Path("flwr.tsv").write_text(f"plain\t{PLAIN}\npairs\t{PAIRS}\nxpath\t//a\n")
    made = run("prep", "--schema", "none", "--queries", "flwr.tsv", "-o", "flwr.json")
    assert made.exit_code == 0, made.stderr
    return here


def listed() -> dict[str, str]:
    lines = run("subs", *SCHEME, "list").stdout.splitlines()
    return {name: text for name, _, text in (line.split("\t") for line in lines)}


@pytest.mark.usefixtures("flwr")
def test_explain_shows_the_text_and_what_it_binds() -> None:
    plain = run("explain", *SCHEME, "plain").stdout.splitlines()
    assert plain[:2] == [f"query plain: {PLAIN}", "it binds: //a[b = 1]"]
    assert "  found by: //a/b = 1" in plain
    pairs = run("explain", *SCHEME, "pairs").stdout.splitlines()
    assert pairs[1] == "in FLWR: evaluated by lxml, as it is, on the whole document"
    assert "does not decide FLWR" in pairs[-1]
    facts = [json.loads(run("explain", *SCHEME, n, "--json").stdout) for n in ("plain", "xpath")]
    assert [one["output"] for one in facts] == [True, False]


@pytest.mark.usefixtures("flwr")
def test_subs_adds_replaces_and_removes_flwr() -> None:
    assert listed() == {"plain": PLAIN, "pairs": PAIRS, "xpath": "//a"}
    new, other = "for $b in //b return <n>{ $b }</n>", "for $b in //b return <m>{ $b }</m>"
    assert run("subs", *SCHEME, "add", "new", new).exit_code == 0
    assert run("subs", *SCHEME, "replace", "xpath", other).exit_code == 0
    assert run("subs", *SCHEME, "remove", "plain", "pairs").exit_code == 0
    assert listed() == {"new": new, "xpath": other}
    Path("d.xml").write_text("<d><b>1</b></d>")
    shown = run("match", *SCHEME, "d.xml", "--select", "output").stdout.splitlines()
    found = {row["query"]: row["output"] for row in map(json.loads, shown)}
    assert found == {"new": "<n><b>1</b></n>", "xpath": "<m><b>1</b></m>"}


@pytest.mark.usefixtures("flwr")
def test_subs_says_where_a_query_is_wrong() -> None:
    done = run("subs", *SCHEME, "add", "bad", "for $b in //b return <n>{ $c }</n>")
    assert done.exit_code == 1
    assert "$c" in done.stderr
    assert "^" in done.stderr
    assert "bad\trejected\t" in run("subs", *SCHEME, "list").stdout


@pytest.mark.usefixtures("flwr")
def test_trans_has_the_text_and_the_normal_form() -> None:
    done = run("trans", "--schema", "none", "--queries", "flwr.tsv")
    facts = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert (facts["plain"]["xpath"], facts["plain"]["normal"]) == (PLAIN, "//a[b = 1]")
    assert (facts["pairs"]["status"], facts["pairs"]["version"]) == ("later", "flwr")
    assert "1 in XPath 2.0 or later, or in FLWR" in done.stderr
