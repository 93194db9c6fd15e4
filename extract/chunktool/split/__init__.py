"""Splitting a large document into pieces that queries can be evaluated on.

Comes in:
    A scheme, and a document of many megabytes.

Goes out:
    `divide` finds the queries that can be evaluated on pieces, and the elements above which
    documents may be cut; `survey` scans a document once and returns its pieces: ranges of bytes,
    each with the tags that make it a well-formed document.

Always holds:
    The pieces together have every record of the document once. A query that `divide` names selects
    on the pieces what it selects in the document, in the same order; the pieces carry the numbers
    of siblings before them, from which positions of elements are counted.

`extract.chunktool.chunks` cuts a document by queries; this package cuts it by size.
"""
