"""Misspelled names in queries: the names of the schema that are suggested."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from extract import Schema
from extract.cli import cli
from extract.preptool.explain.spelling import Spelling
from tests.support.paths import SCHEMAS

PO = "urn:example:orders"


@pytest.mark.parametrize(
    ("xpath", "said"),
    [
        ("/po:orders/po:order/@number", ""),
        ("//po:order/*[self::po:product]/text()", ""),
        ("//po:order[@xml:lang]", ""),
        (
            "//order",
            f"order is in the namespace {PO}: write po:order, with --ns po={PO}",
        ),
        ("//po:oder", "did you mean po:order instead of po:oder?"),
        ("//po:order/@numbre", "did you mean number instead of @numbre?"),
        ("//po:order/@po:number", "po:number is in no namespace: write it without a prefix"),
        ("//party:order", f"party:order is in the namespace {PO}: write po:order, with --ns"),
        ("//po:order[po:prodct and po:prodct]", "did you mean po:product instead of po:prodct?"),
        ("//po:xylophone", ""),
        (
            "//order[amount]",
            f"order and amount are in the namespace {PO}: write po:order and po:am",
        ),
    ],
)
def test_spellings_are_corrected(xpath: str, said: str) -> None:
    schema = Schema.load(SCHEMAS / "orders.xsd")
    found = Spelling(schema, {"po": PO, "party": "urn:example:party"}).of(xpath)
    assert found.startswith(said.replace("@", "")) if said else not found


def test_a_prefix_that_is_bound_to_another_namespace() -> None:
    schema = Schema.load(SCHEMAS / "orders.xsd")
    said = Spelling(schema, {"o": "urn:Example:Orders"}).of("//o:order")
    assert said == f"o:order is in the namespace {PO}: bind --ns o={PO}"


def test_slips_are_told_when_queries_are_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(f"#! ns po={PO}\nopen\t//po:order/po:prodct\ndead\t/po:order/nte\n")
    Path("d.xml").write_text(f"<o:orders xmlns:o='{PO}' issued='2026-11-16'/>")
    schema = ["--schema", str(SCHEMAS / "orders.xsd"), "--root", f"{{{PO}}}orders"]
    runs = (["prep", "--chunks", "1", "-o", "s"], ["run", "--engine", "local", "-o", "r", "d.xml"])
    for command in runs:
        result = CliRunner().invoke(cli, [*command, *schema, "--queries", "q.tsv"])
        assert result.exit_code == 0, result.stderr
        assert "Note: query 'open' may be a slip: did you mean po:product" in result.stderr
        assert "query 'dead' cannot match: the document has no child po:order" in result.stderr
        assert "Hint: nte" not in result.stderr
        assert "Hint: did you mean po:note instead of nte?" in result.stderr
    explained = CliRunner().invoke(cli, ["explain", "--scheme", "s", "dead"]).stdout
    assert "Hint: did you mean po:note instead of nte?" in explained
