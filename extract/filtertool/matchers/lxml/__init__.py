"""The lxml matcher: one compiled XPath for each branch, evaluated by libxml2.

When to use it:
    For few questions on small documents, and as the reference that others are compared with. It
    parses each unit; `columnar` does not, and evaluates many questions together.

Which module:
    `matcher` answers questions; `parsed_unit` is a unit as libxml2 has it, with the way back from
    its nodes to references; `sibling_numbers` numbers the nodes that are not elements.

Always holds:
    What a question selects is what libxml2 selects. A question that takes too long is given up
    alone (`extract.filtertool.matchers.cost_bound` says which may).
"""
