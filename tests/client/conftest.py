"""Fixtures that the tests of the client share."""

from tests.support.running_broker import client, feed, url

__all__ = ["client", "feed", "url"]
