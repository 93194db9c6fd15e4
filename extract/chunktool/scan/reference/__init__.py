"""The reference scanner: expat's events and libxml2's verdict, in Python and numpy.

`scanner` feeds expat block by block. `sweep` turns the events of a block into what outputs keep,
and `table_sweep` fills the node table as well; `tokens` finds the tags in the bytes, `blocks` holds
the elements of a block in columns, `automaton_arrays` has the steps of the automaton as arrays, and
`internal_subset` knows what the document declares itself.
"""
