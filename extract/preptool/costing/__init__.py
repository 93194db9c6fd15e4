"""Costs: what filtering takes for a way to cut documents, to choose ``--chunks auto``.

`statistics` counts elements by path in sample documents, `expected` estimates the same from the
schema alone (`paths` is the bounded tree that both fill). `estimate` says what a chunk keeps,
`workload` what the queries ask, `cost` what both cost in seconds, and `auto` compares plans.

Always holds: costs decide how fast answers come, never which.
"""
