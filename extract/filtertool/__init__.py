"""FILTERTOOL: evaluates each chunk's own queries, in this process, on all cores, or on Spark.

Usage, for documents one batch after the other:

    ready = document_filter(scheme, load_matcher("auto"), Options("nodes"))
    for done in ready.process([("a.xml", b"<db/>"), ("b.xml", "b.xml")]):
        for match in done.findings.matches(done.document, ready.plan.ids):
            ...

The way of a document, which is opened, cut, evaluated, described and written once:
    A cutter makes the document's *units* (`units`): its chunks, or one projection of them all. The
    query plan has the questions for each unit (`query_plan`), matchers answer them (`evaluation`),
    and the answers of all chunks are merged into each subscriber's rows (`results.merge`,
    `results.findings`), with name, span, path and value of each node (`results.describe_nodes`).
    The outcome (`results.outcome`) is written (`output.writers`) and counted (`results.account`,
    `results.report`). `document_filter` is this recipe.

When to use which:
    A filter: `document_filter` for documents, `pieces.piece_filter` for pieces of large documents,
    `chunk_files.chunk_file_filter` for the files of ``extract chunk``; `DocumentFilter` itself with
    a cutter of your own.
    An engine: `local.run_local` for many documents on the cores of this machine, `spark` for a
    cluster; both run a `Job`.
    A matcher: ``auto`` in general; ``columnar`` for many queries or documents, ``lxml`` for few
    queries on small documents or as the reference. Queries in XPath 2.0 and later, and documents
    that cannot be cut, go to `whole`, whatever the matcher.

Comes in:
    Documents, a scheme, and the name of a matcher (`matchers.registry`).

Goes out:
    Matches: one row for each document, query and node; and one row for each document or query that
    was rejected, with the reason.

Always holds:
    The rows of a query are the nodes that libxml2 selects on the whole document, in document order,
    without duplicates, whichever matcher or engine ran. A failure is a row, not an exception. Only
    the modules in ``spark`` import pyspark. Imports go one way: matchers, then results, then
    output and whole-document evaluation, then the filter, then the engines.

Processes, and when to use which:
    `processes.guard` enforces limits of time and memory in a worker, by ending it. `isolation`
    calls a function in a child that may die, for documents that have killed a worker
    (`isolated_documents` rejects the one that kills its child). `sandbox` is a separate interpreter
    that answers many calls, for single queries that may never end.

To add a matcher:
    Write a `MatcherFactory` (`matchers.protocol`), here or in a package of your own
    (``tests/plugin`` is one), register it under the entry points ``extract.matchers``, and run the
    contract suite on it (`extract.testing.matcher_contract`).

To add a kind of document:
    Write a `UnitCutter` (`units`), and a function that makes a `DocumentFilter` with it.
"""
