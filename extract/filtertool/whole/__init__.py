"""Whole documents: queries as they were written, evaluated on everything.

For documents that break the schema or that no scanner can do, and for queries that may look
anywhere. `evaluator` evaluates, `document` is a parsed document with the bytes of its nodes,
`queries` are the queries and their owners, and `elementpath_queries` are those in XPath 2.0 and
later. Slow, and exact by definition; a tree takes many times the memory of its document, so that
the size is limited.
"""
