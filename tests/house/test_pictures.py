"""The pictures of the handbook: drawn alike by every program, whatever the font."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.wide_font import texts_outside

PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


@pytest.mark.parametrize("file", PICTURES, ids=lambda file: file.name)
def test_texts_stay_in_their_boxes(file: Path) -> None:
    assert texts_outside(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", PICTURES, ids=lambda file: file.name)
def test_colours_are_attributes(file: Path) -> None:
    """Not every program that draws SVG knows style sheets, and few know variables."""
    svg = file.read_text(encoding="utf-8")
    assert "var(" not in svg
    for rule in re.findall(r"<style>(.*?)</style>", svg, re.DOTALL):
        assert "fill" not in rule
        assert "stroke" not in rule
        assert "font" not in rule
