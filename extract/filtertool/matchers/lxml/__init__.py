"""The lxml matcher: one compiled XPath for each branch, evaluated by libxml2.

`matcher` answers questions; `parsed_unit` is a unit as a libxml2 tree, with the way back from its
nodes to references; `sibling_numbers` numbers the nodes that are not elements.
"""
