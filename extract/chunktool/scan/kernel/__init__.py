"""The scanner in C: what the reference scanner does, at the speed of memory.

In come the bytes of a document in windows, and an `Automaton`; out go the ranges that each output
keeps, the node table, the first violation of the schema, or an error. Always holds:

- the verdict on well-formedness is lxml's, or there is none: what the kernel does not do itself it
  hands over (`HandOver`);
- no Python runs for a tag: the automaton is asked once for each new name, context and edge, and the
  answers are kept for the following documents.

This package can only be imported where the extension was compiled. The C files say what each of
them does at the top of ``scan.h``; ``_kernel.pyx`` is the bridge. To make the kernel do something
more, make the contract tests of both scanners ask for it, then
``tests/chunktool/scan/test_kernel.py`` for lxml's verdict on it.
"""

from extract.chunktool.scan.kernel._kernel import KernelScanner, gather

__all__ = ["KernelScanner", "gather"]
