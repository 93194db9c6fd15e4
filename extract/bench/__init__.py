"""Measurements: each module is one benchmark, and ``extract bench NAME`` runs it.

In: real data where it lies beside the project (``../shared/data``, or ``--data DIR``), else data
that the benchmark makes itself. Out: a table of ratios against what a user would do instead, taken
side by side in one run, best of several: machines differ and are noisy, ratios hold.

To add one: a module here with a function ``run(data: Path | None, scale: float) -> Table``, and its
name in `BENCHMARKS`.
"""

from __future__ import annotations

from typing import Final

BENCHMARKS: Final = {
    "trans": "TRANSTOOL: normalising up to 100,000 queries, time and memory",
    "prep": "PREPTOOL: what 1 to 12 chunks cost, and how near auto comes to the best",
    "cost": "PREPTOOL: the prices of the cost model behind auto",
    "subs": "PREPTOOL: adding queries to a scheme of 100,000, and removing some",
    "spark": "FILTERTOOL: the Spark engine next to Spark's own XML reader",
    "chunk": "CHUNKTOOL: projecting and cutting documents, next to lxml's parse",
    "match": "FILTERTOOL: many queries on large and small documents, next to lxml",
    "matchers": "FILTERTOOL: where columns lose to lxml, and what auto takes",
    "load": "all: 1,000,000 subscriptions registered and matched, memory of each (20 minutes)",
    "memory": "CHUNKTOOL: peak memory for documents of 20 MB, 200 MB and 2 GB",
}
