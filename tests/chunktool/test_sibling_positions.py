"""Positions among siblings of elements whose siblings a chunk may not have."""

from __future__ import annotations

import io

import pytest
from lxml import etree

from extract.chunktool import chunks as chunks_module
from extract.chunktool.chunks import chunk
from extract.chunktool.input.source import open_source
from extract.chunktool.scan.byte_ranges import Window
from extract.chunktool.scan.driver import scan
from extract.chunktool.scan.protocol import Batch
from extract.chunktool.sibling_positions import Positions
from extract.scheme import Scheme
from tests.support.chunk_documents import element_starts, university, use_window_scanner


@pytest.mark.parametrize("size", [64, 300, 1 << 22])
def test_loose_elements_are_those_whose_siblings_may_be_missing(
    scheme: Scheme, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_window_scanner(monkeypatch, size)
    document = university(40)

    class Sink:
        def __init__(self, positions: Positions) -> None:
            self.positions = positions
            self.found: list[dict[int, int]] = []
            self.elements: list[int] = []

        def restart(self) -> None:
            self.found = [{} for _ in scheme.every_chunk]
            self.elements = [0 for _ in scheme.every_chunk]

        def take(self, window: Window, batch: Batch) -> None:
            for number, loose in enumerate(self.positions.take(window.start, batch)):
                pairs = zip(loose.start.tolist(), loose.position.tolist(), strict=True)
                assert not self.found[number].keys() & set(loose.start.tolist())
                self.found[number].update(pairs)
                self.elements[number] += loose.elements

    parts = chunk(scheme, document, nodes=True)
    with chunks_module.borrowed_automaton(scheme, "chunks", False) as automaton:
        sink = Sink(Positions(automaton))
        scan(open_source(io.BytesIO(document)), automaton, sink, table=True)
    starts = element_starts(document)
    for number, part in enumerate(parts):
        assert sink.elements[number] == len(part.rows)
        wanted = {}
        for element in etree.fromstring(part.xml()).iter("*"):
            depth = len(list(element.iterancestors()))
            if depth < 2 or part.id == "potpourri":
                wanted[element.getroottree().getelementpath(element)] = element
        assert len(sink.found[number]) == len(wanted)
        for start, position in sink.found[number].items():
            element = starts[start]
            assert position == 1 + len(list(element.itersiblings(element.tag, preceding=True)))
