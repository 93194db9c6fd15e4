"""CHUNKTOOL: cuts a document into the few small chunks that the queries need, in one pass.

Comes in:
    A chunking scheme and one document, as bytes, a path or a file object, gzipped or not.

Goes out:
    Chunks: lists of byte ranges of the original that together are a well-formed document, each with
    its own query set; and the verdict whether the document conforms to the schema. In Python
    (`extract.chunk`), as files (``extract chunk``), or as one small document for any matcher
    (`extract.Prefilter`, ``extract project``). For a document of many megabytes, pieces of bounded
    size (`extract.chunktool.split`).

Always holds:
    Every edge from parent to child is checked against the schema, so a document that breaks it is
    noticed and never pruned. No chunk is handed on before the last byte is read. No byte is
    re-serialised: every node keeps its rank in document order and its byte span in the original.
    Memory grows with depth and with the ranges that outputs keep, not with the size of the
    document.

The way of a document: `input.find` lists it, and `input.remote` opens it where it lies behind a
    URI.
`input.source` makes its bytes readable in windows, as often as needed. `scan.driver` chooses one of
two scanners with the same contract (`scan.protocol`): the `kernel` in C, or the `reference` on
expat, to which the kernel hands over documents that it does not support. Both follow the
`automaton`, which says what each of the `outputs` keeps. `scan.byte_ranges` turns ranges into
bytes, and `input.spill` stores them until the scan has ended. Then `chunks`, `prefilter` and
`manifest` hand them on.

To add one more:
    Another consumer of scans is a `scan.driver.Sink`. Another scanner implements
    `scan.protocol.Scanner`, passes the contract tests, and has a row in `scan.driver.scanners`.
"""
