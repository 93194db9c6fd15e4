"""All subscriptions of a scheme as one table."""

from __future__ import annotations

import json
from random import Random

import pytest

from extract import Schema, Subscriptions, outputs
from extract.preptool.prepare import prepare
from extract.scheme.query_table import query_table
from tests.support.databases import ODD_LITERALS
from tests.support.schemes import UNIVERSITY, random_scheme


@pytest.mark.parametrize("seed", range(5))
def test_every_query_is_there_as_the_directory_has_it(seed: int) -> None:
    scheme = random_scheme(Random(seed))
    rows = query_table(scheme).to_pylist()
    members = [(one.id, one.absolute, one.weight) for one in scheme.subscribers]
    rejected = [(one.id, one.xpath, 1.0) for one in scheme.rejected]
    assert [(row["id"], row["xpath"], row["weight"]) for row in rows] == members + rejected
    counts = scheme.counts()
    words = [row["status"] for row in rows]
    for word in ("satisfiable", "unsatisfiable", "rejected"):
        assert words.count(word) == counts[word]
    for row in rows[: len(scheme.members)]:
        own = json.loads(row["namespaces"] or "{}")
        assert own.items() <= scheme.namespaces.items()
        assert all(f"{prefix}:" in row["xpath"] for prefix in own)


def test_many_members_of_one_template_are_quoted_as_one_by_one() -> None:
    literals = [*ODD_LITERALS, *[f"'{n}'" for n in range(30)]]
    queries = {
        f"q{n}": f"//student[name = {one} and url > {n}.50]" for n, one in enumerate(literals)
    }
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), 1)
    assert len(scheme.templates) == 1
    table = query_table(scheme)
    assert table["xpath"].to_pylist() == [one.absolute for one in scheme.subscribers]


def test_customised_output_is_there_as_it_is_written() -> None:
    flwr = (
        '<all>{ for $s in //u:student where $s/u:name = "B" return <one>{ $s/u:url }</one> }</all>'
    )
    queries = Subscriptions.of({"a": "//u:name", "b": flwr, "c": "//u:url"}, {"u": "urn:u"})
    rows = query_table(prepare(Schema.none(), queries, 1)).to_pylist()
    assert [row["xpath"] for row in rows if row["id"] == "b"] == [flwr]
    again = {row["id"]: row["xpath"] for row in rows}
    document = b'<db xmlns="urn:u"><student><name>B</name><url>x</url></student></db>'
    for row in rows:
        assert json.loads(row["namespaces"]) == {"u": "urn:u"}
    scheme = prepare(Schema.none(), Subscriptions.of(again, {"u": "urn:u"}), 1)
    assert [(query, output) for _, query, output in outputs(scheme, document)] == [
        ("b", '<all><one><url xmlns="urn:u">x</url></one></all>')
    ]
