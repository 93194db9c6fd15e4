"""Results as XML: one file for each query, which stands alone."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

import extract
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import open_writer
from extract.pipeline import prepare
from tests.support.small_results import DTD, process, write


def test_xml_results_stand_alone(tmp_path: Path) -> None:
    document = (
        b"<!DOCTYPE a [<!ENTITY e 'x&#38;#38;y'>]>"
        b"<a xmlns:q='urn:p'><q:d q:e='1'>&e;<q:d/></q:d><b x='&lt;&#13;'>&amp;</b></a>"
    )
    out = write(tmp_path, "xml", document, "//p:d", "//b/@x", "//b/text()", "//c")
    files = sorted((out / "matches").iterdir())
    assert [file.name for file in files] == ["0.xml", "1.xml", "2.xml", "3.xml"]
    first, second, third, fourth = (etree.parse(file).getroot() for file in files)
    assert [len(match) for match in first] == [1, 1]
    assert first[0][0].tag == "{urn:p}d"
    assert first[0][0].text == "x&y"
    assert first[0].get("path") == "/a[1]/q:d[1]"
    assert (second[0].text, third[0].text, len(fourth)) == ("<\r", "&", 0)
    assert fourth.get("query") == "3"


def test_xml_results_keep_ids_also_where_they_are_there_twice(tmp_path: Path) -> None:
    document = b"<a><b xml:id='i'><b xml:id='j'/></b></a>"
    (file,) = (write(tmp_path, "xml", document, "//b") / "matches").iterdir()
    found = etree.parse(file, etree.XMLParser(collect_ids=False)).getroot()
    ids = [element.get("{http://www.w3.org/XML/1998/namespace}id") for element in found.iter("b")]
    assert ids == ["i", "j", "j"]


def test_ids_of_queries_become_file_names(tmp_path: Path) -> None:
    file = tmp_path / "schema.dtd"
    file.write_text(DTD, encoding="utf-8")
    ids = ["../x", "X", "x", 'a\x01"<&']
    subscriptions = extract.Subscriptions.of([(one, "//b") for one in ids])
    scheme = prepare(extract.Schema.load(file, root="a"), subscriptions, 1)
    done, found = process(scheme, b"<a><b/></a>", standalone=True)
    with result_directory(tmp_path / "out") as partial:
        writer = open_writer(partial, "xml", found, "nodes")
        writer.write("a\x02.xml", done.findings)
        writer.close()
    files = sorted((tmp_path / "out" / "matches").iterdir())
    assert len({file.name.casefold() for file in files}) == 4
    names = {etree.parse(file).getroot().get("query") for file in files}
    assert names == {"../x", "X", "x", 'a\ufffd"<&'}
