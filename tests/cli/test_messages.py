"""Files of many documents, as a user of ``extract match`` and ``extract run`` meets them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from lxml import etree
from pyarrow import parquet

from extract.cli import cli

QUERIES = "names\t//name\ndear\t/item[price > 5]\nany\t/item/@id\n"
ITEMS = [f'<item id="{n}"><name>caf\u00e9 {n}</name><price>{n}</price></item>' for n in range(12)]


def run(*args: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


def rows(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def expected() -> list[tuple[int, str, str | None]]:
    """By lxml: the number of each item, the queries that match it, and the path."""
    queries = [line.split("\t") for line in QUERIES.splitlines()]
    found = []
    for number, item in enumerate(ITEMS):
        tree = etree.fromstring(item.encode())
        for name, xpath in queries:
            for node in tree.xpath(xpath):
                element = node if isinstance(node, etree._Element) else node.getparent()
                tag = element.getroottree().getpath(element)
                found.append((number, name, tag))
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with queries, and the same messages in files of all forms."""
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(QUERIES, encoding="utf-8")
    Path("all.xml").write_text("\n".join(ITEMS), encoding="utf-8")
    Path("all.xml.gz").write_bytes(gzip.compress("".join(ITEMS).encode()))
    Path("feed.xml").write_text(f"<feed>{' '.join(ITEMS)}</feed>", encoding="utf-8")
    lines = [json.dumps({"document": item}) + "\n" for item in ITEMS]
    Path("all.jsonl").write_text("".join(lines), encoding="utf-8")
    parquet.write_table(pa.table({"document": ITEMS}), "all.parquet")
    parquet.write_table(pa.table({"body": ITEMS, "id": list(range(12))}), "other.parquet")
    return tmp_path


FORMS = [
    ("all.xml", "--messages", "xml"),
    ("all.xml.gz", "--messages", "xml"),
    ("feed.xml", "--records", "item"),
    ("all.jsonl",),
    ("all.parquet",),
    ("other.parquet", "--column", "body"),
]


def summarised(found: list[dict[str, Any]], file: str) -> list[tuple[int, str, str]]:
    prefix = f"{file}#"
    return [(int(one["document"].removeprefix(prefix)), one["query"], one["path"]) for one in found]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form[0])
def test_match_answers_for_each_message(form: tuple[str, ...]) -> None:
    result = run("match", "-q", "q.tsv", "--schema", "none", *form)
    assert result.exit_code == 0, result.output
    found = rows(result)
    wanted = [(n, query, path) for n, query, path in expected()]
    trimmed = [
        (n, q, p.replace("[1]", "").replace("/@id", "")) for n, q, p in summarised(found, form[0])
    ]
    assert trimmed == wanted
    for one in found:  # spans count from the first byte of the message
        message = ITEMS[int(one["document"].partition("#")[2])].encode()
        if one["node"] == "element":
            assert message[one["start"] : one["end"]].decode() == one["value"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form[0])
@pytest.mark.parametrize("select", ["doc", "nodes"])
def test_run_gives_the_same_as_match(form: tuple[str, ...], select: str) -> None:
    given = ("-q", "q.tsv", *form, "--select", select)
    there = run("match", *given)
    result = run("run", *given, "--engine", "local", "-o", "out", "--format", "jsonl", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["documents"]["seen"] == report["documents"]["processed"] == len(ITEMS)
    assert report["matches"] == len(rows(there))
    written = [
        line for path in Path("out/matches").iterdir() for line in path.read_text().splitlines()
    ]
    assert [json.loads(line) for line in written] == rows(there)


def test_standard_input_and_inference() -> None:
    data = Path("all.xml").read_bytes()
    result = run("match", "-q", "q.tsv", "-", "--messages", "xml", "--select", "doc", stdin=data)
    assert result.exit_code == 0, result.output
    assert "inferred from 12 documents" in result.stderr
    assert rows(result)[0] == {"document": "<stdin>#0", "query": "names"}
    lines = Path("all.jsonl").read_bytes()
    args = ("run", "-q", "q.tsv", "-", "--messages", "ndjson", "-o", "-", "--select", "doc")
    again = run(*args, stdin=lines)
    assert again.exit_code == 0, again.output
    assert again.stdout == result.stdout


@pytest.mark.parametrize("command", ["match", "run"])
def test_broken_messages_are_rejected_and_counted(command: str) -> None:
    data = f"{ITEMS[0]}<item><name></item>{ITEMS[1]}<item>&x;</item>text{ITEMS[2]}<item><name>"
    Path("some.xml").write_text(data, encoding="utf-8")
    out = ("-o", "-") if command == "run" else ()
    given = ("-q", "q.tsv", "--schema", "none", "--select", "doc", "--messages", "xml", "--json")
    result = run(command, *given, "some.xml", *out)
    assert result.exit_code == 1
    assert {one["document"] for one in rows(result)} == {"some.xml#0", "some.xml#2", "some.xml#5"}
    for number in (1, 3, 4, 6):
        assert f"some.xml#{number}" in result.stderr
    assert "the document does not end: all 12 bytes up to the end of the file" in result.stderr
    report = json.loads(next(line for line in result.stderr.splitlines() if line.startswith("{")))
    assert report["documents"]["seen"] == 7
    assert report["documents"]["rejected"] == 4


def test_a_wrong_name_of_records_is_told() -> None:
    result = run("match", "-q", "q.tsv", "--schema", "none", "feed.xml", "--records", "Item")
    assert result.exit_code == 1
    assert "there is no element Item in the file" in result.stderr
    assert "as it is in the file" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--records", "a", "--messages", "ndjson"), "--records is for XML files"),
        (("--records", "a", "--column", "b"), "not XML"),
        (("--messages", "xml", "--name-column", "b"), "not XML"),
        (("--records", "<a>"), "--records takes the name of an element"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], said: str) -> None:
    result = run("match", "-q", "q.tsv", "feed.xml", *options)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_options_in_a_file() -> None:
    Path("extract.toml").write_text('[match]\nrecords = "item"\nselect = "doc"\n', encoding="utf-8")
    result = run("match", "-q", "q.tsv", "--schema", "none", "feed.xml")
    assert result.exit_code == 0, result.output
    assert rows(result)[0] == {"document": "feed.xml#0", "query": "names"}
