"""Footprints: what of a document a query may look at, so that its chunk has it.

`footprint` computes the footprint of one expression. `partial_footprints` shares the parts that
many branches have in common, `branch_footprints` puts them together for each branch, and
`need_counts` counts how often the branches of a chunk need each path, so that a branch can be
removed again. `original_paths` are the paths below which queries look as they were written.

Always holds: a chunk that has the footprints of its queries answers them as the whole document
does; what is not understood needs the whole document.
"""
