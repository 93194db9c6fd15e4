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
    filter nodes that its queries look at outside of that prefix, and its queries. Queries without a
    chunk are in the potpourri.

Which to use:
    `prepare` makes a scheme; `revise` changes one when subscriptions are added or removed, at the
    cost of the change. `explain.query_report` and `explain.chunk_report` explain a scheme in words,
    `explain.tree_picture` and `explain.query_picture` draw it, `explain.spelling` corrects names in
    queries that cannot match.

    Inside: `canonical` groups queries with equal normal forms; `query_tree` and `choose` find the
    prefixes as in section 4 of the paper. In `footprints`, `footprint` is the part of a document
    that one query looks at, `partial_footprints` and `branch_footprints` the same for a million
    branches, and `need_counts` counts the needs of a chunk. `chunk_builder` collects the content of
    a chunk, `assignment` the chunk of each branch; `original_paths` are the paths of the queries as
    written. For ``--chunks auto``, `costing.auto` compares plans: `statistics` (from samples) and
    `expected` (from the schema) give the sizes of documents, `estimate` the part that a chunk
    keeps, `workload` the work of its branches, and `cost` the cost of both.

Always holds:
    Every branch of every satisfiable query belongs to exactly one chunk, to the potpourri, or to
    the whole document, and a chunk holds the whole footprint of its branches: evaluated on the
    chunk they select what they select on the document. The same input gives the same scheme, byte
    for byte.

To add one more:
    A weight function takes a `WeightedQuery`, and has its name in `prepare.WEIGHTS`. A construct of
    XPath that a footprint does not cover needs a case in `footprint`; until then it needs the whole
    document. A price of the cost model is a field of `cost.Prices`, measured by
    ``extract bench cost``.
"""
