"""The queries of a scheme in shares: every query is in one of them."""

from __future__ import annotations

import pytest

from extract import Scheme

pytest.importorskip("pyspark", reason="Spark is not installed")


def test_every_query_is_in_one_share(scheme: Scheme) -> None:
    from extract.chunktool.split.divide import divide
    from extract.filtertool.spark.worker.query_shares import (
        query_shares,
        scheme_of_shares,
        share_weights,
    )

    apart = query_shares(scheme, divide(scheme))
    assert {bool(share.records) for share in apart} == {True, False}
    assert sorted(n for one in apart for n in one.forms) == list(range(len(scheme.forms)))
    assert sum(len(scheme_of_shares(scheme, [one]).unsatisfiable) for one in apart) == 1
    found = query_shares(scheme)
    assert len(found) > 2
    assert sorted(n for share in found for n in share.forms) == list(range(len(scheme.forms)))
    assert sum(share_weights(found)) == pytest.approx(1)
    reduced = [scheme_of_shares(scheme, [share]) for share in found]
    assert sum(len(one.unsatisfiable) for one in reduced) == len(scheme.unsatisfiable) == 1
    assert all(len(one.every_chunk) < len(scheme.every_chunk) for one in reduced[:-1])
