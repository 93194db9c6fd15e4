"""``extract trans`` and ``extract bench trans`` as a user calls them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from extract.cli import cli
from tests.support.paths import SCHEMAS

FIGURE4 = ["--schema", str(SCHEMAS / "figure4.dtd"), "--root", "a"]


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def trans(queries: str, *args: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, output lines and standard error for queries given on standard input."""
    result = run("trans", *FIGURE4, "--queries", "-", *args, stdin=queries)
    return result.exit_code, [json.loads(x) for x in result.stdout.splitlines()], result.stderr


def test_the_papers_examples() -> None:
    status, lines, summary = trans("//c\n/a/b/*/d\n/a/d\n/a/b/m/../k\n")
    assert status == 0
    assert [line["normal"] for line in lines] == [
        "/a/b/l/c | /a/b/m//c",
        "/a/b/k/d",
        "",
        "/a/b[m]/k",
    ]
    assert [line["status"] for line in lines] == ["normal", "normal", "unsatisfiable", "normal"]
    assert lines[2]["unsatisfiable"] == "a has no child d (at /a)"
    assert "4 queries" in summary
    assert "1 unsatisfiable" in summary


def test_a_line_tells_branches_rules_and_reasons() -> None:
    _, (line,), _ = trans("news\t//c\n")
    assert line["id"] == "news"
    assert line["xpath"] == "//c"
    assert line["branches"] == [
        {"xpath": "/a/b/l/c", "prefix": "/a/b/l/c", "residual": "", "reason": ""},
        {
            "xpath": "/a/b/m//c",
            "prefix": "/a/b/m",
            "residual": "//c",
            "reason": "the schema recurses below /a/b/m",
        },
    ]
    assert "expand_descendant" in line["rules"]
    assert line["potpourri"] == ["the schema recurses below /a/b/m"]


def test_equal_queries_are_collapsed() -> None:
    _, lines, summary = trans("x\t//k/d\ny\t/a/b/k/d\nz\t//c\nw\t//d[parent::k]\n")
    assert [line["same_as"] for line in lines][:3] == [None, None, None]
    _, lines, summary = trans("x\t/a/b[m][k]\ny\t/a/b[k and m]\n", "--json")
    assert [line["same_as"] for line in lines] == [None, "x"]
    assert json.loads(summary)["queries"]["canonical"] == 1


def test_a_bad_query_is_rejected_and_the_others_go_on() -> None:
    status, lines, errors = trans("good\t//c\nbad\t//c[\nworse\texists(//c)\n")
    assert status == 1
    assert [line["status"] for line in lines] == ["normal", "rejected", "rejected"]
    assert lines[1]["line"] == 2
    assert lines[1]["column"] == 9
    assert "<stdin>:2:9" in errors
    assert "^" in errors
    assert "XPath 2.0" in errors


def test_the_counts_add_up() -> None:
    _, _, summary = trans("//c\n//c\n/zzz\n//c[\n", "--json")
    counts = json.loads(summary)["queries"]
    assert counts["registered"] == 4
    assert counts["normal"] + counts["unsatisfiable"] + counts["rejected"] == 4
    assert counts == counts | {"normal": 2, "canonical": 1, "unsatisfiable": 1, "rejected": 1}


def test_limits_are_options() -> None:
    _, (line,), _ = trans("//*\n", "--max-branches", "2")
    assert len(line["branches"]) <= 2
    _, (line,), _ = trans("//c\n", "--max-branches", "1")
    assert line["normal"] == "/a/b//c"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--schema", "no.dtd", "--queries", "-"], "no.dtd"),
        ([*FIGURE4, "--queries", "no.tsv"], "no.tsv"),
        ([*FIGURE4[:2], "--root", "zzz", "--queries", "-"], "zzz"),
        (["--queries", "-"], "--schema"),
        ([*FIGURE4, "--queries", "-", "--max-branches", "0"], "max-branches"),
    ],
)
def test_nothing_done_is_exit_2(args: list[str], message: str) -> None:
    result = run("trans", *args, stdin="//c\n")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_duplicate_ids_are_an_error_of_the_file() -> None:
    status, lines, errors = trans("x\t//c\nx\t//d\n")
    assert (status, lines) == (2, [])
    assert "x" in errors


def test_files_pipes_and_gzip(tmp_path: Path) -> None:
    queries = tmp_path / "q.tsv.gz"
    queries.write_bytes(gzip.compress(b"//c\n"))
    out = tmp_path / "out.jsonl"
    result = run("trans", *FIGURE4, "--queries", str(queries), "-o", str(out))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert json.loads(out.read_text())["normal"] == "/a/b/l/c | /a/b/m//c"
    piped = subprocess.run(
        [sys.executable, "-m", "extract", "trans", *FIGURE4, "--queries", "-"],
        input="//c\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(piped.stdout)["status"] == "normal"


def test_a_file_without_queries_is_refused_as_by_every_command() -> None:
    status, lines, told = trans("# nothing yet\n")
    assert (status, lines) == (2, [])
    assert "<stdin>: there is no query in the file" in told


def test_namespaced_normal_forms_can_be_used_as_they_are() -> None:
    args = ["--schema", str(SCHEMAS / "orders.xsd"), "--queries", "-"]
    namespaces = [f"--ns=o={_orders_namespace()}"]
    result = run("trans", *args, *namespaces, stdin="//o:*\n")
    assert result.exit_code == 0
    line = json.loads(result.stdout)
    assert line["status"] == "normal"
    used = {part.split(":")[0].strip("/ |@") for part in line["normal"].split("/") if ":" in part}
    assert used <= set(line["namespaces"])
    assert _orders_namespace() in line["namespaces"].values()


def _orders_namespace() -> str:
    text = (SCHEMAS / "orders.xsd").read_text(encoding="utf-8")
    return text.split('targetNamespace="')[1].split('"')[0]


def test_bench_runs_on_its_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("bench", "trans", "--scale", "0.002", "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert {row["queries"] for row in rows} == {"linear", "nested1", "nested2"}
    assert all(row["branches"] > 1 for row in rows)
