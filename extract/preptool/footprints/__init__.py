"""Footprints: what of a document a query may look at, so that its chunk has it.

Usage:
    `footprint` computes the footprint of one expression; `branch_footprints.BranchFootprints` those
    of all branches of a set of queries.

Which module:
    `partial_footprints` shares the parts that many branches have in common, `branch_footprints`
    puts them together for each branch, and `need_counts` counts how often the branches of a chunk
    need each path, so that a branch can be removed again. `original_paths` are the paths below
    which queries look as they were written.

Always holds:
    A chunk that has the footprints of its queries answers them as the whole document does. An
    expression that `footprint` does not understand needs the whole document.

To cover a construct of XPath:
    A case in `footprint`; ``tests/filtertool/test_oracle.py`` compares the rows with libxml2's.
"""
