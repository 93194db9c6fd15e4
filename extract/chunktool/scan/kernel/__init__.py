"""The scanner in C: does the work of the reference scanner at the speed of memory.

In come the bytes of a document in windows, and an `Automaton`; out go the ranges that each output
In come the bytes of a document in windows, and an `Automaton`; out go the ranges that each output

- the verdict on well-formedness is lxml's, or there is none: the kernel hands over every document
  that it does not support (`HandOver`);
- no Python runs for a tag: the kernel calls the automaton once for each new name, context and edge,
  and caches the results for the following documents.

This package can only be imported where the extension is compiled. The C files are described at the
top of ``scan.h``; ``c_scan.pxd`` declares them, and ``_kernel.pyx`` connects them to Python. To
extend the kernel, add a case to the contract tests of both scanners, then one to
``tests/chunktool/scan/test_kernel.py`` for lxml's verdict on it.
"""

from extract.chunktool.scan.kernel._kernel import KernelScanner, gather

__all__ = ["KernelScanner", "gather"]
