"""Processes: work that may take too long or too much, in a process that may end.

When to use which:
    `guard` holds limits of time and memory for what the present process does; it must be a worker,
    because it ends when it passes one.
    `isolation` calls a function on one item after the other in a forked child that may die; for
    documents that a worker may have died of.
    `sandbox` is an interpreter of its own that answers many calls and is killed when one takes too
    long; for single queries.
    `memory` limits and keeps memory, `signals` defers Ctrl-C where it would get lost.
"""
