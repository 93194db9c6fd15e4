"""FILTERTOOL: evaluates each chunk's own queries, in this process, on all cores, or on Spark.

Usage, for documents one batch after the other:

    ready = document_filter(scheme, load_matcher("auto"), Options("nodes"))   # filtering
    for done in ready.process([("a.xml", b"<db/>"), ("b.xml", "b.xml")]):     # outcome
        for match in done.findings.matches(done.document, ready.plan.ids):    # findings
            ...

The way of a document, opened, cut, asked, described and written once:
    A cutter makes the *units* of it (`units`; chunks, or all of them together). The query plan has
    the questions for each (`query_plan`), matchers answer them (`evaluation`), the answers are
    merged over chunks and become each subscriber's rows (`merge`, `findings`), with name, span,
    path and value of each node (`describe_nodes`). The outcome (`outcome`) is written (`writers`)
    and counted (`account`, `report`). `filtering` is this recipe.

When to use which:
    A filter: `document_filter` for documents, `pieces.piece_filter` for pieces of large ones,
    `chunk_files.chunk_file_filter` for what ``extract chunk`` wrote; `DocumentFilter` itself with a
    cutter of your own.
    An engine: `local.run_local` for many documents on the cores of this machine, `spark` for a
    cluster; both run a `Job`.
    A matcher: ``auto``, unless you know better; ``columnar`` for many queries or documents,
    ``lxml`` for few queries on small documents or as the reference. Queries in XPath 2.0 and later,
    and documents that cannot be cut, go to `whole`, whatever the matcher.

Comes in:
    Documents, a scheme, and the name of a matcher (`registry`).

Goes out:
    Matches: one row for each document, query and node; and one row for each document or query that
    was rejected, with the reason.

Always holds:
    The rows of a query are the nodes that libxml2 selects on the whole document, in document order,
    without duplicates, whichever matcher or engine ran. A failure is a row, not an exception. Only
    the modules in ``spark`` import pyspark. Imports go one way: matchers, then results, then
    output and whole-document evaluation, then the filter, then the engines.

Processes, and when to use which:
    `guard` holds limits of time and memory in a worker, by ending it. `isolation` calls a function
    in a child that may die, for documents that a worker has died of (`isolated_documents` rejects
    the one that kills its child). `sandbox` is an interpreter of its own that answers many calls,
    for single queries that may take for ever.

To add a matcher:
    Write a `MatcherFactory` (`matcher`), here or in a package of your own (``tests/plugin`` is
    one), register it under the entry points ``extract.matchers``, and run the contract suite on it
    (`extract.testing.matcher_contract`).

To add a kind of document:
    Write a `UnitCutter` (`units`), and a function that makes a `DocumentFilter` with it.
"""
