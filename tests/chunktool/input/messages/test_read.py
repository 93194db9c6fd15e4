"""Files of many messages, in every form: their names and bytes, and what is said of broken ones."""

from __future__ import annotations

import gzip
import json
import pickle
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from lxml import etree
from pyarrow import parquet

from extract.chunktool.input.find import search_inputs
from extract.chunktool.input.messages import columns, json_lines, xml_file
from extract.chunktool.input.messages.blocks import FailedMessage
from extract.chunktool.input.messages.form import MessageOptions, Messages
from extract.chunktool.input.messages.read import SingleDocuments, message_blocks
from extract.errors import DocumentError
from extract.limits import DEFAULTS, Limits

TEXTS: Final = [f"<a n='{n}'>\u00e9{n}</a>" for n in range(50)]
XML: Final = MessageOptions(kind="xml")


def read(path: Path, options: MessageOptions | None = None, **limits: Any) -> dict[str, Any]:
    """Names of messages, and their bytes or why they cannot be read."""
    (file,) = search_inputs([str(path)], options or MessageOptions()).documents
    found: dict[str, Any] = {}
    for block in message_blocks(file, Limits(**limits) if limits else DEFAULTS):
        again = pickle.loads(pickle.dumps(block))  # as it goes to another process
        for (name, document), (_, same) in zip(block.documents(), again.documents(), strict=True):
            short = name.removeprefix(f"{path.parent}/")
            assert short not in found
            found[short] = document
            if isinstance(document, FailedMessage):
                assert isinstance(same, FailedMessage)
                with pytest.raises(DocumentError) as error:
                    document.read(1)
                found[short] = error.value
            else:
                assert document == same
    return found


def numbered(name: str, texts: list[str]) -> dict[str, bytes]:
    return {f"{name}#{n}": text.encode() for n, text in enumerate(texts)}


@pytest.fixture(params=[1 << 20, 1_000, 1])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size; messages, lines and tags lie across their edges."""
    for module in (xml_file, json_lines, columns):
        monkeypatch.setattr(module, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(columns, "ROWS", min(4096, request.param * 7))


# -- XML documents one after the other


@pytest.mark.usefixtures("small_blocks")
def test_xml_documents(tmp_path: Path) -> None:
    path = tmp_path / "all.xml"
    path.write_text("\n".join(TEXTS))
    assert read(path, XML) == numbered("all.xml", TEXTS)
    path = tmp_path / "all.xml.gz"
    path.write_bytes(gzip.compress("".join(TEXTS).encode()))
    assert read(path, XML) == numbered("all.xml.gz", TEXTS)


def test_a_document_that_does_not_end_is_rejected_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "cut.xml"
    path.write_bytes(b"<a/>\n<b><c>\n<a/><a/>")
    found = read(path, XML)
    assert found["cut.xml#0"] == b"<a/>"
    error = found["cut.xml#1"]
    assert "line 2 of the file, byte 5: the document does not end" in error.reason
    assert "all 15 bytes" in error.reason
    assert "XML declaration" in error.hint
    assert len(found) == 2


def test_files_that_are_no_files_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for data, reason in (
        (b" \n", "there is no document in the file"),
        ("<a/>".encode("utf-16"), "UTF-16"),
    ):
        path.write_bytes(data)
        assert reason in read(path, XML)["a.xml"].reason
    missing = search_inputs([str(path)], XML).documents[0]._replace(path=str(tmp_path / "none"))
    ((_, document),) = next(message_blocks(missing, DEFAULTS)).documents()
    assert isinstance(document, FailedMessage)


@pytest.mark.usefixtures("small_blocks")
def test_a_message_that_is_too_long_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<a/><b>" + 5_000_000 * b"x" + b"</b><c/>")
    found = read(path, XML, document_bytes=1_000)
    assert found["a.xml#0"] == b"<a/>"
    if len(found) > 2:  # all was in one block: then each message is judged alone, by its filter
        assert list(found) == ["a.xml#0", "a.xml#1", "a.xml#2"]
    else:
        assert "--max-document-bytes" in found["a.xml#1"].reason
        assert "what follows it is not read" in found["a.xml#1"].reason


# -- records

FEED: Final = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE feed [<!ENTITY e "<q>text</q>"><!ATTLIST item kind CDATA "usual">]>
<feed xmlns="urn:f" xmlns:p='urn:p'>
  <head><p:item/></head>
  <item n="1">\xe9 &e; <p:x/></item>
  <group xmlns:p="urn:other" xmlns:z="urn:z">
  <item xmlns:z="urn:own"><p:x/><z:y/><item/></item></group>
  <item xmlns=""><x/></item>
  <item/>
</feed>"""


def expected_record(element: Any) -> bytes:
    """The canonical form of an element of the file, on its own."""
    return bytes(etree.tostring(element, method="c14n", with_tail=False))


@pytest.mark.usefixtures("small_blocks")
def test_a_record_means_what_it_means_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "feed.xml"
    path.write_bytes(FEED)
    found = read(path, MessageOptions(records="item"))
    tree = etree.fromstring(FEED)
    outermost = [one for one in tree.iter("{*}item") if one.prefix is None]
    outermost = [one for one in outermost if etree.QName(one.getparent()).localname != "item"]
    assert list(found) == [f"feed.xml#{n}" for n in range(len(outermost))]
    for document, element in zip(found.values(), outermost, strict=True):
        root = etree.fromstring(document)
        assert expected_record(root) == expected_record(element)
        assert root.nsmap == element.nsmap
        assert root.get("kind") == "usual"  # of the DOCTYPE, which the record has, too


def test_records_without_anything_around_are_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<x><r>1</r> <!-- <r/> --><r/></x>")
    assert read(path, MessageOptions(records="r")) == {"a.xml#0": b"<r>1</r>", "a.xml#1": b"<r/>"}


@pytest.mark.parametrize(
    ("data", "messages", "reason"),
    [
        (b"<x><s/></x>", 0, "there is no element r in the file"),
        (b"<x><r/>", 1, "the file is not complete"),
        (b"<x><r/></x", 1, "the file is not complete"),
        (b"<x>\n<r/><r><y></x>", 1, "line 2 of the file, byte 8: this element r does not end"),
        (b"<x><r/></x></x><r/>", 1, "byte 11: not well-formed outside of the elements r"),
    ],
)
def test_what_is_wrong_around_records(
    tmp_path: Path, data: bytes, messages: int, reason: str
) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(data)
    found = read(path, MessageOptions(records="r"))
    assert reason in found.pop("a.xml").reason
    assert list(found) == [f"a.xml#{n}" for n in range(messages)]


# -- lines of JSON


@pytest.mark.usefixtures("small_blocks")
def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    lines = [json.dumps({"document": text, "other": [{}]}) for text in TEXTS]
    path.write_text("\n".join(lines))
    assert read(path) == numbered("a.ndjson", TEXTS)
    path = tmp_path / "b.jsonl.gz"
    named = [json.dumps({"name": f"n{n}", "document": text}) for n, text in enumerate(TEXTS)]
    path.write_bytes(gzip.compress(("\r\n".join(named) + "\n\n").encode()))
    assert read(path) == {f"n{n}": text.encode() for n, text in enumerate(TEXTS)}


LINES: Final = [
    ('{"document": "<a/>"}', b"<a/>"),
    ('{"document": "<\\u00e9/>", "name": null}', "<\u00e9/>".encode()),
    ('{"document": "<a/>"', "line 3 of the file: it is no JSON"),
    ("", None),
    ('{"document": null}', 'no object with a string "document"'),
    ('{"document": 5}', 'no object with a string "document"'),
    ('["document"]', 'no object with a string "document"'),
    ('{"document": "<a/>", "name": 5}', '"name" is no string'),
    ('{"document": "\\ud800"}', "surrogate"),
    ('{"document": "<a/>"} {"document": "<b/>"}', "no JSON"),
    ('{"document": "<a>\\n</a>", "document": "<b/>"}', b"<b/>"),
    ('{"document": "<z/>", "x": ' + 9_999 * "[" + 9_999 * "]" + "}", "nested too deeply"),
    ('{"document": ""}', b""),
]


@pytest.mark.usefixtures("small_blocks")
def test_a_line_that_is_no_message_is_rejected_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(line for line, _ in LINES))
    wanted = [said for _, said in LINES if said is not None]
    found = read(path)
    assert list(found) == [f"a.jsonl#{n}" for n in range(len(wanted))]
    for document, said in zip(found.values(), wanted, strict=True):
        if isinstance(said, bytes):
            assert document == said
        else:
            assert said in document.reason


def test_a_line_is_the_same_alone_and_among_others(tmp_path: Path) -> None:
    """Arrow reads many lines, and Python those that Arrow does not: both read the same."""
    path = tmp_path / "a.jsonl"
    good = [line for line, said in LINES if isinstance(said, bytes)]
    good += [json.dumps({"document": text, "x": {"document": 1}}) for text in TEXTS]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(good).encode())
    at_once = read(path)
    path.write_text("\n\n".join(good))
    assert read(path) == at_once
    assert len(at_once) == len(good)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"document": "<a>\xff</a>"}\n{"document": "<b/>"}\n')
    found = read(path)
    assert "not UTF-8" in found["a.jsonl#0"].reason
    assert found["a.jsonl#1"] == b"<b/>"


# -- columns


def write_table(path: Path, table: Any) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=20)
        return
    make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=20)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.binary(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns(tmp_path: Path, suffix: str, kind: Any) -> None:
    path = tmp_path / f"a{suffix}"
    texts: list[str | None] = [*TEXTS, None]
    documents = pa.array(texts).cast(kind)
    write_table(path, pa.table({"body": documents, "key": list(range(len(texts)))}))
    found = read(path, MessageOptions(column="body", names="key"))
    assert "null" in found.pop("50").reason
    assert found == {str(n): text.encode() for n, text in enumerate(TEXTS)}
    assert list(read(path, MessageOptions(column="body")))[:2] == [f"a{suffix}#0", f"a{suffix}#1"]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_table(path, pa.table({"body": ["<a/>"], "size": [4]}))
    error = read(path)["a.parquet"]
    assert error.reason == "there is no column document in the file"
    assert error.hint == "name another with --column; there are body, size"
    assert "of type int64" in read(path, MessageOptions(column="size"))["a.parquet"].reason
    path.write_bytes(b"no Parquet")
    assert "cannot be read as Parquet" in read(path)["a.parquet"].reason


# -- all forms


def test_shares_have_every_message_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (xml_file, json_lines):
        monkeypatch.setattr(module, "BLOCK_BYTES", 100)
    (tmp_path / "a.xml").write_text("".join(TEXTS))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"document": "{one}"}}\n' for one in TEXTS))
    write_table(tmp_path / "a.parquet", pa.table({"document": TEXTS}))
    for name in ("a.xml", "a.jsonl", "a.parquet"):
        (file,) = search_inputs(
            [str(tmp_path / name)], XML if name == "a.xml" else MessageOptions()
        ).documents
        assert file.messages is not None
        found: list[Any] = []
        for share in range(3):
            part = file._replace(messages=Messages(file.messages.form, share, 3))
            found.append(
                [one for block in message_blocks(part, DEFAULTS) for one in block.documents()]
            )
        assert all(found)
        wanted = {f"{tmp_path / name}#{n}": text.encode() for n, text in enumerate(TEXTS)}
        assert dict(chain.from_iterable(found)) == wanted
        assert sum(map(len, found)) == len(TEXTS)


def test_single_documents_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/><b/><c>")
    files = search_inputs([str(tmp_path / "a.xml")], XML).documents
    documents = SingleDocuments([*files, "b.xml"], DEFAULTS)
    assert list(documents) == list(documents) == [b"<a/>", b"<b/>", "b.xml"]
    assert not documents.on_stdin
