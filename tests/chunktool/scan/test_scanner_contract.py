"""The scanners that are built in pass the contract that is shipped for others'."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.driver import kernel_scanner
from extract.chunktool.scan.protocol import Scanner
from extract.chunktool.scan.reference.scanner import ReferenceScanner
from extract.limits import Limits
from extract.testing.scanner_contract import ScannerContract
from extract.testing.scanning import Token
from tests.support.anatomy import pieces


class TestReferenceScanner(ScannerContract):
    def make(self, automaton: Automaton, limits: Limits, table: bool) -> Scanner:
        return ReferenceScanner(automaton, limits, table)

    def tokens(self, document: bytes) -> Sequence[Token] | None:
        return pieces(document)


class TestKernelScanner(ScannerContract):
    def make(self, automaton: Automaton, limits: Limits, table: bool) -> Scanner:
        kernel = kernel_scanner()
        if kernel is None:
            pytest.skip("the kernel is not compiled")
        return kernel(automaton, limits, table)
