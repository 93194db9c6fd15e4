"""Footprints: the part of a document that a query may look at, which its chunk must have.

`footprint` computes the footprint of one expression. `partial_footprints` shares the parts that
many branches have in common, `branch_footprints` puts them together for each branch, and
`need_counts` counts how often the branches of a chunk need each path, so that a branch can be
removed again. `original_paths` are the paths below which queries look as they were written.

Always holds: a chunk with the footprints of its queries answers them as the whole document does; an
expression that `footprint` does not understand needs the whole document.
"""
