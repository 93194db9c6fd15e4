"""A broker by its URL, and fixtures for tests of what uses one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import extract
from extract.broker.security.tokens import TokenFile
from tests.support.broker_server import served

_numbers = itertools.count(1)


@contextmanager
def running_broker(folder: Path, tokens: Path | None = None) -> Iterator[str]:
    """Serves a store in a folder; yields the URL.

    Args:
        folder: Where the store is; made if it is not there.
        tokens: A file of tokens; None lets everybody in.
    """
    known = None if tokens is None else TokenFile.load(tokens)
    with served(folder, tokens=known, synchronous=False) as asked:
        yield f"http://127.0.0.1:{asked.port}"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that the tests of a module share."""
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as address:
        yield address


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[extract.Client]:
    """A client of it."""
    with extract.Client(url) as opened:
        yield opened


@pytest.fixture
def feed(client: extract.Client) -> str:
    """A feed of one test alone."""
    name = f"feed{next(_numbers)}"
    client.put_feed(name)
    return name
