"""PREPTOOL: decides how documents will be cut, from the normal forms of the queries.

Comes in:
    The schema, the subscriptions, and the number of chunks wanted.

Goes out:
    A chunking scheme (`extract.scheme`, ``scheme.json``): for each chunk its path prefix, the
    filter nodes that its queries look at outside that prefix, and its queries; the rest goes to the
    potpourri.

Always holds:
    Every branch of every satisfiable query belongs to exactly one chunk or to the potpourri, and a
    chunk holds the whole footprint of its queries: evaluated on the chunk they select what they
    select on the document. The same input gives the same scheme, byte for byte.

The map is `extract.preptool.prepare`: `canonical` puts queries with equal normal forms together,
`tree` and `choose` find the prefixes as in section 4 of the paper, `footprint` says what a branch
looks at (`pieces`: what a million branches look at), `chunks` what a chunk must hold. `explain` and
`picture` tell people about the result. `projector` is the specification that CHUNKTOOL is tested
against.
"""
