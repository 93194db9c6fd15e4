"""Schema inference: the smallest schema that all given documents keep.

`infer` reads documents one by one; `edges` counts elements and edges in the kernel's node table,
and `events` in libxml2's events for documents that the kernel hands over. `default_schema` is the
schema of documents for which the user gives none. What is counted, and how it is written as XSD or
DTD, is in `extract.schema` (`observations`, `infer`, `write_xsd`, `write_dtd`).
"""
