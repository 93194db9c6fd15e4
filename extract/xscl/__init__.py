"""XSCL subscriptions: joins of documents by value, within a window.

Usage:
    >>> from extract.xscl import parse_xscl
    >>> query = parse_xscl("S//book->x1[.//author->x2] JOIN{x2=x4, 60} S//blog->x3[author->x4]", {})
    >>> query.left.stream, query.left.variables, [str(one) for one in query.equalities]
    ('S', ('x1', 'x2'), ['x2=x4'])

Which module:
    `ast` has the values. `parser` reads a query: its clauses; `patterns` reads the tree patterns in
    it, which are XPath with bindings, and `bindings` finds these in the text before XPath is read.
    `normal_form` turns patterns into trees of variables. `streams` says which queries read what
    others publish. `times` reads times and windows.

Always holds:
    What is in a pattern besides bindings is XPath 1.0, read by the same parser as all others.
    Conditions of a parsed query are in value-join normal form: equalities of variables.

To add a join operator:
    Its value in `ast.JoinOperator`, its word in `parser`, and which pairs of documents it takes in
    `ast.JoinWindow`.
"""

from extract.xscl.ast import XsclQuery
from extract.xscl.parser import parse_xscl

__all__ = ["XsclQuery", "parse_xscl"]
