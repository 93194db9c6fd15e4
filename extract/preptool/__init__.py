"""PREPTOOL: decides how documents are cut, from the normal forms of the queries.

Usage:
    >>> from extract.preptool.prepare import prepare
    >>> from extract.schema.model import Declaration, Schema
    >>> from extract.subscriptions import Subscriptions
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> scheme = prepare(schema, Subscriptions.of({"bs": "//b[../c]"}), chunks=1)
    >>> scheme.chunks[0].prefix, scheme.chunks[0].filters[0].path
    ('/a/b', '/a/c')

    The chunking scheme (`extract.scheme`, ``scheme.json``) has for each chunk its path prefix, the
    filter nodes that its queries look at outside of that prefix, and its queries. What fits no
    chunk is in the potpourri.

Which to use:
    `prepare` makes a scheme; `revise` changes one when subscriptions are added or removed, at the
    cost of the change. `explain` says in words and pictures why a query is where it is.

    Inside: `canonical` puts queries with equal normal forms together; `query_tree` and `choose`
    find the prefixes as in section 4 of the paper; `footprints` says what of a document the queries
    look at; `chunk_builder` collects what a chunk has to hold, and `assignment` which branch
    belongs to which chunk. For ``--chunks auto``, `costing` compares plans.

Always holds:
    Every branch of every satisfiable query belongs to exactly one chunk, to the potpourri, or to
    the whole document, and a chunk holds the whole footprint of its branches: evaluated on the
    chunk they select what they select on the document. The same input gives the same scheme, byte
    for byte.

To add one more:
    A way to weigh queries is a function of a `WeightedQuery`, and its name in `prepare.WEIGHTS`. A
    construct of XPath that a footprint does not cover, or a price of the cost model: see
    `footprints` and `costing`.
"""
