"""``extract bench SCENARIO``: structure, and equality of answers; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree, html

from extract.bench.experiments import Results, run
from extract.bench.experiments.clock import best
from extract.bench.experiments.results import Bar, BarChart, Check, Section
from extract.bench.experiments.rivals import RIVALS, Absent
from extract.bench.experiments.rivals.lxml_ import Lxml
from extract.bench.experiments.rivals.saxon import SaxonC
from extract.bench.report import page, picture, text
from extract.cli import cli
from extract.scenarios import scenario_names
from tests.support.wide_font import texts_outside

SMALL = 0.01


@pytest.fixture(scope="module")
def results() -> Results:
    return run("university", None, SMALL, "extract bench university", spark=False)


def test_everything_is_there(results: Results) -> None:
    titles = [section.title.partition(":")[0] for section in results.sections]
    assert titles == [
        "The scenario",
        "Against other tools",
        "Figure 11",
        "Figure 12",
        "Our own parts, side by side",
        "How it grows",
    ]
    for section in results.sections:
        for table in section.tables:
            assert table.rows
            assert all(len(row) == len(table.columns) for row in table.rows)
    assert {"date", "command", "machine", "extract", "Python", "lxml", "scale"} <= set(
        results.facts
    )
    json.dumps(results.to_json())


def test_answers_were_compared_and_are_equal(results: Results) -> None:
    assert results.right
    compared = [check.what for check in results.checks if check.holds]
    assert "lxml, numbers of nodes" in compared
    assert "lxml, string values of all nodes in document order" in compared
    assert "elementpath, numbers of nodes" in compared
    assert "matchers columnar and lxml, every node" in compared
    assert any(what.endswith("extract and lxml on the original") for what in compared)


def test_the_paper_has_2_to_6_chunks(results: Results) -> None:
    twelve = next(one for one in results.sections if one.title.startswith("Figure 12"))
    chunks = [row[1] for row in twelve.tables[0].rows]
    assert {f"{number} chunks" for number in range(2, 7)} <= set(chunks)
    assert any(str(chunk).startswith("auto") for chunk in chunks)


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Lxml.count
    monkeypatch.setattr(Lxml, "count", lambda *of: count(*of) + 1)
    arguments = ["bench", "figure4", "--scale", "0.01", "--no-spark", "--json"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["right"] is False
    checks = [check for section in found["sections"] for check in section["checks"]]
    assert [check["what"] for check in checks if not check["equal"]] == ["lxml, numbers of nodes"]


def test_a_tool_that_is_not_there_is_named_and_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*_: object) -> None:
        raise Absent("pip install saxonche")

    monkeypatch.setattr(SaxonC, "__init__", absent)
    results = run("figure4", None, SMALL, spark=False)
    assert results.facts["SaxonC"] == "not installed (pip install saxonche), so not measured"
    against = results.sections[1]
    assert "SaxonC: not installed" in " ".join(against.tables[0].remarks)
    assert not any(str(row[0]).startswith("SaxonC") for row in against.tables[0].rows)


def test_a_difference_that_is_not_ours_is_said_and_does_not_fail() -> None:
    theirs = Check("some tool", False, "1 query", decisive=False)
    ours = Check("lxml", False, "1 query")
    assert str(theirs) == "some tool: different, 1 query"
    assert Results("", (), {}, ()).right
    section = run_section(theirs)
    assert Results("", (), {}, (section,)).right
    assert not Results("", (), {}, (section, run_section(ours))).right


def run_section(check: Check) -> Section:
    return Section("", "", checks=(check,))


def test_rivals_say_what_they_are() -> None:
    assert [kind.name for kind in RIVALS] == ["lxml", "SaxonC", "xmllint", "elementpath"]


# -- reports


def test_the_page_is_one_file_that_needs_nothing(results: Results) -> None:
    text = page(results)
    tree = html.document_fromstring(text)
    assert not tree.xpath("//script | //link | //img | //iframe | //@src | //@href | //@onload")
    assert "url(" not in text
    assert "@import" not in text
    assert tree.xpath("//meta[@name='viewport']")
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    charts = sum(len(section.charts) for section in results.sections)
    assert len(tree.xpath("//figure/svg")) == charts > 8
    assert results.facts["machine"] in tree.text_content()
    assert "extract bench university" in tree.xpath("string(//dd/code)")
    for section in results.sections:
        assert section.title in tree.text_content()


def test_every_chart_is_well_formed_and_says_what_it_shows(results: Results) -> None:
    tree = html.document_fromstring(page(results))
    for chart in tree.xpath("//figure/svg"):
        svg = etree.fromstring(etree.tostring(chart))
        assert svg.xpath("string(*[local-name()='title'])")
        assert svg.xpath("string(*[local-name()='desc'])")
        width, height = map(float, svg.get("viewbox", svg.get("viewBox")).split()[2:])
        for shape in svg.xpath("//*[@x or @cx]"):
            x = float(shape.get("x", shape.get("cx")))
            y = float(shape.get("y", shape.get("cy")))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_the_picture_stands_alone(results: Results) -> None:
    assert results.headline is not None
    svg = picture(results.headline, "a <machine>")
    root = etree.fromstring(svg.encode())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "a <machine>" in "".join(root.itertext())
    assert len(svg) < 60_000
    assert "var(" not in svg
    assert "class=" not in svg
    assert "<style" not in svg
    assert texts_outside(svg) == []


def test_a_long_title_and_a_long_caption_are_wrapped() -> None:
    bars = (
        Bar("extract", (("all", 0.1),), ours=True),
        Bar("lxml", (("all", 25.4),), remark="254 x"),
    )
    chart = BarChart("WWWW %%%% " * 8, "s", bars, log=True)
    svg = picture(chart, "MMMM @@@@ " * 12)
    assert texts_outside(svg) == []
    assert svg.count("WWWW") == 2 * 8  # in the title for those who do not see it, and drawn


def test_the_text_has_all_tables(results: Results) -> None:
    shown = text(results)
    for section in results.sections:
        assert section.title in shown
        for table in section.tables:
            assert table.title in shown
    assert shown.endswith("All answers compared are right.")


# -- the command


def test_the_command_writes_what_is_asked_for(tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("html", "json", "svg")}
    arguments = ["bench", "figure4", "--scale", "0.01", "--no-spark", "-o", str(files["json"])]
    arguments += ["--html", str(files["html"]), "--svg", str(files["svg"])]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "Against other tools" in result.stdout
    assert json.loads(files["json"].read_bytes())["title"] == "extract bench figure4"
    assert files["html"].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert files["svg"].read_text(encoding="utf-8").startswith("<svg")


def test_a_part_has_no_page(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["bench", "chunk", "--html", str(tmp_path / "x.html")])
    assert result.exit_code == 2
    assert "a table only" in result.stderr
    assert CliRunner().invoke(cli, ["bench", "nothing"]).exit_code == 2


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("orders", "nitf") else pytest.param(name, marks=pytest.mark.slow)
        for name in scenario_names()
    ],
)
def test_every_scenario_runs(name: str) -> None:
    assert run(name, None, 0.002, spark=False).right


@pytest.mark.slow
def test_engines_are_compared() -> None:
    command = [sys.executable, "-m", "extract", "bench", "figure4", "--scale", "0.01", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (engines,) = [s for s in json.loads(done.stdout)["sections"] if s["title"].startswith("Spark")]
    checks = {check["what"]: check["equal"] for check in engines["checks"]}
    assert checks["local and Spark, rows of document, query and number"]


def test_best_is_the_shortest_and_long_work_is_done_once() -> None:
    def measured(*seconds: float) -> list[float]:
        """The best of works that take so long; and how many there were."""
        done: list[float] = []
        shortest, _ = best(lambda: done.append(seconds[len(done)]), lambda: sum(done))
        return [shortest, len(done)]

    assert measured(0.3, 0.2) == pytest.approx([0.2, 2])
    assert measured(5.0) == pytest.approx([5.0, 1])
    assert measured(*[0.01] * 10) == pytest.approx([0.01, 10])
