"""The made sets of ``extract bench real``: they are what they say, and extract answers them."""

from __future__ import annotations

import io

import pytest
from lxml import etree

from extract.bench import article_set, locale_set
from extract.bench.made_sets import made_sets
from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_sets import RealSet
from extract.pipeline import count, prepare

SETS = {one.name: one for one in made_sets(1.0)}
DTDS = {"locales": locale_set.DTD, "articles": article_set.DTD}


@pytest.mark.parametrize("name", SETS)
def test_documents_are_valid_and_the_same_each_time(name: str) -> None:
    one = SETS[name]
    assert len(one.queries) == 1_500
    dtd = etree.DTD(io.StringIO(DTDS[name]))
    for document in one.documents[:2]:
        assert dtd.validate(etree.fromstring(document)), dtd.error_log
    (again,) = [other for other in made_sets(0.01) if other.name == name]
    assert again.documents[0] in one.documents
    assert {query.xpath for query in again.queries} <= {query.xpath for query in one.queries}


@pytest.mark.parametrize("name", SETS)
def test_extract_counts_what_a_loop_counts(name: str) -> None:
    one: RealSet = SETS[name].part(100, 1)
    scheme = prepare(one.schema, one.queries)
    (document,) = one.documents
    expected = PlainLoop(one.queries, "count").rows(document)
    assert [row[1:] for row in count(scheme, document)] == expected
    assert 50 < len(expected) < 100
