"""Comparisons of truths with truths, many in one query, cost what their length does."""

from __future__ import annotations

import pytest

from tests.support.push.whole import compare_filter

_MANY = 60


@pytest.mark.parametrize("operator", ["=", "!="])
@pytest.mark.parametrize(
    "query",
    [
        "//a[" + " {0} ".join(["b"] * _MANY) + "]",
        "//a[" + " {0} ".join(["not(b)"] * _MANY) + "]",
        "boolean(//a)" + " {0} not(//c)" * _MANY,
        "//a[" + "not(b {0} not(c) {0} " * 20 + "1" + ")" * 20 + "]",
        "//a[" + "a[not(b) {0} " * 20 + "1" + "]" * 20 + "]",
    ],
)
def test_many_comparisons_of_truths(query: str, operator: str) -> None:
    documents = [b"<a><b/></a>", b"<a><a/><c/></a>", b"<a/>", b"<a><b>1</b><a><b/><a/></a></a>"]
    compare_filter([query.format(operator)], documents)
