"""What ``extract demo`` says: why, compared with what, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree

from extract.cli import cli
from extract.cli.demo import readable_names
from extract.subscriptions import Subscriptions
from tests.support.wide_font import texts_outside


@pytest.mark.parametrize("name", ["university", "orders", "figure4"])
def test_the_demo_compares_itself_and_draws_a_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.cli.demo.LARGE", 10**9)  # a large document takes long
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["demo", name, "--engine", "local"])
    assert result.exit_code == 0, result.output
    assert "Without extract: one XPath after the other" in result.stdout
    assert "evaluated both ways agree" in result.stdout
    assert "subscriptions select something" in result.stdout
    assert "1 was rejected" in result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines())
    queries = Subscriptions.load(tmp_path / "demo-results" / "queries.tsv")
    assert not any(one.id.isdigit() for one in queries)
    svg = (tmp_path / "demo-results" / "queries.svg").read_text(encoding="utf-8")
    etree.fromstring(svg.encode())
    assert texts_outside(svg) == []
    (command,) = [line for line in result.stdout.splitlines() if "extract explain" in line]
    result = CliRunner().invoke(cli, command.split()[1:])
    assert result.exit_code == 0, result.output


def test_names_of_queries_say_what_they_ask_for() -> None:
    xpaths = [
        "/o:s/o:order[o:by[@x = 'A B']/o:n = 'C']/o:amount",
        "//order[amount > 2.5]",
        "/s",
        "//*",
    ]
    assert readable_names(xpaths, "s") == ["order-amount-of-AB", "order-of-2.5", "document", "any"]
    assert readable_names(["//a", "//a", "//a"]) == ["a", "a-2", "a-3"]
