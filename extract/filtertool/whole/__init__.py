"""Whole documents: queries as they were written, evaluated on everything.

Usage:
    ``WholeMatcher(namespaces, select, limits)`` opens documents and finds the rows of queries
    (`evaluator`).

When it is used:
    For documents that break the schema or that no scanner can do; for queries that may look
    anywhere (``id()``, the namespace axis); for queries in XPath 2.0 and later.

Which module:
    `evaluator` evaluates, `document` is a parsed document with the bytes of its nodes, `queries`
    are the queries and their owners, and `elementpath_queries` are those in XPath 2.0 and later.

Always holds:
    The answer is libxml2's, or elementpath's, on the document as it is: nothing here knows the
    schema. A tree takes many times the memory of its document, so the size is limited.

To add a language of queries:
    A module beside `elementpath_queries` that compiles and evaluates them, and a case in
    `evaluator`, which chooses by `queries.WholeQuery.version`.
"""
