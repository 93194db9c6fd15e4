"""Inference: the schema that documents keep, and that allows nothing that none of them showed.

Usage:
    ``infer.infer_schema(documents)`` gives an `extract.schema.infer.InferredSchema`;
    ``default_schema.default_schema(documents)`` the schema of documents for which the user gives
    none: their internal DTD if they share one, else the inferred one.

Which module:
    `infer` takes documents one by one; `edges` counts what the kernel's node table shows, and
    `events` what libxml2 sees in documents that the kernel hands over. What is counted, and how it
    is written as XSD or DTD, is in `extract.schema` (`observations`, `infer`, `write_xsd`,
    `write_dtd`).

Always holds:
    Every document that was counted keeps the schema. An edge, an attribute or a text that none of
    them showed is not in it. Memory grows with the names in the documents, not with their size.

To count something more:
    A field of `extract.schema.observations.Observations`, filled by both `edges` and `events`,
    which the tests compare.
"""
