"""Splitting a large document into pieces that queries can be evaluated on.

Usage:
    ``divide(scheme)`` says which queries can be evaluated on pieces, and above which elements
    documents may be cut; ``survey`` scans a document once and gives its pieces: ranges of bytes,
    each with the tags that make it a well-formed document.

When to use which:
    Chunks (`extract.chunktool.chunks`) cut a document by queries, pieces cut it by size. Spark uses
    pieces for documents that are too much for one task (`extract.filtertool.pieces` filters them).

Always holds:
    The pieces together have every record of the document once. A query that `divide` names selects
    on the pieces what it selects in the document, in the same order; positions of elements are
    counted on with what the pieces say of the siblings before them.

To split more queries:
    The conditions are in `divide` and in `extract.scheme.splittable`; ``test_pieces.py`` compares
    the rows of pieces with those of the document.
"""
