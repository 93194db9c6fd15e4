"""The scan: a document's bytes in, byte ranges and a node table out, in one pass.

`protocol` says what a scanner is and what it gives. `driver` chooses a scanner and drives it over a
source; `node_table` joins what it found into columns, `byte_ranges` turns ranges into bytes, and
`wellformed` asks libxml2 whether a document is well-formed.

When to use which scanner:
    `kernel` is in C, for documents in UTF-8 without declarations of their own; it hands over what
    it does not do. `reference` is in Python on expat, does every document that libxml2 accepts in
    an encoding that it can map, and is the fallback where there is no compiler.

Always holds: nothing that a scanner found counts before the last byte was read; both scanners pass
`extract.testing.scanner_contract`.

To add a scanner: a class with the methods of `protocol.Scanner`, a row in `driver.scanners`, and a
subclass of the contract suite in the tests.
"""
