"""The report of an experiment: a page, charts, a picture and text."""

from __future__ import annotations

import pytest
from lxml import etree, html

from extract.bench.experiments import Results
from extract.bench.experiments.results import Bar, BarChart
from extract.bench.report import page, picture, text
from tests.support.wide_font import texts_outside


def test_the_page_is_one_file_that_needs_nothing(experiment: Results) -> None:
    text = page(experiment)
    tree = html.document_fromstring(text)
    assert not tree.xpath("//script | //link | //img | //iframe | //@src | //@href | //@onload")
    assert "url(" not in text
    assert "@import" not in text
    assert tree.xpath("//meta[@name='viewport']")
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    charts = sum(len(section.charts) for section in experiment.sections)
    assert len(tree.xpath("//figure/svg")) == charts > 8
    assert experiment.facts["machine"] in tree.text_content()
    assert "extract bench university" in tree.xpath("string(//dd/code)")
    for section in experiment.sections:
        assert section.title in tree.text_content()


def test_every_chart_is_well_formed_and_says_what_it_shows(experiment: Results) -> None:
    tree = html.document_fromstring(page(experiment))
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


def test_the_picture_stands_alone(experiment: Results) -> None:
    assert experiment.headline is not None
    svg = picture(experiment.headline, "a <machine>")
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


@pytest.mark.parametrize("power", range(-9, 5))
def test_every_time_is_drawn_inside_the_picture(power: int) -> None:
    """From a nanosecond to a day: with every unit, on each kind of axis."""
    for log in (True, False):
        values = [10.0**power * one for one in (1, 2.5, 9.99)]
        bars = [Bar(f"bar {n}", (("all", value),)) for n, value in enumerate(values)]
        assert texts_outside(picture(BarChart("t", "s", tuple(bars), log=log), "c")) == []


def test_the_text_has_all_tables(experiment: Results) -> None:
    shown = text(experiment)
    for section in experiment.sections:
        assert section.title in shown
        for table in section.tables:
            assert table.title in shown
    assert shown.endswith("All answers compared are right.")
