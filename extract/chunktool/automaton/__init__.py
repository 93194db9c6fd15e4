"""The path automaton: what each element of a document is to the queries, from its path of names.

`outputs` are the reduced documents that one scan writes; `patterns` turns the paths they keep into
a trie, `symbols` numbers the names that make a difference, and `automaton` follows both together
with the edges of the schema, lazily: a state is made when a document first leads there.

Always holds: equal paths of names lead to equal states, and an edge that the schema does not have
leads to the state that marks a document as nonconforming.
"""
