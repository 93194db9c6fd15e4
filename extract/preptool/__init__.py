"""PREPTOOL: decides how documents will be cut, from the normal forms of the queries.

Not implemented yet: this package only holds the place.

Comes in:
    The normal forms that TRANSTOOL makes, the schema, the number of chunks wanted, and sample
    documents if there are any.

Goes out:
    A chunking scheme (``scheme.json``): for each chunk its path prefix, the filter nodes that its
    queries look at outside that prefix, and its queries; the rest goes to the potpourri.

Always holds:
    Every branch of every satisfiable query belongs to exactly one chunk or to the potpourri, and a
    chunk holds the whole footprint of its queries: evaluated on the chunk they select what they
    select on the document. The same input gives the same scheme, byte for byte.
"""
