"""What FLWR subscriptions make of a document.

Usage:
    `tree_outputs.TreeOutput` evaluates one query on a tree of lxml: for every query and document.

Which module:
    `tree_outputs` evaluates, `bound_nodes` asks an expression at a bound node, `writer` writes the
    result as XML.

Always holds:
    Expressions have libxml2's values. A result is well-formed content: an element, or several.

To add a kind of content:
    Its value in `extract.flwr.ast`, and what `tree_outputs` writes for it.
"""
