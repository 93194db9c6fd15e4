"""Oracle 2: chunked and filtered, every query gives what libxml2 gives on the whole document."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.filter_rounds import round_of
from tests.support.real_rows import check_real, read, real_scheme, xmark_cut

WORDNET = "WN-LMF-relaxed-1.1.dtd"


@pytest.mark.parametrize("seed", range(12))
def test_every_query_gives_what_libxml2_gives_on_the_whole_document(seed: int) -> None:
    assert round_of(seed)["answers"] > 50


@pytest.mark.slow
def test_every_query_gives_what_libxml2_gives_at_length() -> None:
    total: Counter[str] = Counter()
    for seed in range(1_000, 3_000):
        total += round_of(seed)
    print(f"no difference: {dict(total)}")


def test_news(shared_data: Path) -> None:
    data = shared_data / "nitf"
    documents = read(sorted(data.rglob("*.xml"))[:4])
    for queries, step in (("linear.tsv.gz", 1_000), ("nested1.tsv.gz", 2_000)):
        scheme = real_scheme(data, "nitf.dtd", "nitf", queries, step, 4)
        assert check_real(scheme, documents)["answers"] >= 200


def test_invoices(shared_data: Path) -> None:
    data = shared_data / "ubl"
    documents = read(sorted((data / "docs").iterdir())[::80])
    scheme = real_scheme(data, "schema/maindoc/UBL-Invoice-2.1.xsd", "", "rules.jsonl", 12, 5)
    assert check_real(scheme, documents)["answers"] >= 200


@pytest.mark.slow
def test_all_real_data(shared_data: Path) -> None:
    total: Counter[str] = Counter()
    news = shared_data / "nitf"
    for queries in ("linear.tsv.gz", "nested1.tsv.gz", "nested2.tsv.gz"):
        scheme = real_scheme(news, "nitf.dtd", "nitf", queries, 200, 6)
        total += check_real(scheme, read(sorted(news.rglob("*.xml"))))
    data = shared_data / "ubl"
    scheme = real_scheme(data, "schema/maindoc/UBL-Invoice-2.1.xsd", "", "rules.jsonl", 1, 8)
    total += check_real(scheme, read(sorted((data / "docs").iterdir())))
    data = shared_data / "wordnet"
    scheme = real_scheme(data, WORDNET, "LexicalResource", "queries.tsv", 50, 3)
    total += check_real(scheme, read(sorted(data.rglob("*.xml*"))))
    data = shared_data / "xmark"
    scheme = real_scheme(data, "auction.dtd", "site", "xpathmark.jsonl", 1, 4)
    total += check_real(scheme, read(sorted(data.rglob("*.xml.gz"))))
    endless = real_scheme(data, "auction.dtd", "site", "xpathmark.jsonl", 1, 4, without=())
    total += check_real(endless, {"cut": xmark_cut(shared_data, 200)})
    print(f"no difference: {dict(total)}")
