"""Costs: what filtering takes for a way to cut documents, to choose ``--chunks auto``.

Usage:
    ``best_plan(tree, branches, spines, footprints, whole, estimator, workers)`` in `auto` compares
    plans; `extract.preptool.prepare` calls it.

Which module:
    `statistics` counts elements by path in sample documents, `expected` estimates the same from the
    schema alone (`paths` is the bounded tree that both fill). `estimate` says what a chunk keeps,
    `workload` what the queries ask, `cost` what both cost in seconds, and `auto` compares plans.

Always holds:
    Costs decide how soon answers come, never which.

To add a price:
    A field of `cost.Prices`, used in `cost`, measured by ``extract bench cost``.
"""
