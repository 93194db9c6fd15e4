"""What must come out of a scenario, whatever the machine: counts and chunks, never times.

``python -m extract.bench.expected NAME...`` writes them into ``expected.json`` of each scenario; a
test and ``extract bench NAME`` compare. Look at what has changed before you commit it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from extract.pipeline import count
from extract.preptool.prepare import prepare
from extract.scenarios import Scenario, scenario
from extract.scheme import Scheme

_FEW_QUERIES: Final = 1_000
_FEW_DOCUMENTS: Final = 20
_CHUNKS: Final = range(2, 7)
_USUAL: Final = 5


def work(one: Scenario) -> list[tuple[int, int, Sequence[int]]]:
    """Numbers of queries, documents and chunks to look at: a part for each, and all for one."""
    generator = one.generator
    few = (min(generator.QUERIES, _FEW_QUERIES), min(generator.DOCUMENTS, _FEW_DOCUMENTS))
    every = (generator.QUERIES, generator.DOCUMENTS)
    return [(*few, _CHUNKS), *([(*every, (_USUAL,))] if every != few else ())]


def figures(one: Scenario, queries: int, documents: int, chunks: Iterable[int]) -> dict[str, Any]:
    """What comes out of so many of its queries and documents, cut into so many chunks."""
    schema, subscriptions = one.schema(), one.queries(queries)
    schemes = {number: prepare(schema, subscriptions, number) for number in chunks}
    scheme, *_ = schemes.values()
    return {
        "queries": queries,
        "documents": documents,
        **match_counts(scheme, one.documents(documents)),
        "chunks": {
            str(number): [part.prefix for part in scheme.chunks]
            for number, scheme in schemes.items()
        },
    }


def match_counts(scheme: Scheme, documents: Iterable[bytes]) -> dict[str, int]:
    """Counts of a scheme on documents."""
    facts = scheme.counts()
    size = nodes = 0
    matched: set[str] = set()
    for document in documents:
        size += len(document)
        for _, query, number in count(scheme, document):
            matched.add(query)
            nodes += number
    return {
        "bytes": size,
        "different_queries": facts["canonical"],
        "unsatisfiable_queries": facts["unsatisfiable"],
        "matching_queries": len(matched),
        "nodes": nodes,
    }


def again(one: Scenario, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an entry of ``expected.json``, computed anew."""
    return figures(one, entry["queries"], entry["documents"], map(int, entry["chunks"]))


def _write(name: str) -> None:
    one = scenario(name)
    entries = [figures(one, *some) for some in work(one)]
    text = json.dumps(entries, indent=1, ensure_ascii=False)
    (one.folder / "expected.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        _write(each)
