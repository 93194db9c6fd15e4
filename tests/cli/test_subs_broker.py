"""``extract subs --url``: the subscriptions of a broker, with the commands for a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from pyarrow import csv, parquet

import extract
from extract.cli.broker_subs import BrokerOptions
from tests.support.commands import run
from tests.support.running_broker import running_broker

FLWR = "for $a in //a return <b>{ $a/c }</b>"


def subs(url: str, feed: str, *args: str, stdin: str = "") -> Result:
    return run("subs", "--url", f"{url}/feeds/{feed}", *args, stdin=stdin)


def test_add_replace_remove_list(url: str, feed: str, here: Path) -> None:
    a, b = f"{feed}-a", f"{feed}-b"
    added = subs(url, feed, "add", a, "//a", b, FLWR)
    assert added.exit_code == 0, added.output
    assert "2 queries added in" in added.stderr
    assert f"now 2 in the feed {feed}" in added.stderr
    replaced = subs(url, feed, "replace", a, "//p:c", "--ns", "p=urn:p", "--json")
    assert json.loads(replaced.stderr)["replaced"] == 1
    listed = subs(url, feed, "list")
    assert listed.stdout == f"{a}\txpath\t//p:c\n{b}\tflwr\t{FLWR}\n"
    assert subs(url, feed, "remove", a).exit_code == 0
    lines = subs(url, feed, "list", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"id": b, "flwr": FLWR}]


def test_an_xpath_given_here_replaces_the_query_alone(url: str, feed: str, here: Path) -> None:
    line = {"id": f"{feed}-a", "xpath": "//a", "owner": "ada", "webhook": "https://hooks.example/h"}
    Path("more.jsonl").write_text(json.dumps(line))
    added = subs(url, feed, "add", "--queries", "more.jsonl")
    assert added.exit_code == 0, added.output
    assert subs(url, feed, "replace", f"{feed}-a", "//b").exit_code == 0
    kept = json.loads(subs(url, feed, "list", "--where", "owner=ada", "--json").stdout)
    assert kept == {**line, "xpath": "//b"}
    assert subs(url, feed, "list", "--where", "owner=bob").stdout == ""
    Path("more.jsonl").write_text(json.dumps({"id": f"{feed}-a", "xpath": "//c"}))
    assert subs(url, feed, "replace", "--queries", "more.jsonl").exit_code == 0
    bare = json.loads(subs(url, feed, "list", "--json").stdout)
    assert bare == {"id": f"{feed}-a", "xpath": "//c"}


@pytest.mark.parametrize("name", ["all.csv", "all.parquet", "all.jsonl"])
def test_an_export_can_be_imported(url: str, feed: str, here: Path, name: str) -> None:
    with extract.Client(url) as client:
        some = [
            extract.Subscription(f"{feed}-1", "//p:a", {"p": "urn:p"}, metadata={"team": "x"}),
            extract.Subscription(f"{feed}-2", FLWR),
        ]
        client.add(feed, some)
        exported = subs(url, feed, "export", name)
        assert exported.exit_code == 0, exported.output
        assert "2 queries exported" in exported.stderr
        before = list(client.subscriptions(feed))
        client.remove(feed, [one.id for one in some])
        imported = subs(url, feed, "import", name)
        assert imported.exit_code == 0, imported.output
        assert list(client.subscriptions(feed)) == before


def test_the_columns_of_an_export_are_those_of_a_scheme(url: str, feed: str, here: Path) -> None:
    subs(url, feed, "add", f"{feed}-1", "//a")
    subs(url, feed, "export", "all.csv")
    subs(url, feed, "export", "all.parquet")
    run("prep", "--schema", "none", "--queries", "q.tsv", "-o", "scheme.json", "--chunks", "1")
    run("subs", "--scheme", "scheme.json", "export", "other.parquet")
    names = parquet.read_table("other.parquet").column_names
    assert parquet.read_table("all.parquet").column_names == names
    assert csv.read_csv("all.csv").column_names == names


def test_what_a_broker_refuses_is_an_error(url: str, feed: str, here: Path) -> None:
    wrong = subs(url, feed, "add", f"{feed}-1", "//a[")
    assert (wrong.exit_code, "\n  //a[\n      ^" in wrong.stderr) == (2, True)
    subs(url, feed, "add", f"{feed}-1", "//a")
    for args, text in (
        (("add", f"{feed}-1", "//b"), "is taken"),
        (("replace", "missing", "//b"), "no such subscription"),
        (("remove", "missing"), "no such subscription"),
        (("list", "--sql"), "--sql is for a scheme in a database"),
        (("add", "x", "//b", "-o", "f"), "--output is for a scheme"),
        (("upgrade",), "Only a scheme in a database"),
    ):
        refused = subs(url, feed, *args)
        assert (refused.exit_code, text in refused.stderr) == (2, True), refused.output
        assert "Traceback" not in refused.output


def test_which_feed(url: str, feed: str, here: Path) -> None:
    named = run("subs", "--url", url, "--feed", feed, "list")
    assert named.exit_code == 0, named.output
    missing = run("subs", "--url", url, "--feed", "nowhere", "list")
    assert (missing.exit_code, "no such feed" in missing.stderr) == (2, True)
    both = run("subs", "--url", f"{url}/feeds/{feed}", "--feed", "other", "list")
    assert (both.exit_code, "names the feed" in both.stderr) == (2, True)
    with extract.Client(url) as client:
        client.put_feed("one-more")
    many = run("subs", "--url", url, "list")
    assert (many.exit_code, "choose one with --feed: " in many.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "Give --scheme, or --url for a broker"),
        (["--scheme", "s.json", "--url", "http://x"], "not both"),
        (["--scheme", "s.json", "--feed", "x"], "are for --url"),
        (["--url", "http://127.0.0.1:9/?token=x"], "--token-file"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], text: str, here: Path) -> None:
    refused = run("subs", *options, "list")
    assert (refused.exit_code, text in refused.stderr) == (2, True), refused.output


def test_the_only_feed_need_not_be_named(tmp_path: Path) -> None:
    tokens, token = tmp_path / "tokens", tmp_path / "mine"
    tokens.write_text("ops fedcba9876543210 admin\n")
    tokens.chmod(0o600)
    token.write_text("fedcba9876543210\n")
    with running_broker(tmp_path / "store", tokens) as url:
        none = run("subs", "--url", url, "--token-file", str(token), "list")
        assert (none.exit_code, "has no feed" in none.stderr) == (2, True)
        with extract.Client(url, token_file=token) as client:
            client.put_feed("only")
        options = ["--url", url, "--token-file", str(token)]
        assert run("subs", *options, "add", "a", "//a").exit_code == 0
        assert run("subs", *options, "list").stdout == "a\txpath\t//a\n"
        refused = run("subs", "--url", url, "list")
        assert (refused.exit_code, "EXTRACT_TOKEN" in refused.stderr) == (2, True)
        with BrokerOptions(url, None, str(token)).open() as (_, feed):
            assert feed == "only"
