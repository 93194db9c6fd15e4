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
    cost of the change. `query_report` and `chunk_report` explain a scheme in words, `tree_picture`
    and `query_picture` draw it, `spelling` guesses what a query that cannot match was meant to be.

    Inside: `canonical` puts queries with equal normal forms together; `query_tree` and `choose`
    find the prefixes as in section 4 of the paper; `footprint` is what of a document one query
    looks at, `partial_footprints` and `branch_footprints` the same for a million branches;
    `chunk_builder` and `need_counts` collect what a chunk has to hold, `assignment` which branch
    belongs to which chunk; `original_paths` is where the queries look as they were written. For
    ``--chunks auto``, `auto` compares plans: `statistics` (from samples) and `expected` (from the
    schema) give the sizes of documents, `estimate` what a chunk keeps of them, `workload` what its
    branches do, and `cost` what that costs.

Always holds:
    Every branch of every satisfiable query belongs to exactly one chunk, to the potpourri, or to
    the whole document, and a chunk holds the whole footprint of its branches: evaluated on the
    chunk they select what they select on the document. The same input gives the same scheme, byte
    for byte.

To add one more:
    A way to weigh queries is a function of a `WeightedQuery`, and its name in `prepare.WEIGHTS`. A
    construct of XPath that a footprint does not cover needs a case in `footprint`, until then it
    needs the whole document. A price of the cost model is a field of `cost.Prices`, measured by
    ``extract bench cost``.
"""
