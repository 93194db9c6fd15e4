"""Results: from the answers of matchers to the rows of subscribers.

`merge` unites the answers of a document's parts, without duplicates and in document order;
`findings` are the rows, and `owners` multiplies them by the subscribers of a query.
`describe_nodes` gives name, span, path, value and text of each node once (`node_arrays` for many
nodes, `single_nodes` one by one, into `node_columns`; `element_texts` are the texts of elements,
and `node_batches` the columns of Arrow). `locate_nodes` goes from a row to lxml's node. `outcome`
is what became of a document; `account` and `report` add outcomes up, `progress` and `seconds` say
how far and how long.

Always holds: every document has exactly one outcome, and the numbers of the report add up.
"""
