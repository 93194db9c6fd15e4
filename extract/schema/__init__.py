"""Schemas: what a DTD or an XSD allows, as one model.

In: a ``.dtd`` or ``.xsd`` file with everything it refers to on disk (`load`), or what documents
showed (`observations`, `infer`). Out: a `Schema` of frozen declarations (`model`), and its edges as
one deterministic graph (`places`); an inferred one also as files (`write_xsd`, `write_dtd`).

What always holds: a schema is loaded whole or not at all, nothing comes from the network, and an
edge that a valid document may have is never missing, except where a note says so. Documents with
other edges are nonconforming (`conformance`) and are evaluated whole.

To model one more schema language: a module that fills `model.Declaration` values, and its suffix in
`load`.
"""
