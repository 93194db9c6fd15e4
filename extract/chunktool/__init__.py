"""CHUNKTOOL: cuts a document into the few small chunks that the queries need, in one pass.

Usage:
    for chunk in extract.chunk(scheme, "doc.xml"):              # `chunks`
        chunk.id, chunk.queries, chunk.xml()

    small = extract.Prefilter(scheme).project(document)         # `prefilter`

When to use which:
    `chunks` for the chunks of one document in Python, each with its queries. `manifest` for chunks
    as files (``extract chunk``), with `chunk_map` beside them: where each byte comes from.
    `prefilter` for one small document that answers every query, in front of any matcher. FILTERTOOL
    drives the scan itself, because it needs the node table. For a document of many megabytes there
    are pieces of bounded size (`split`). Where no schema is given, `inference` makes one.

    A document is listed by `input.find` and opened by `input.source`. `scan.driver` scans it with
    one of two scanners that do the same: `scan.kernel` in C, or `scan.reference` on expat. Both
    follow the `automaton`, which says what each of its `automaton.outputs` keeps. What is kept is
    turned into bytes (`scan.byte_ranges`) and held until the scan has ended (`input.spill`).
    `sibling_positions` are those that cannot be counted in a chunk, `file_names` are safe names for
    files that documents and chunks are written to.

Always holds:
    Every edge from parent to child is checked against the schema, so a document that breaks it is
    noticed and never pruned. Nothing is handed on before the last byte was read. Nothing is
    re-serialised: every node keeps its rank in document order and its byte span in the original.
    Memory grows with depth and with the ranges that are kept, not with the size of the document.

To add one more:
    Another way to hand on what a scan keeps is a `scan.driver.Sink`. Another scanner, compression
    or source of documents: see `scan` and `input`.
"""
