"""The scheme that the tests of splitting documents share."""

from __future__ import annotations

import pytest

from extract import Scheme
from tests.support.records import records_scheme


@pytest.fixture(scope="module")
def scheme(tmp_path_factory: pytest.TempPathFactory) -> Scheme:
    return records_scheme(tmp_path_factory.mktemp("schema"))
