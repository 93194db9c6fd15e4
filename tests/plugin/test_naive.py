"""The tests of the plug-in: it keeps the contract of matchers, which comes with `extract`."""

from __future__ import annotations

from extract.testing.matcher_contract import MatcherContract
from tests.plugin.extract_naive import NaiveFactory  # in a package of its own: extract_naive


class TestNaive(MatcherContract):
    factory = NaiveFactory()
