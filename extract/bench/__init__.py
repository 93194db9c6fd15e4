"""Measurements: each module is one benchmark, and ``extract bench NAME`` runs it.

Usage:
    ``extract bench chunk --scale 0.1`` for a first impression; ``-o facts.json`` keeps the figures.

Which to use:
    A name of `BENCHMARKS` for one part of extract. A scenario (``extract bench university``) for
    everything on its documents and queries, with charts: `extract.bench.experiments`, which
    `extract.bench.report` writes as text, HTML or SVG.

Always holds:
    What is compared is measured side by side in one run, best of several, and shown as ratios
    against what a user would do instead: machines differ and are noisy, ratios hold. Data are real
    where they lie beside the project (``../shared/data``, or ``--data DIR``), else made by the
    benchmark, which then says so.

To add one:
    A module here with a function ``run(data: Path | None, scale: float) -> ResultTable``, and its
    name in `BENCHMARKS`.
"""

from __future__ import annotations

from typing import Final

BENCHMARKS: Final = {
    "trans": "TRANSTOOL: normalising up to 100,000 queries, time and memory",
    "prepare": "TRANSTOOL, PREPTOOL: real rules before the first document, next to etree.XPath",
    "prep": "PREPTOOL: what 1 to 12 chunks cost, and how near auto comes to the best",
    "cost": "PREPTOOL: the prices of the cost model behind auto",
    "register": "PREPTOOL: up to 1,000,000 subscriptions from file to matcher, next to lxml",
    "subs": "PREPTOOL: adding queries to a scheme of up to 1,000,000, and removing some",
    "sql": "FILTERTOOL: up to 1,000,000 subscriptions in DuckDB and PostgreSQL (4 minutes)",
    "sql_large": "FILTERTOOL: 2,700,000 subscriptions in DuckDB and PostgreSQL (6 minutes)",
    "sql_import": "FILTERTOOL: 1,000,000 subscriptions into a database, next to its bulk load",
    "spark": "FILTERTOOL: the Spark engine next to Spark's own XML reader",
    "files": "FILTERTOOL: 100,000 small files, and the same messages in one file of each form",
    "frames": "FILTERTOOL: 1,000,000 messages of a Spark DataFrame, next to extract.Filter",
    "chunk": "CHUNKTOOL: projecting and cutting documents, next to lxml's parse",
    "match": "FILTERTOOL: many queries on large and small documents, next to lxml",
    "messages": "FILTERTOOL: 1,000,000 queries on small messages, next to a parse (3 minutes)",
    "news": "FILTERTOOL: 100,000 queries with a nested path on news, next to a parse (3 minutes)",
    "proteins": "FILTERTOOL: 200,000 predicates on records, next to a parse (1 minute)",
    "output": "FILTERTOOL: results of up to 100,000 FLWR queries, next to SaxonC (4 minutes)",
    "joins": "FILTERTOOL: up to 100,000 joins between documents, next to one at a time (minutes)",
    "matchers": "FILTERTOOL: where columns lose to lxml, and what auto takes",
    "real": "all: real queries on real documents, next to a loop over lxml's XPaths",
    "load": "all: 1,000,000 subscriptions registered and matched, memory of each (20 minutes)",
    "serve": "BROKER: documents a second and latency of extract serve, next to a bare hello",
    "memory": "CHUNKTOOL: peak memory for documents of 20 MB, 200 MB and 2 GB",
}
