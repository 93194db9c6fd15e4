"""The contract of scanners, which every scanner must pass.

    class TestMine(ScannerContract):
        def make(self, automaton, limits, table):
            return MyScanner(automaton, limits, table)

pytest runs the inherited tests: the kept bytes of a document, wherever windows end; violations of
    the
schema; ill-formed documents. The node table is compared with that of the reference scanner.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from random import Random

import pytest

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import Output, chunk_outputs
from extract.chunktool.scan.protocol import HandOver, Scanner
from extract.chunktool.scan.reference.scanner import ReferenceScanner
from extract.errors import DocumentError
from extract.limits import DEFAULTS, Limits
from extract.scheme.model import Scheme
from extract.testing.scanner_cases import (
    BROKEN,
    CUT_ANYWHERE,
    KEPT,
    KEPT_WITH_NAMESPACES,
    LETTERS,
    MALFORMED,
    SPACES,
    SUBSETS,
    output_of,
    schema_of,
    scheme_of,
)
from extract.testing.scanning import Scan, Token, run, whole_document, windows


class ScannerContract:
    """The required behaviour of a scanner. Override `make` in a subclass."""

    def make(self, automaton: Automaton, limits: Limits, table: bool) -> Scanner:
        """Makes a scanner for one document.

        Args:
            automaton: The automaton to follow.
            limits: The largest document, depth and so on.
            table: Whether to fill the node table.
        """
        raise NotImplementedError

    def tokens(self, document: bytes) -> Sequence[Token] | None:
        """Returns the tokens of a document; None for a scanner that leaves an unfinished token.

        Override it for a scanner that consumes every window to its end.
        """
        return None

    def scan(
        self, scheme: Scheme, outputs: Sequence[Output], document: bytes, table: bool = False
    ) -> Scan:
        """Scans a document in one window."""
        scanner = self.make(Automaton(scheme, outputs), DEFAULTS, table)
        return run(scanner, document, len(outputs), whole_document())

    # -- kept bytes

    @pytest.mark.parametrize("name", KEPT)
    def test_what_is_kept(self, name: str) -> None:
        wants, document, kept = KEPT[name]
        scheme = scheme_of(schema_of(LETTERS))
        assert self.scan(scheme, [output_of(wants)], document.encode()).texts == [kept.encode()]

    @pytest.mark.parametrize("name", KEPT_WITH_NAMESPACES)
    def test_what_is_kept_with_namespaces(self, name: str) -> None:
        wants, document, kept = KEPT_WITH_NAMESPACES[name]
        scheme = scheme_of(schema_of(SPACES))
        assert self.scan(scheme, [output_of(wants)], document.encode()).texts == [kept.encode()]

    def test_outputs_do_not_disturb_each_other(self) -> None:
        scheme = scheme_of(schema_of(LETTERS))
        outputs = [output_of(wants) for wants, _, _ in KEPT.values()]
        for number, (_, document, kept) in enumerate(KEPT.values()):
            assert self.scan(scheme, outputs, document.encode()).texts[number] == kept.encode()

    def test_a_whole_output_is_the_document_as_it_is(self) -> None:
        scheme = scheme_of(schema_of(LETTERS))
        document = b"\n<!--x--> <a>\r\n<b k = '&#65;'/></a>\n\n"
        outputs = [Output("whole", (), True), output_of("/a/b node")]
        texts = self.scan(scheme, outputs, document).texts
        assert texts == [document, b"<a><b k = '&#65;'/></a>"]

    @pytest.mark.parametrize("text", CUT_ANYWHERE)
    def test_windows_may_end_anywhere(self, text: str) -> None:
        scheme, document = scheme_of(schema_of(LETTERS)), text.encode()
        outputs = [
            output_of(w) for w in ("/a subtree", "/ children, /a children", "//c node, /a/b node")
        ]
        automaton, tokens, size = Automaton(scheme, outputs), self.tokens(document), len(document)

        def scan(*cuts: int) -> Scan:
            sizes = chain.from_iterable((end - start, 1) for start, end in pairwise((0, *cuts)))
            scanner = self.make(automaton, DEFAULTS, True)
            return run(scanner, document, len(outputs), iter(sizes), tokens)

        whole = scan(size)
        for first in range(1, size - 1):
            for second in range(first + 1, min(first + 12, size)):
                cuts = (first, second, size)
                assert scan(*cuts) == whole, [document[:first], document[first:second]]

    @pytest.mark.parametrize("name", [*KEPT, *SUBSETS])
    def test_the_node_table_is_that_of_the_reference_scanner(self, name: str) -> None:
        scheme = scheme_of(schema_of(LETTERS), "/a/b[c]", "string(/a/b)", "//c", "/a/text()")
        wants, document, _ = KEPT.get(name, ("/a subtree", name, ""))
        outputs = [output_of(wants), *chunk_outputs(scheme)]
        automaton = Automaton(scheme, outputs)

        def scan(scanner: Scanner) -> Scan:
            return run(scanner, document.encode(), len(outputs), whole_document())

        try:
            own = scan(self.make(automaton, DEFAULTS, True))
            reference = scan(ReferenceScanner(automaton, DEFAULTS, True))
        except (DocumentError, HandOver):
            return  # a scanner may hand over documents with declarations
        if reference.violation is not None:  # then ranges and nodes do not count
            assert own.violation == reference.violation
        else:
            assert own == reference

    # -- violations of the schema

    @pytest.mark.parametrize("name", BROKEN)
    def test_what_breaks_the_schema(self, name: str) -> None:
        query, document, noticed = BROKEN[name]
        scheme = scheme_of(schema_of(LETTERS), query)
        scan = self.scan(scheme, chunk_outputs(scheme), document.encode())
        assert (scan.violation is not None) == noticed

    def test_too_many_states_are_handed_over(self) -> None:
        scheme, outputs = scheme_of(schema_of(LETTERS)), [output_of("//c node")]
        for document, fits in ((b"<a><b/></a>", True), (b"<a><b/><d/></a>", False)):
            automaton = Automaton(scheme, outputs, max_states=3)
            scanner = self.make(automaton, DEFAULTS, False)
            if fits:
                run(scanner, document, 1, whole_document())
            else:
                with pytest.raises(HandOver):
                    run(scanner, document, 1, whole_document())

    # -- ill-formed documents

    @pytest.mark.parametrize("text", MALFORMED)
    def test_what_is_not_well_formed(self, text: str) -> None:
        document = text.encode("utf-8", "surrogatepass")
        self._check_malformed(document, allow_hand_over="<!" in text)

    @pytest.mark.parametrize(
        "document",
        [
            b"<a>\xff</a>",
            b"<a>\xc0\x80</a>",
            b"<a>\xed\xa0\x80</a>",
            b"<a>\xf4\x90\x80\x80</a>",
            b"<a>\xc3",
        ],
    )
    def test_what_is_not_utf_8(self, document: bytes) -> None:
        self._check_malformed(document, allow_hand_over=False)

    def _check_malformed(self, document: bytes, allow_hand_over: bool) -> None:
        scheme = scheme_of(schema_of(LETTERS), "//c")
        outputs = chunk_outputs(scheme)
        errors = (DocumentError, HandOver) if allow_hand_over else (DocumentError,)
        for cuts in (whole_document(), windows(Random(1), 3)):
            scanner = self.make(Automaton(scheme, outputs), DEFAULTS, False)
            with pytest.raises(errors):
                run(scanner, document, len(outputs), cuts, self.tokens(b""))

    def test_entities_that_grow_are_not_expanded(self) -> None:
        lines = ["<!ENTITY e0 'xxxxxxxxxx'>"]
        for number in range(9):
            lines.append(f"<!ENTITY e{number + 1} '{f'&e{number};' * 10}'>")
        document = f"<!DOCTYPE a [{''.join(lines)}]><a><b>&e9;</b></a>".encode()
        scheme = scheme_of(schema_of(LETTERS), "//b")
        with pytest.raises((DocumentError, HandOver)):
            self.scan(scheme, chunk_outputs(scheme), document)
