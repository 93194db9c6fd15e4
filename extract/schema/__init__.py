"""Schemas: what a DTD or an XSD allows, as one model.

Usage:
    ``schema = Schema.load("orders.xsd", root="orders")`` (`extract.schema.model`), with all that
    the file refers to on disk. ``Schema.none()`` allows any document. Inferred from documents:
    `extract.chunktool.inference.infer` gives an `InferredSchema` (`infer`), which is a schema and
    can be written as XSD or DTD (`write_xsd`, `write_dtd`).

Which to use:
    `model` for the declarations as they were loaded. `places` for the edges as one deterministic
    graph: which children and attributes a path may have; all stages ask it. `conformance` for
    whether a parsed document has only these edges; CHUNKTOOL decides the same while it scans.

    Inside: `load` distinguishes DTD and XSD; `dtd` and `dtd_reader` read the one, `xsd`,
    `xsd_build`, `xsd_files` and `xsd_types` the other; `files` and `catalog` find the files that a
    schema is made of; `roots` finds the document element that the user does not name, `numbering`
    gives declarations their final numbers. `observations` are counts of what documents have, from
    which `infer` makes a schema.

Always holds:
    A schema is loaded whole or not at all, nothing comes from the network, and an edge that a valid
    document may have is never missing, except where a note says so. Documents with other edges are
    nonconforming, and are evaluated whole.

To add a schema language:
    A module that fills `model.Declaration` values, and its suffix in `load`.
"""
