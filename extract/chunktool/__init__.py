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
    noticed and never pruned. Nothing is handed on before the last byte was read. Nothing is
    re-serialised: every node keeps its rank in document order and its byte span in the original.
    Memory grows with depth and with the ranges that are kept, not with the size of the document.

The way of a document: `find` lists it, and `remote` opens it where it lies behind a URI. `source`
makes its bytes readable in windows, as often as needed; `scanner` chooses one of two scanners with
the same contract (`scan`): the `kernel` in C, or the `reference` on expat, to which the kernel
leaves what it does not do. Both follow the `automaton`, which knows what each of the `outputs`
keeps. `cut` turns ranges into bytes, and `pile` keeps them until the scan has ended. Then `chunks`,
`prefilter` and `manifest` hand them on.

To add one more:
    Another way to hand on what a scan finds is a `scanner.Sink`. Another scanner implements
    `scan.Scanner`, passes the contract tests, and is listed in `scanner`.
"""
