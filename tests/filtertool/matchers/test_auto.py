"""The matcher `auto`: the cheaper one of the two for each batch."""

from __future__ import annotations

from extract.filtertool.matchers.auto import lxml_is_cheaper
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.registry import load_matcher
from extract.testing.matcher_contract import DOCUMENT, unit_of


def test_auto_chooses_by_cost() -> None:
    matcher = load_matcher().build([Question(("/db/student/name",))], {})
    unit = unit_of(DOCUMENT)
    one = matcher.match([unit], "count")
    assert matcher.report().figures["lxml_units"] == 1
    many = matcher.match([unit] * 100, "count")
    figures = matcher.report().figures
    assert (figures["lxml_units"], figures["columnar_units"]) == (1, 100)
    assert many.count.tolist() == one.count.tolist() * 100
    assert lxml_is_cheaper(30, [50], "doc")
    assert not lxml_is_cheaper(30, [50], "nodes")
    assert not lxml_is_cheaper(3, [20_000], "doc")
