"""FILTERTOOL: evaluates each chunk's own queries, in this process or spread over Spark.

The way of a document: `cutting` makes *units* of it (chunks, or all of them together), `plan` says
what is asked of each, a matcher (`matcher`, `registry`) answers, `results` merges the answers over
chunks and gives each subscriber its rows, `describe` says name, span, path and value of each node,
and `writers` write. `filtering` is all of that for a batch of documents, and `local` runs it on all
cores. `whole` is the way of documents and queries that cannot be cut.

Comes in:
    Chunks with their query sets, and the name of a matcher.

Goes out:
    Matches: one row for each document, query and node; and one row for each document or query that
    was rejected, with the reason.

Always holds:
    The rows of a query are the nodes that libxml2 selects on the whole document, in document order,
    without duplicates, whichever matcher or engine ran. A failure is a row, not an exception. Only
    the modules here whose name starts with ``spark`` import pyspark.

Processes, and when to use which:
    `guard` holds limits of time and memory in a worker, by ending it. `isolation` calls a function
    in a child that may die, for documents that a worker has died of (`isolated_documents` rejects
    the one that kills its child). `sandbox` is an interpreter of its own that answers many calls,
    for single queries that may take for ever.

To add a matcher:
    Write a `MatcherFactory`, here or in a package of your own (``tests/plugin`` is one), register
    it under the entry points ``extract.matchers``, and let ``tests/matchers.py`` run on it.
"""
