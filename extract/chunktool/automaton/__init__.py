"""The path automaton: what each element of a document is to the queries, from its path of names.

Usage:
    `automaton.Automaton` is made once for a schema and its outputs, and then serves scans of many
    documents: ``automaton.step(state, name)`` gives the state of a child.

Which module:
    `outputs` are the reduced documents that one scan writes; `patterns` turns the paths they keep
    into a trie, `symbols` numbers the names that make a difference, and `automaton` follows both
    together with the edges of the schema, lazily: a state is made when a document first leads
    there.

Always holds:
    Equal paths of names lead to equal states, and an edge that the schema does not have leads to
    the state that marks a document as nonconforming. The number of states is bounded.

To add something that a scan keeps:
    A level of `extract.scheme.model.Need`, what it means for a state in `automaton`, and what a
    scanner does with it in both scanners and their contract suite.
"""
