"""Inference: the schema that documents keep, and that allows nothing that none of them showed.

`infer` takes documents one by one; `edges` counts what the kernel's node table shows, and `events`
what libxml2 sees in documents that the kernel hands over. `default_schema` is the schema of
documents for which the user gives none. What is counted, and how it is written as XSD or DTD, is in
`extract.schema` (`observations`, `infer`, `write_xsd`, `write_dtd`).
"""
