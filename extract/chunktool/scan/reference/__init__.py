"""The reference scanner: expat's events and libxml2's verdict, in Python and numpy.

When it runs:
    Where there is no compiled kernel, and for documents that the kernel hands over, such as those
    in other encodings than UTF-8, or with declarations of their own.

Which module:
    `scanner` feeds expat block by block. `sweep` turns the events of a block into what outputs
    keep, and `table_sweep` fills the node table as well; `tokens` finds the tags in the bytes,
    `blocks` holds the elements of a block in columns, `automaton_arrays` has the steps of the
    automaton as arrays, and `internal_subset` has what the document declares itself.

Always holds:
    It keeps what the kernel keeps, byte for byte (`extract.testing.scanner_contract`), and a
    document is well-formed if libxml2 says so, whatever expat says.

To add a feature:
    A case in the contract suite, then here, then in the kernel.
"""
