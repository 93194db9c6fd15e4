"""Schemas of feeds: given, in versions, inferred; and what a stranger's schema cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from extract.broker.problems import Problem
from extract.broker.schemas import SchemaFilesBody, compile_in_child
from extract.broker.settings import BrokerLimits, BrokerSettings
from tests.support.broker_server import LINES, XML, AskedBroker, served

FIRST = "<!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>"
SECOND = "<!ELEMENT a (c*)><!ELEMENT c (#PCDATA)>"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    with served(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


def test_a_feed_without_versions_has_not_the_one_that_a_document_names(asked: AskedBroker) -> None:
    asked.put_feed("w")
    answer = asked.ask("POST", "/feeds/w/documents?schema=7", "<a/>", XML)
    assert (answer.status, "version 7" in answer.json["reason"]) == (400, True)
    assert asked.post("<a/>", feed="w").status == 202


def test_a_new_version_beside_the_old(asked: AskedBroker) -> None:
    put = asked.put_feed("v", dtd=FIRST, root="a", on_nonconforming="reject")
    assert (put.status, put.json["version"]) == (201, 1)
    assert asked.put("vb", feed="v", xpath="//b", select="doc").status == 201
    assert "unsatisfiable" in asked.put("vc", feed="v", xpath="//c", select="doc").json
    refused = asked.put_feed("v", dtd=SECOND, root="a", on_nonconforming="reject")
    assert (refused.status, refused.json["unsatisfiable"]) == (409, ["vb"])
    assert asked.ask("GET", "/feeds/v").json["version"] == 1
    taken = asked.put_feed(
        "v", dtd=SECOND, root="a", on_nonconforming="reject", accept_unsatisfiable=True
    )
    assert (taken.status, taken.json["versions"]) == (200, [1, 2])
    versions = [
        asked.post(text, name, feed="v").json.get("schema")
        for name, text in (("old", "<a><b/></a>"), ("new", "<a><c/></a>"), ("both", "<a/>"))
    ]
    assert versions == [1, 2, 2]
    answer = asked.post("<a><d/></a>", "none", feed="v")
    assert (answer.status, answer.json["line"], answer.json["column"]) == (400, 1, 4)
    said = asked.ask("POST", "/feeds/v/documents?schema=1", "<a><c/></a>", XML)
    assert said.status == 400
    lines = '{"document": "<a/>", "schema": 1}\n{"document": "<a/>", "schema": 3}'
    results = asked.ask("POST", "/feeds/v/documents", lines, LINES).json["results"]
    assert [(one["status"], one.get("schema")) for one in results] == [(202, 1), (400, None)]
    assert asked.all_notifications("vb", 1)[0]["document"] == "old"
    assert asked.all_notifications("vc", 1)[0]["document"] == "new"


def test_documents_that_break_a_schema_are_matched_all_the_same(asked: AskedBroker) -> None:
    asked.put_feed("n", dtd=FIRST, root="a")
    asked.put("nd", feed="n", xpath="//d", select="doc")
    assert asked.post("<a><d/></a>", "odd", feed="n").status == 202
    assert asked.all_notifications("nd", 1)[0]["document"] == "odd"


def test_every_document_keeps_to_what_was_inferred(tmp_path: Path) -> None:
    """Those that show no new edge are not counted, but the schema holds for them as well."""
    texts = [
        '<s x="1"><a>t</a><b/></s>',
        "<s><b/></s>",
        "<s><a>u</a><a>v</a><b/><b/></s>",
        "<s><b/><a/></s>",
        "<s/>",
    ]
    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("all", xpath="/s", select="doc")
        for text in texts:
            assert asked.post(text).status == 202
        asked.all_notifications("all", len(texts))
        xsd = asked.ask("GET", "/feeds/f/schema").json["xsd"]
    schema = etree.XMLSchema(etree.fromstring(xsd.encode()))
    for text in texts:
        schema.assertValid(etree.fromstring(text))
    assert not schema.validate(etree.fromstring("<s><c/></s>"))


def test_an_inferred_schema_widens_and_outlives_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed("f")
        assert asked.ask("GET", "/feeds/f").json["schema"] == "inferred"
        asked.put("s", xpath="//*[last()]", select="doc")
        asked.post("<a><b/></a>", "d1")
        asked.all_notifications("s", 1)
        assert '"c"' not in asked.ask("GET", "/feeds/f/schema").json["xsd"]
        asked.post("<a><b x='1'/><c/></a>", "d2")
        asked.all_notifications("s", 2)
        asked.post("<a/>", "d3")
        asked.all_notifications("s", 3)
        wide = asked.ask("GET", "/feeds/f/schema").json["xsd"]
        assert '"c"' in wide
        assert '"x"' in wide
    with served(tmp_path) as asked:
        assert '"c"' in asked.ask("GET", "/feeds/f/schema").json["xsd"]


def _compile(kind: str, text: str, **files: str) -> str:
    body = SchemaFilesBody(kind, text, files, "a")  # type: ignore[arg-type]
    try:
        compile_in_child(body, seconds=20, memory=1 << 30)
    except Problem as problem:
        return problem.reason
    return ""


def test_a_schema_is_an_uploaded_set_of_files(asked: AskedBroker, tmp_path: Path) -> None:
    part = "<!ELEMENT a (#PCDATA)>"
    main = '<!ENTITY % part SYSTEM "part.mod"> %part;'
    body = {"dtd": main, "files": {"part.mod": part}, "root": "a"}
    assert asked.ask("PUT", "/feeds/files", body).status == 201
    for name in ("/etc/x", "../x", "a/../../x", ".x", "a\\x"):
        body = {"dtd": main, "files": {name: part}, "root": "a"}
        assert asked.ask("PUT", "/feeds/files", body).status == 422


def test_a_stranger_learns_of_no_other_file(tmp_path: Path) -> None:
    """Whether a file outside of the set is there or not, the answer is the same."""
    there = tmp_path / "there.mod"
    there.write_text("<!ELEMENT a (#PCDATA)>")
    answers = [
        _compile("dtd", f'<!ENTITY % p SYSTEM "{place}"> %p;').replace(place, "X")
        for place in (str(there), str(tmp_path / "none.mod"), there.as_uri())
    ]
    assert len(set(answers)) == 1
    assert "not among the files" in answers[0]
    schema = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
        '<xs:include schemaLocation="{}"/><xs:element name="a"/></xs:schema>'
    )
    include = _compile("xsd", schema.format(there.as_uri()))
    assert "not among the files" in include


def test_a_schema_that_takes_too_much_is_refused() -> None:
    bomb = "".join(f'<!ENTITY % e{n} "%e{n - 1};%e{n - 1};">' for n in range(1, 40))
    reason = _compile("dtd", f'<!ENTITY % e0 "<!-- x -->">{bomb}%e39;<!ELEMENT a ANY>')
    assert reason


def test_an_inferred_schema_does_not_grow_without_end(tmp_path: Path) -> None:
    """Every document has a new name; the schema widens up to its limit, and matching goes on."""
    limits = BrokerLimits(inferred_names=20)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/*/last", select="doc")
        for number in range(200):
            asked.post(f"<a{number}><b{number}/></a{number}>")
        asked.post("<zz><last/></zz>", "last")
        assert asked.all_notifications("s", 1)[0]["document"] == "last"
        schema = asked.ask("GET", "/feeds/f/schema").json
        assert schema["full"] is True
        assert 20 < schema["xsd"].count("xs:element name") < 80
    with served(tmp_path, BrokerSettings(limits=BrokerLimits(inferred_bytes=1_000))) as asked:
        asked.put_feed("g")
        asked.put("t", xpath="/*/last", select="doc", feed="g")
        for number in range(50):
            asked.post(f"<a{number}>{'x' * 90}</a{number}>", feed="g")
        asked.post("<zz><last/></zz>", "last", feed="g")
        assert asked.all_notifications("t", 1)[0]["document"] == "last"
        assert asked.ask("GET", "/feeds/g/schema").json["full"] is True
