"""PREPTOOL: decides how documents will be cut, from the normal forms of the queries.

Comes in:
    The schema, the subscriptions, and the number of chunks wanted, or sample documents to find the
    best number from.

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
looks at (`pieces` and `chunks`: what a million branches look at), `homes` and `ledger` what a chunk
must hold. `auto` finds the best number of chunks: `statistics` (from samples) or `expected` (from
the schema) say how large the parts of documents are, `estimate` what a chunk keeps of them,
`workload` what branches have to do, and `cost` what that costs. `revise` is the same for queries
that come and go later. `explain` and `picture` tell people about the result. `projector` is the
specification that CHUNKTOOL is tested against.
"""
