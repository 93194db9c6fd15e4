"""Large documents piece by piece: the same rows as in one go, wherever they are cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from extract import Scheme
from extract.chunktool.scan.driver import kernel_available
from extract.chunktool.split.divide import Division, divide
from extract.errors import DocumentError
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.pieces import PieceBytes, piece_filter
from extract.filtertool.results.findings import Findings
from extract.filtertool.spark.worker.row_numbers import RowNumbering
from extract.pipeline import prepare
from extract.scenarios import scenario
from tests.support.records import document, records_scheme, surveyed

if not kernel_available():
    pytest.skip("pieces need the kernel", allow_module_level=True)


@pytest.fixture(scope="module")
def scheme(tmp_path_factory: pytest.TempPathFactory) -> Scheme:
    return records_scheme(tmp_path_factory.mktemp("schema"))


def reduced(scheme: Scheme, forms: Sequence[int]) -> Scheme:
    from extract.filtertool.spark.worker.query_shares import QueryShare, scheme_of_shares

    return scheme_of_shares(scheme, [QueryShare("some", tuple(forms), 0)])


def by_pieces(
    scheme: Scheme,
    division: Division,
    data: bytes,
    size: int,
    select: Select,
    matcher: str,
    quick: bool = False,
) -> list[Any]:
    some = reduced(scheme, sorted(division.forms))
    pieces = piece_filter(some, load_matcher(matcher), Options(select), division.names)
    found: list[Findings] = []
    ids = pieces.plan.ids
    for piece in surveyed(scheme, division, data, size, quick).pieces:
        body = data[piece.start : piece.end]
        (done,) = pieces.process([("d", PieceBytes(piece, body))])
        assert (done.fate, done.rejections) == ("conforming", ())
        found.append(done.findings)
    joined = RowNumbering(len(ids))
    if select == "nodes":
        return sorted((m for f in found for m in joined.add(f).matches("d", ids)), key=repr)
    total = joined.sum(found, select == "count")
    return [(ids[n], c) for n, c in zip(total.subscriber, total.count, strict=True)]


@pytest.mark.parametrize("matcher", ["columnar", "lxml"])
@pytest.mark.parametrize("seed", range(8))
def test_pieces_give_the_rows_of_the_document(scheme: Scheme, seed: int, matcher: str) -> None:
    division = divide(scheme)
    data = document(seed)
    some = reduced(scheme, sorted(division.forms))
    for select in ("nodes", "count", "doc"):
        whole = document_filter(some, load_matcher(matcher), Options(select))
        (done,) = whole.process([("d", data)])
        ids = whole.plan.ids
        if select == "nodes":
            wanted: list[Any] = sorted(done.findings.matches("d", ids), key=repr)
            assert wanted
        else:
            numbers = done.findings.count if select == "count" else np.ones(len(done.findings), int)
            wanted = [(ids[n], c) for n, c in zip(done.findings.subscriber, numbers, strict=True)]
        for size, quick in ((1, False), (150, False), (10_000, False), (1, True), (150, True)):
            found = by_pieces(scheme, division, data, size, select, matcher, quick)
            if select == "doc":
                found = [(who, 1) for who, _ in found]
            assert found == wanted, (select, size, quick)


BREAKS = (b"<", b">", b"/", b"&", b"</student>", b"<zzz/>", b"<!--", b"]]>", b"</db>", b"\0", b"")


@pytest.mark.parametrize("seed", range(10))
def test_unchecked_pieces_conform_only_if_the_document_does(scheme: Scheme, seed: int) -> None:
    division, chance = divide(scheme), random.Random(seed)
    some = reduced(scheme, sorted(division.forms))
    pieces = piece_filter(some, load_matcher(), Options("count"), division.names)
    whole = document_filter(some, load_matcher(), Options("count"))
    told = Counter[bool]()
    for _ in range(60):
        data, at = document(seed), chance.randrange(len(document(seed)))
        data = data[:at] + chance.choice(BREAKS) + data[at + chance.randrange(3) :]
        (wanted,) = whole.process([("d", data)])
        try:
            cut = surveyed(scheme, division, data, 100, quick=True).pieces
        except DocumentError:
            cut = ()
        parts = [("d", PieceBytes(one, data[one.start : one.end])) for one in cut]
        done = pieces.process(parts)
        if cut and all(one.fate == "conforming" for one in done):
            assert wanted.fate == "conforming", data
            total = RowNumbering(len(pieces.plan.ids)).sum([d.findings for d in done], True)
            assert total.count.tolist() == wanted.findings.count.tolist()
        told[wanted.fate == "conforming"] += 1
    assert told[True]
    assert told[False]


def test_a_document_that_has_changed_is_not_taken_for_the_old_one(scheme: Scheme) -> None:
    division, data = divide(scheme), document(1)
    some = reduced(scheme, sorted(division.forms))
    pieces = piece_filter(some, load_matcher(), Options("count"), division.names)
    for piece in surveyed(scheme, division, data, 300).pieces:
        short = PieceBytes(piece, data[piece.start : piece.end - 1])
        (done,) = pieces.process([("d", short)])
        assert done.fate != "conforming"


def test_the_scenarios_are_evaluated_on_pieces() -> None:
    for name in ("university", "ejb"):
        given = scenario(name)
        scheme = prepare(given.schema(), given.queries(200), 4)
        division = divide(scheme)
        assert len(division.forms) == len(scheme.forms)
        data = b"".join(given.document(60_000, seed=1))
        whole = document_filter(scheme, load_matcher(), Options("count"))
        (done,) = whole.process([("d", data)])
        ids = whole.plan.ids
        wanted = {
            ids[n]: c for n, c in zip(done.findings.subscriber, done.findings.count, strict=True)
        }
        found = dict(by_pieces(scheme, division, data, 5_000, "count", "columnar"))
        assert found == wanted
