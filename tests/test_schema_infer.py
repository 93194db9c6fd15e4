"""Inferred schemas: all documents keep them, and they allow nothing that no document showed.

Three oracles: the validators of lxml (XSD, DTD) and xmlschema for the written files, `Schema.load`
of the same files, and for closedness a walk over the trees that knows nothing of the inference.
"""

from __future__ import annotations

import gzip
import tempfile
from copy import deepcopy
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import xmlschema
from hypothesis import HealthCheck, given, settings
from lxml import etree

from extract.chunktool.default_schema import default_schema
from extract.chunktool.infer import Inference, infer_schema
from extract.chunktool.source import WINDOW
from extract.errors import DocumentError, SchemaError
from extract.limits import Limits
from extract.schema.conformance import first_violation
from extract.schema.infer import InferredSchema
from extract.schema.model import XSI_NAMESPACE, Schema, Text, namespace_of
from tests.generate.documents import Documents, Options
from tests.generate.draw import between, chance
from tests.generate.oracle import parse
from tests.generate.schemas import schema as random_schema
from tests.generate.strategies import sources

Edges = dict[str, tuple[set[str], set[str], bool]]  # children, attributes, text beyond white space


def trees_of(documents: Sequence[bytes]) -> list[Any]:
    return [parse(document).tree for document in documents]


def walk(trees: Sequence[Any]) -> tuple[set[str], Edges]:
    """What the trees have: the names of roots; children, attributes and text by name."""
    edges: Edges = {}
    for tree in trees:
        for element in tree.iter(etree.Element):
            children, attributes, text = edges.setdefault(element.tag, (set(), set(), False))
            kids = [child for child in element if isinstance(child.tag, str)]
            children.update(child.tag for child in kids)
            attributes.update(element.attrib)
            texts = element.xpath("text()")
            own = any(one.strip(" \t\r\n") or not one for one in texts)
            edges[element.tag] = (children, attributes, text or own)
    return {tree.getroot().tag for tree in trees}, edges


def facts(schema: Schema) -> tuple[set[str], Edges]:
    """The same of a schema, from its places; every name has one place in an inferred schema."""
    places = schema.places
    edges: Edges = {}
    for place in places.all[2:]:
        assert place.name not in edges and len(place.declarations) == 1
        names = {a.name for d in place.declarations for a in d.attributes}
        text = place.declarations[0].text is Text.ANY
        edges[place.name] = (set(place.children), names, text)
    return set(places.document.children), edges


def without_xsi(edges: Edges) -> Edges:
    """Without what an XSD allows everywhere."""
    return {
        name: (kids, {a for a in attributes if namespace_of(a) != XSI_NAMESPACE}, text)
        for name, (kids, attributes, text) in edges.items()
    }


def check_closed(inferred: InferredSchema, trees: Sequence[Any]) -> None:
    """The inferred schema has the edges of the documents, all of them and no others."""
    roots, edges = walk(trees)
    found_roots, found = facts(inferred.schema)
    assert found_roots == roots
    assert {n: e[:2] for n, e in found.items()} == {n: e[:2] for n, e in edges.items()}
    for name, (children, _, text) in edges.items():
        if text or children:  # white space alone is text where there is nothing else
            # An empty CDATA section beside other text is nowhere in the tree, but counts as text.
            assert found[name][2] >= text, name
    for tree in trees:
        assert first_violation(inferred.schema, tree) is None
    check_required(inferred, trees)


def check_required(inferred: InferredSchema, trees: Sequence[Any]) -> None:
    """An attribute or child is required exactly if every element of the name has it."""
    for name, element in inferred.elements.items():
        nodes = [node for tree in trees for node in tree.iter(name)]
        for attribute, required in element.attributes:
            assert required == all(attribute in node.attrib for node in nodes)
        for child in element.children:
            counts = [len(node.findall(f"./{child.name}")) for node in nodes]
            assert (child.required, child.repeated) == (min(counts) > 0, max(counts) > 1)


def check_xsd(inferred: InferredSchema, documents: Sequence[bytes], trees: Sequence[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = inferred.write(Path(folder, "schema.xsd"))
        validator = etree.XMLSchema(etree.parse(str(files[0])))
        other = xmlschema.XMLSchema(str(files[0]))
        for tree in trees:
            assert validator.validate(tree), validator.error_log
            plain = deepcopy(tree.getroot())  # xmlschema takes comments in it for elements
            etree.strip_tags(plain, etree.Comment, etree.ProcessingInstruction)
            errors = list(other.iter_errors(plain))
            assert not errors, errors[0]
        loaded = Schema.load(files[0])
    roots, edges = facts(loaded)
    expected_roots, expected = facts(inferred.schema)
    assert (roots, edges) == (expected_roots, without_xsi(expected))
    assert not loaded.notes


def check_dtd(inferred: InferredSchema, trees: Sequence[Any]) -> bool:
    """False where a DTD cannot say it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = inferred.write(Path(folder, "schema.dtd"))
        except SchemaError as error:
            assert ".xsd" in error.hint
            return False
        validator = etree.DTD(str(files[0]))
        for tree in trees:
            assert validator.validate(tree), (validator.error_log, files[0].read_text())
        loaded = Schema.load(files[0])
    roots, edges = facts(loaded)
    expected_roots, expected = facts(inferred.schema)
    assert roots == expected_roots
    assert {n: e[:2] for n, e in edges.items()} == {n: e[:2] for n, e in expected.items()}
    return True


def random_documents(rng: Random) -> Iterator[bytes]:
    """A few documents of one random schema, odd ones too."""
    writer = Documents(random_schema(rng).load())
    for _ in range(between(rng, 1, 4)):
        options = Options(
            size=between(rng, 1, 40),
            strict=chance(rng, 40),
            odd=between(rng, 0, 25),
            doctype=chance(rng, 30),
            markup_entities=chance(rng, 10),
        )
        yield writer.document(rng, options)


def has_xsi_type(trees: Sequence[Any]) -> bool:
    wanted = f"{{{XSI_NAMESPACE}}}type"
    return any(wanted in element.attrib for tree in trees for element in tree.iter(etree.Element))


def check(documents: Sequence[bytes]) -> str:
    """All that must hold for documents; which kinds of schemas could be written."""
    trees = trees_of(documents)
    inferred = infer_schema(documents)
    assert inferred.documents == len(documents)
    check_closed(inferred, trees)
    kinds = ""
    if not has_xsi_type(trees) and not has_nil(trees):
        check_xsd(inferred, documents, trees)
        kinds = "xsd"
    return kinds + " dtd" * check_dtd(inferred, trees)


def has_nil(trees: Sequence[Any]) -> bool:
    wanted = f"{{{XSI_NAMESPACE}}}nil"
    return any(wanted in element.attrib for tree in trees for element in tree.iter(etree.Element))


@given(sources())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40)
def test_documents_keep_the_schema_and_it_is_closed(rng: Random) -> None:
    check(list(random_documents(rng)))


def test_both_kinds_of_schemas_are_written_often() -> None:
    kinds = [check(list(random_documents(Random(seed)))) for seed in range(60)]
    assert sum("xsd" in kind for kind in kinds) > 40
    assert sum("dtd" in kind for kind in kinds) > 20


@pytest.mark.slow
def test_hundreds_of_inferred_schemas() -> None:
    for seed in range(1_000, 2_000):
        check(list(random_documents(Random(seed))))


def test_kernel_and_events_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100):
        documents = list(random_documents(Random(seed)))
        monkeypatch.delenv("EXTRACT_KERNEL", raising=False)
        fast = infer_schema(documents)
        monkeypatch.setenv("EXTRACT_KERNEL", "off")
        slow = infer_schema(documents)
        assert facts(fast.schema) == facts(slow.schema)
        for name, element in fast.elements.items():
            other = slow.elements[name]
            assert set(element.attributes) == set(other.attributes)
            assert set(element.children) == set(other.children)
            assert (element.ordered, element.text, element.bare) == (
                other.ordered,
                other.text,
                other.bare,
            )
            # libxml2's events do not tell prefixes where several stand for one namespace.
            assert other.spellings - {None} <= element.spellings
