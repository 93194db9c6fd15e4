"""The benchmark of real data: it finds sets, and its rival gives the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.bench import real
from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_part import measured_part
from extract.bench.real_sets import real_sets
from extract.errors import ExtractError
from extract.pipeline import count, prepare
from extract.subscriptions import Subscriptions
from tests.support.made_clock import made_clock

DTD = """<!ELEMENT r (a*, b?)><!ELEMENT a (#PCDATA)><!ELEMENT b EMPTY>
<!ATTLIST a n CDATA #IMPLIED>"""
XSD = """<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="{}"/></schema>"""
QUERIES = "1\t/r/a\n2\tcount(/r/a) > 1\n3\t/r/a[2]\n4\tbroken(\n5\tcount(//a)\n6\t//a/@n\n7\tr/b\n"
DOCUMENTS = ("<r><a n='1'>x</a><a/></r>", "<r><b/></r>")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    (folder / "docs").mkdir(parents=True)
    (folder / "one.dtd").write_text(DTD)
    (folder / "queries.tsv").write_text(QUERIES)
    for number, document in enumerate(DOCUMENTS):
        (folder / "docs" / f"{number}.xml").write_text(document)
    return tmp_path


def test_a_table_has_a_row_for_each_set_and_selection(data: Path) -> None:
    for folder in (data, data / "one"):
        table = real.run(folder, 1.0)
        kinds = {"one", "one, broken", "one, few", "one, few, broken"}
        assert {row[0] for row in table.rows} == kinds
        assert {row[5] for row in table.rows} == {"doc", "count", "nodes", "run"}
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_schema_is_that_of_the_documents(data: Path) -> None:
    folder = data / "one"
    (folder / "one.dtd").unlink()
    for name in ("q", "r", "s"):
        (folder / f"{name}.xsd").write_text(XSD.format(name))
    (one,) = real_sets(data, 1.0)
    assert one.schema.places.document.step("r") is not None
    assert one.schema.places.document.step("q") is None


def test_the_loop_counts_what_extract_counts(data: Path) -> None:
    (one,) = real_sets(data, 1.0)
    scheme = prepare(one.schema, one.queries)
    assert len(one.queries) == 7
    for own in (one, one.broken()):
        loop = PlainLoop(own.queries, "count")
        assert len(loop) == 6
        for document in own.documents:
            assert loop.rows(document) == [row[1:] for row in count(scheme, document)]


def test_the_loop_makes_rows_of_nodes() -> None:
    loop = PlainLoop(Subscriptions.of({"x": "//a", "y": "//a/@n", "z": "1 + 1"}), "nodes")
    assert loop.rows(DOCUMENTS[0].encode()) == [
        ("x", "element", "a", 0, "/r/a[1]", '<a n="1">x</a>', "x"),
        ("x", "element", "a", 1, "/r/a[2]", "<a/>", ""),
        ("y", "attribute", "n", 0, "/r/a[1]/@n", "1", "1"),
        ("z", "number", None, 0, None, "2.0", "2.0"),
    ]


def test_without_real_data_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExtractError, match="there is none"):
        real.run(None)
    with pytest.raises(ExtractError, match="no folder"):
        real.run(tmp_path)


def test_a_folder_without_a_schema_is_a_set(data: Path) -> None:
    (data / "one" / "one.dtd").unlink()
    (one,) = real_sets(data, 1.0)
    assert one.name == "one, no schema"
    assert one.schema.places.document.open


def test_only_a_part_is_measured_where_a_loop_takes_long(data: Path) -> None:
    queries = "".join([f"{n}\t//a[@n = '{n}']\n" for n in range(500)])
    slow = "slow\t//a[preceding::a/following::a/preceding::a = .]\n"
    (data / "one" / "queries.tsv").write_text(queries + slow)
    document = "<r>" + "".join([f"<a n='{n}'/>" for n in range(2_000)]) + "</r>"
    (data / "one" / "docs" / "0.xml").write_text(document)
    (one,) = real_sets(data, 1.0)
    assert len(one.queries) == 501
    with made_clock([0.01]):  # whatever is measured takes ten times as long as there is time
        part = measured_part(one, 0.001)
    assert 8 <= len(part.queries) < 500
    assert "slow" not in {query.id for query in part.queries}
    assert {query.id for query in part.queries} <= {query.id for query in one.queries}
    every = measured_part(one, 1e6)
    assert len(every.queries) == 500
    assert every.documents == one.documents
