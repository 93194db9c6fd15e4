"""Processes: work that may take too long or too much, in a process that may end.

Usage:
    ``with open_workers(size, function) as workers: ...``; ``each_in_child(items, function,
    limits)``; ``with guarded(limits): ...`` in a worker; ``Sandbox(...).call(...)``.

When to use which:
    `workers` are processes that answer items at the same time, each through a pipe of its own, so
    that the end of one is seen at any moment; they end with who has started them.
    `guard` holds limits of time and memory for what the present process does; it must be a worker,
    because it ends when it passes one.
    `isolation` calls a function on one item after the other in a worker that may die; for
    documents that another may have died of.
    `sandbox` is an interpreter of its own that answers many calls and is killed when one takes too
    long; for single queries.
    `crew` is some processes that work at the same time, each with a state of its own.
    `memory` limits and keeps memory, `signals` defers Ctrl-C where it would get lost.

Always holds:
    Whatever a document or a query does, the process of the user goes on, and the reason names the
    limit that was passed. Nobody waits for a process that has ended.

To isolate something more:
    Use one of these; another way to start a process belongs here and nowhere else.
"""
