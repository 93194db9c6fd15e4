"""Matchers: evaluate questions on units of documents.

`protocol` says what a matcher is, and what it gives: `node_refs` are references to nodes of a
unit's table. `registry` finds matchers by name, ours and those of other packages.
`answer_collector` and `cost_bound` serve matchers that go from question to question.

When to use which:
    ``columnar`` evaluates all questions together on columns; for many queries or documents.
    ``lxml`` asks libxml2 each question; for few questions on small documents, and as the reference.
    ``auto`` chooses between the two for each batch.

Always holds: the nodes that a matcher gives are those that libxml2 selects, each once and in
document order; every matcher passes `extract.testing.matcher_contract`.

To add one: a package here, or in a distribution of your own, with a factory (`protocol`), an entry
point in the group ``extract.matchers``, and a subclass of the contract suite in its tests.
"""
