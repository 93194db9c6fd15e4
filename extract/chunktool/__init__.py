"""CHUNKTOOL: cuts a document into the few small chunks that the queries need, in one pass.

Not implemented yet: this package only holds the place.

Comes in:
    A chunking scheme and one document, as bytes, a path or a file object.

Goes out:
    Chunks: lists of byte ranges of the original that together are a well-formed document, each with
    its own query set; and the verdict whether the document conforms to the schema.

Always holds:
    Every edge from parent to child is checked against the schema, so a document that breaks it is
    noticed and never pruned. Nothing is re-serialised: every node keeps its rank in document order
    and its byte span in the original. Memory grows with depth and with what is kept, not with the
    size of the document.
"""
