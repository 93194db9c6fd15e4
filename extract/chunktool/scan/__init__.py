"""The scan: a document's bytes in, byte ranges and a node table out, in one pass.

`protocol` defines what a scanner is and what it reports. `driver` chooses a scanner and drives it
over a source; `node_table` joins the reported nodes into columns, `byte_ranges` turns ranges into
bytes, and `wellformed` asks libxml2 whether a document is well-formed.

When to use which scanner:
    `kernel` is in C, for documents in UTF-8 without declarations of their own; it hands over other
    documents. `reference` is in Python on expat, reads every document that libxml2 accepts in an
    encoding that it can map, and is the fallback where there is no compiler.

Always holds: what a scanner reports is provisional until the last byte is read; both scanners pass
`extract.testing.scanner_contract`.

To add a scanner: a class with the methods of `protocol.Scanner`, a row in `driver.scanners`, and a
subclass of the contract suite in the tests.
"""
