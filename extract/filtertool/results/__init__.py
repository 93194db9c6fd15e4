"""Results: from the answers of matchers to the rows of subscribers.

Usage:
    ``outcome.findings.matches(document, ids)`` gives the rows of one document as
    `findings.Match` values; `extract.filtertool.output` writes them as columns.

Which module:
    `merge` unites the answers of a document's parts, without duplicates and in document order;
    `findings` are the rows, and `owners` multiplies them by the subscribers of a query.
    `describe_nodes` gives name, span, path and value of each node once (`node_arrays` for many
    nodes, `single_nodes` one by one, into `node_columns`). `outcome` is what a filter says of one
    document: its rows, its rejections, or the error; `account` and `report` add outcomes up,
    `progress` and `seconds` say how far and how long.

Always holds:
    Every document has exactly one outcome, and the numbers of the report add up. A node that many
    queries select is described once.

To add a column:
    A field of `node_columns`, computed in `node_arrays` and `single_nodes`, and a column in
    `extract.filtertool.output.arrow`. A figure of the report: a field of `account.Account` and a
    key in `report`, with a row in docs/operations.md.
"""
