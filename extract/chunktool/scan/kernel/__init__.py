"""The scanner in C: what the reference scanner does, at the speed of memory.

Usage:
    `extract.chunktool.scan.driver` uses it where it was compiled; elsewhere this package cannot be
    imported. In come the bytes of a document in windows, and an `Automaton`; out go the ranges that
    each output keeps, the node table, the first violation of the schema, or an error.

Which file:
    ``scan.h`` says at its top what each of the C files does; ``_kernel.pyx`` is the bridge to
    Python, ``_tally.pyx`` counts node tables for schema inference.

Always holds:
    The verdict on well-formedness is libxml2's, or there is none: what the kernel does not do
    itself it hands over (`HandOver`). No Python runs for a tag: the automaton is asked once for
    each new name, context and edge, and the answers stay for the following documents.

To add a feature:
    Cases in `extract.testing.scanner_contract`, which both scanners must pass, then
    ``tests/chunktool/scan/test_kernel.py`` for libxml2's verdict on it, then the C code.
"""

from extract.chunktool.scan.kernel._kernel import KernelScanner, gather

__all__ = ["KernelScanner", "gather"]
