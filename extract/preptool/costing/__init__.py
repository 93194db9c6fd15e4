"""Costs: estimates the cost of filtering for a chunking plan, to choose ``--chunks auto``.

`statistics` counts elements by path in sample documents, `expected` estimates the same from the
schema alone (`paths` is the bounded tree that both fill). `estimate` computes what a chunk keeps,
`workload` what the queries evaluate, `cost` the seconds of both, and `auto` compares plans.

Always holds: costs influence speed, never answers.
"""
