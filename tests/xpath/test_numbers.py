"""Strings as numbers: the routine in C (``xpath/number.h``) and the one in Python, against libxml2.

The routine in C reads constants of queries and values of documents for all matchers (TRAPS 33).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from lxml import etree

from extract.subscriptions.columns import TextColumn
from extract.subscriptions.records import numbers_of
from extract.xpath.numbers import to_number

NUMBER = etree.XPath("number($x)")
ROOT = etree.fromstring("<a/>")
ENDS = ("", "", "", "e5", "E-3", "e", "e+", "e-", "e+2", "e309", "e-400", "e0001", " ", "x", "e1x")
ODD = (
    *("", " ", ".", "-", "-.", "+1", "--1", "1.", ".1", "-.5", "1..2", "1.2.3", "- 1", "1 2", "1e"),
    *(
        "1e+",
        "1e-",
        "1ee1",
        "e1",
        ".e1",
        "-0",
        "0",
        "NaN",
        "Infinity",
        "-Infinity",
        "0x10",
        "1,000",
    ),
    *("12abc", "\u00a05", "5\u00a0", "\u06f5", "9" * 400, "." + "9" * 400, "0." + "0" * 400 + "1"),
    *("1e999", "-1e999", "1e-999", "0e999", "1e99999999999", "1e-99999999999", "9007199254740993"),
    *(
        "\t\r\n 1 \t\r\n",
        "0" * 400 + "1",
        "1" + "0" * 400 + "e-400",
        "6.5684",
        "1.14",
    ),
)


def strings(random: Random, count: int) -> Iterator[str]:
    """Strings that are numbers, or nearly."""
    for number in range(count):
        kind = number % 6
        if kind == 0:
            yield "".join(random.choices("0123456789.-+eE \t\nx", k=random.randrange(9)))
        elif kind == 1:
            yield repr(random.uniform(-1e6, 1e6))
        elif kind == 2:
            yield str(random.randrange(10 ** random.randrange(1, 40)))
        elif kind == 3:
            yield f"{random.randrange(100_000) / 100:.2f}"
        elif kind == 4:
            yield repr(random.random() * 10.0 ** random.randrange(-30, 30))
        else:
            digits = random.randrange(10 ** random.randrange(1, 28))
            start = random.choice(("", "-", " ")) + str(
                random.randrange(10 ** random.randrange(1, 12))
            )
            yield f"{start}.{digits:0{random.randrange(1, 30)}d}{random.choice(ENDS)}"


def compare(texts: list[str]) -> int:
    """Asserts that numbers are libxml2's, bit for bit; returns how many are not Python's."""
    ours = numbers_of(TextColumn.of(texts))
    theirs = np.array([NUMBER(ROOT, x=text) for text in texts])
    equal = (ours.view(np.uint64) == theirs.view(np.uint64)) | (np.isnan(ours) & np.isnan(theirs))
    wrong = np.flatnonzero(~equal)
    assert not len(wrong), (texts[wrong[0]], ours[wrong[0]], theirs[wrong[0]])
    return sum([_python(text) != number for text, number in zip(texts, ours.tolist(), strict=True)])


def _python(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def test_odd_strings() -> None:
    compare(list(ODD))
    for text in ODD:
        found, wanted = to_number(text.encode()), NUMBER(ROOT, x=text)
        assert found == wanted or (math.isnan(found) and math.isnan(wanted)), text


def test_random_strings() -> None:
    assert compare(list(strings(Random(1), 60_000))) > 5_000  # it is another routine than Python's


@pytest.mark.slow
def test_millions_of_strings() -> None:
    for seed in range(30):
        compare(list(strings(Random(seed), 100_000)))
