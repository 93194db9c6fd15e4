"""Splitting a large document into pieces that queries can be evaluated on.

Comes in:
    A scheme, and a document of many megabytes.

Goes out:
    `divide` says which queries can be evaluated on pieces, and above which elements documents may
    be cut; `survey` scans a document once and gives its pieces: ranges of bytes, each with the tags
    that make it a well-formed document.

Always holds:
    The pieces together have every record of the document once. A query that `divide` names finds on
    the pieces what it finds in the document, in the same order; positions of elements are counted
    on with what the pieces say of the siblings before them.

Chunks are another matter: `extract.chunktool.chunks` cuts a document by queries, this one by size.
"""
