"""FILTERTOOL: evaluates each chunk's own queries, in this process, on all cores, or on Spark.

Usage, for documents one batch after the other:

    ready = document_filter(scheme, load_matcher("auto"), Options("nodes"))
    for outcome in ready.process([("a.xml", b"<db/>"), ("b.xml", "b.xml")]):
        for match in outcome.findings.matches(outcome.document, ready.plan.ids):
            ...

The way of a document, which is opened, cut, asked, described and written once:
    `document_filter` is the recipe. A cutter makes the *units* of a document (`units`): its chunks,
    or all of them together. The query plan has the questions for each unit (`query_plan`), and a
    matcher answers them (`evaluation`). The answers are merged over units and become each
    subscriber's rows (`results.merge`, `results.findings`), with name, span, path and value of each
    node (`results.describe_nodes`). The outcome (`results.outcome`) is written (`output.writers`)
    and counted (`results.account`, `results.report`).

When to use which:
    A filter: `document_filter.document_filter` for documents, `pieces.piece_filter` for pieces of
    large ones, `chunk_files.chunk_file_filter` for what ``extract chunk`` wrote; `DocumentFilter`
    itself with a cutter of your own. `last_filter` keeps one filter for many single documents.
    An engine: `local.run_local` for many documents on the cores of this machine, `spark` for a
    cluster; both run a `job.Job`, on documents in `batching.batches`.
    A matcher: ``auto``, unless you know better; see `matchers`. Queries in XPath 2.0 and later, and
    documents that cannot be cut, go to `whole`, whatever the matcher.
    A process: see `processes`; `isolated_documents` rejects the document that kills its process.

Always holds:
    The rows of a query are the nodes that libxml2 selects on the whole document, in document order,
    without duplicates, whichever matcher or engine ran. What is wrong with a document or a query is
    a row with the reason, not an exception. Only the modules in `spark` import pyspark. Imports go
    one way: processes, matchers, results, output and whole, then the filter, then the engines.

To add a matcher, an output format, a Spark step:
    See `matchers`, `output`, `spark`.

To add a kind of document:
    Write a `units.UnitCutter`, and a function that makes a `DocumentFilter` with it.
"""
