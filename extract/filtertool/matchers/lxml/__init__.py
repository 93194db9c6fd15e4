"""The lxml matcher: one compiled XPath for each branch, evaluated by libxml2.

`matcher` answers questions; `parsed_unit` is a unit as libxml2 has it, with the way back from its
nodes to references; `sibling_numbers` numbers the nodes that are not elements.
"""
