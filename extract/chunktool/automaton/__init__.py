"""The path automaton: finds what the outputs keep of an element, by the element's path of names.

`outputs` are the reduced documents that one scan writes; `patterns` turns the paths they keep into
a trie, `symbols` numbers the names that queries or schema distinguish, and `automaton` follows
both, together with the edges of the schema, lazily: a state is made when a document first reaches
    it.

Always holds: equal paths of names lead to equal states, and an edge that the schema does not have
leads to the state that marks a document as nonconforming.
"""
