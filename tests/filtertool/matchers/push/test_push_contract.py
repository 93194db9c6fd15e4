"""The push matcher passes the contract of matchers, and the engine alone does where it answers."""

from __future__ import annotations

from extract.filtertool.matchers.push.factory import PushFactory
from extract.testing.matcher_contract import MatcherContract


class TestPush(MatcherContract):
    factory = PushFactory()
