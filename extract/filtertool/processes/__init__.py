"""Processes: runs work that may take too much time or memory in a process that may end.

When to use which:
    `guard` enforces limits of time and memory in the present process; it must be a worker, because
        it ends when it exceeds one.
    `isolation` calls a function on one item after the other in a forked child that may die; for
        documents that may have killed a worker.
    `sandbox` is a separate interpreter that answers many calls and is killed when one takes too
    long;
        for single queries.
    `memory` limits memory and keeps freed memory, `signals` defers Ctrl-C where it would get lost.
"""
