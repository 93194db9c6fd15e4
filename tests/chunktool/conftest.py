"""Fixtures that the tests of CHUNKTOOL share."""

from __future__ import annotations

import pytest

import extract
from extract.scheme import Scheme
from tests.support.chunk_documents import QUERIES
from tests.support.paths import SCHEMAS


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    return extract.prepare(schema, extract.Subscriptions.of(QUERIES), chunks=2)
