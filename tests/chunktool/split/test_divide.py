"""Which queries are evaluated on pieces of a document."""

from __future__ import annotations

import pytest

from extract import Scheme
from extract.chunktool.scan.driver import kernel_available
from extract.chunktool.split.divide import divide
from tests.support.records import QUERIES

if not kernel_available():
    pytest.skip("pieces need the kernel", allow_module_level=True)
ALONE = {"third", "with head", "depts", "many", "after", "same", "ever"}


def test_what_looks_beyond_a_record_is_not_evaluated_on_pieces(scheme: Scheme) -> None:
    division = divide(scheme)
    apart = {query.id for query in scheme.queries if query.form in division.forms}
    assert apart == set(QUERIES) - ALONE
    assert division.upper == ("/db", "/db/dept")
    assert {local for _, local in division.names} >= {"student", "prof", "note"}
