"""What a scan must give: the specification of CHUNKTOOL's scanners, small and slow.

What an output keeps comes from `tests.support.projector`, what conforms from the places of the
schema, and which bytes are which node from `tests.support.anatomy`. `check_scanner` runs a scanner
over one document, at once and in windows, and compares all that it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from lxml import etree

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import Output
from extract.chunktool.scan.protocol import (
    HandOver,
    Scanner,
    Violation,
)
from extract.errors import DocumentError
from extract.markup.node_kinds import NodeKind
from extract.preptool.footprints.footprint import Footprint
from extract.schema.conformance import first_violation
from extract.scheme.model import Scheme
from extract.testing.scanning import Different, Scan, run, same, whole_document, windows
from extract.xpath.ast import LocationPath
from extract.xpath.parser import parse as parse_xpath
from tests.support.anatomy import Anatomy, expanded, written
from tests.support.generate.oracle import parse
from tests.support.projector import Projection

MakeScanner = Callable[[Automaton, bool], Scanner]
"""Makes a scanner for an automaton; the flag asks for the node table."""


def footprint_of(output: Output) -> Footprint:
    """What an output keeps, for the projector."""
    if output.whole:
        return Footprint(whole="it is the whole document")
    wants = set()
    for path, need in output.wants:
        steps = parse_xpath(path or "/")
        assert isinstance(steps, LocationPath)
        wants.add((steps.steps, need))
    return Footprint(frozenset(wants))


def expected(tree: Any, outputs: Sequence[Output], scheme: Scheme) -> list[Projection]:
    """What each output keeps of a parsed document."""
    return [Projection(tree, footprint_of(output), scheme.namespaces) for output in outputs]


def comparable(tree: Any) -> list[Any]:
    """A document as values that are equal if and only if the documents are the same."""
    root = tree.getroot()
    out: list[Any] = [str(node) for node in root.itersiblings(preceding=True)]
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            name = (node.prefix, node.tag)
            out.append((name, sorted(node.attrib.items()), dict(node.nsmap), node.text))
        else:
            out.append(("end" if event == "end" else str(node), node.tail))
    return out + [str(node) for node in root.itersiblings()]


def violations(scheme: Scheme, anatomy: Anatomy) -> Iterator[tuple[Violation, bool]]:
    """The edges that a document has and the schema has not, in document order.

    Each comes with whether it must be noticed. Those in places where no query as written can look
    need not be (TRAPS 8).
    """
    looked_at = _looked_at(scheme, anatomy)
    places = {None: scheme.schema.places.document}
    for number, element in enumerate(anatomy.elements):
        parent = element.getparent()
        if parent not in places:
            continue  # below an edge that is none
        must = parent is None or parent in looked_at
        path, start = anatomy.path(number), anatomy.starts[number].start
        place = places[parent].step(str(element.tag))
        if place is None:
            yield Violation(start, path, written(element)), must
            continue
        places[element] = place
        for name in element.attrib:
            if not place.has_attribute(str(name)):
                child = f"@{anatomy.written_attribute(number, str(name))}"
                yield Violation(start, f"{path}/{written(element)}", child), must


def _looked_at(scheme: Scheme, anatomy: Anatomy) -> set[Any]:
    """The elements below which a query as written may look at something."""
    out: set[Any] = set()
    for path in scheme.originals:
        if path == "/":
            return set(anatomy.elements)
        steps = path.split("/")[1:]
        paths = ["/" + "/".join(steps[:end]) for end in range(1, len(steps) + 1)]
        for on_the_way in (*paths, f"{path}/descendant::*"):
            out.update(anatomy.tree.xpath(on_the_way, namespaces=dict(scheme.namespaces)))
    return out


def check_scanner(
    make_scanner: MakeScanner,
    scheme: Scheme,
    outputs: Sequence[Output],
    document: bytes,
    rng: Random | None = None,
    assume_valid: bool = False,
    consumes_all: bool = False,
    sizes: Sequence[int] = (3, 40, 400),
) -> str:
    """Compares all that a scanner says of a document with what is specified.

    Args:
        make_scanner: The scanner.
        scheme: Whose schema and queries it is about.
        outputs: What to cut out.
        document: The document, well-formed or not, conforming or not.
        rng: How to cut windows.
        assume_valid: Whether the automaton may trust the document, which must then conform.
        consumes_all: Whether the scanner ends tokens that began in an earlier window.
        sizes: Bytes that windows have at most; one run for each, after one with everything at once.

    Returns:
        In a word how it went: ``same``, ``nonconforming``, ``malformed`` or ``handed over``.

    Raises:
        Different: Something is not as specified.
    """
    rng = rng or Random(0)
    automaton = Automaton(scheme, outputs, assume_valid)
    try:
        anatomy = Anatomy.of(document)
    except etree.XMLSyntaxError as error:
        return _check_malformed(make_scanner, automaton, document, rng, str(error))
    parts = anatomy.parts if consumes_all else None
    words: list[str] = []
    for cuts in (whole_document(), *(windows(rng, size) for size in sizes)):
        # The first time with the table, so that both ways are tried in windows and without.
        table = bool(anatomy.parts) and (not words or rng.random() < 0.5)
        try:
            scan = run(make_scanner(automaton, table), document, len(outputs), cuts, parts)
        except HandOver:
            words.append("handed over")
        except DocumentError as error:
            raise Different(f"libxml2 takes it, but: {error}") from None
        else:
            words.append(_check(scheme, automaton, anatomy, scan, table))
    same(words, words[:1] * len(words), "as a whole and in windows")
    if anatomy.in_entities and words[0] == "same":
        raise Different("its entities have markup in them, but it was not handed over")
    return words[0]


def _check_malformed(
    make_scanner: MakeScanner, automaton: Automaton, document: bytes, rng: Random, reason: str
) -> str:
    words = []
    for cuts in (whole_document(), windows(rng, 3), windows(rng, 40)):
        scanner = make_scanner(automaton, False)
        try:
            run(scanner, document, len(automaton.outputs), cuts)
        except DocumentError:
            words.append("malformed")
        except HandOver:
            words.append("handed over")
        else:
            raise Different(f"it was taken, but libxml2 says: {reason}")
    return "malformed" if "malformed" in words else "handed over"


def _check(scheme: Scheme, automaton: Automaton, anatomy: Anatomy, scan: Scan, table: bool) -> str:
    conforms = first_violation(scheme.schema, anatomy.tree) is None
    if scan.violation is not None:
        same(conforms, False, f"conforms, but: {scan.violation}")
        _check_violation(scheme, anatomy, scan.violation)
        return "nonconforming"
    if not conforms and anatomy.parts:
        missed = [edge for edge, must in violations(scheme, anatomy) if must]
        same(missed, [], "edges that were not noticed")
    projections = expected(anatomy.tree, automaton.outputs, scheme)
    for output, projection, text in zip(automaton.outputs, projections, scan.texts, strict=True):
        try:
            tree = parse(text).tree
        except etree.XMLSyntaxError as error:
            raise Different(f"{output} is no document: {error}\n{text!r}") from None
        same(comparable(tree), comparable(projection.tree), f"{output}: {text!r}")
    if table:
        _check_table(automaton, anatomy, projections, scan)
    return "same"


def _check_violation(scheme: Scheme, anatomy: Anatomy, found: Violation) -> None:
    if not anatomy.parts:
        return
    for edge, must in violations(scheme, anatomy):
        if edge == found:
            return
        if must:
            raise Different(f"the first edge\nfound:    {found}\nexpected: {edge}")
    raise Different(f"there is no such edge: {found}")


def _check_table(
    automaton: Automaton, anatomy: Anatomy, projections: Sequence[Projection], scan: Scan
) -> None:
    kept: set[Any] = set()  # elements, comments and PIs
    with_texts: set[Any] = set()  # elements whose texts are kept
    for projection in projections:
        for copy, original in projection.origin.items():
            kept.add(original)
            if isinstance(copy.tag, str) and (
                copy.text is not None or any(child.tail is not None for child in copy)
            ):
                with_texts.add(original)
    numbers = [n for n, element in enumerate(anatomy.elements) if element in kept]
    rows = {number: row for row, number in enumerate(numbers)}
    steps = _steps(automaton, anatomy)
    elements, ends = [], []
    for n in numbers:
        (state, symbol), start, end = steps[n], anatomy.starts[n], anatomy.ends[n]
        above = rows.get(anatomy.parents[n], -1)
        elements.append((state, above, start.start, start.end, anatomy.positions[n], symbol))
        ends.append((rows[n], end.start, end.end))
    same(scan.elements, elements, "elements (state, parent, start, content, position, symbol)")
    same(scan.ends, ends, "ends (row, close, end)")
    _check_leaves(anatomy, scan, rows, kept, with_texts)


def _steps(automaton: Automaton, anatomy: Anatomy) -> list[tuple[int, int]]:
    """State and symbol of each element."""
    states: dict[Any, int] = {None: automaton.START}
    symbols: list[int] = []
    for element in anatomy.elements:
        above = states[element.getparent()]
        symbols.append(automaton.symbol(*expanded(element.tag)))
        states[element] = automaton.step(above, symbols[-1]) if above >= 0 else above
    return [(states[e], symbol) for e, symbol in zip(anatomy.elements, symbols, strict=True)]


def _check_leaves(
    anatomy: Anatomy,
    scan: Scan,
    rows: Mapping[int, int],
    kept: set[Any],
    with_texts: set[Any],
) -> None:
    """Texts, comments and PIs, and that the rows of a text together have its value."""
    asides = iter(anatomy.asides)
    wanted = []
    values: dict[tuple[int, int], str] = {}
    for part in anatomy.parts:
        if part.kind in ("comment", "pi"):
            keep = next(asides) in kept
        else:
            keep = bool(part.number) and anatomy.elements[part.element] in with_texts
        if keep:
            kind, row = anatomy.kind(part), rows.get(part.element, -1)
            wanted.append((row, kind, part.start, part.end, part.number))
            if kind in (NodeKind.TEXT, NodeKind.CDATA, NodeKind.REFERENCES):
                key = (part.element, part.number)
                values[key] = values.get(key, "") + _value(kind, anatomy.decode(anatomy.text(part)))
    found = scan.leaves
    if "&" in re.sub(_KNOWN, "", anatomy.decode(anatomy.document)):
        # An entity of its own may be empty, so that there is no text where there is a reference.
        found = [row for row in found if row[1] in (NodeKind.COMMENT, NodeKind.PI)]
        wanted = [row for row in wanted if row[1] in (NodeKind.COMMENT, NodeKind.PI)]
        values.clear()
    same(found, wanted, "leaves (parent, kind, start, end, number)")
    for (number, which), value in values.items():
        text = str(anatomy.elements[number].xpath("text()")[which - 1])
        same(value, text, f"text {which} of element {number}")


_KNOWN = (
    r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&(?:#[0-9]+|#x[0-9a-fA-F]+|lt|gt|amp|quot|apos);"
)
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def _value(kind: int, content: str) -> str:
    if kind == NodeKind.TEXT:
        return content
    content = re.sub("\r\n?", "\n", content)
    if kind == NodeKind.CDATA:
        return content[9:-3]
    return re.sub("&(.*?);", lambda match: _character(match[1]), content)


def _character(reference: str) -> str:
    if reference.startswith("#x"):
        return chr(int(reference[2:], 16))
    return chr(int(reference[1:])) if reference.startswith("#") else _NAMED.get(reference, "")
