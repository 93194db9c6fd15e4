"""Joins between documents: many XSCL queries over streams, within windows.

In: documents of streams, one by one, with their times. Out: rows (`joined.Joined`) for each pair of
documents and combination of bindings that satisfies a query. `extract.joins` is the public door:
it knows times, lateness and what is published.

Which module:
    `engine` is the recipe: read a document, join it, keep it. `edges` has the paths of all
    patterns, shared; `witnesses` evaluates them. `graphs` has what queries join, `members` the
    queries that join the same. `plan` knows how long one kind of window needs documents and
    finds those that share values (`search`, `postings`); `combinations` finds their bindings,
    `outputs` makes the XML. `store` keeps documents, in columns (`blocks`, `structures`), for which
    `room` has the limit.
    `lateness` knows for which queries a document is late, `publishing` how many documents one may
    lead to.
    `documents` has a document and its nodes; `snapshot` saves and loads all. For several processes,
    `job` has the queries and `by_value` joins documents of a share of the values: on this machine
    by `shares`, which `parallel` gives work; on Spark with `numbering`, the places of documents
    among all (`arriving` those of a stream, whose state is bytes: `plain_blocks`). `chains` follows
    what queries publish.

Always holds:
    Rows are those of all pairs of accepted documents, each once, whatever arrives first. A document
    is kept until no document that may still be accepted can join it. Nothing of a query depends on
    streams that it does not read.

To add a kind of window:
    Which pairs it takes in `extract.xscl.ast.JoinWindow`; what it keeps and lets go in `plan`.
"""
