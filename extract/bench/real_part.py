"""What part of a set a loop over lxml's XPaths gets through in the time that there is.

One XPath can take libxml2 minutes on a large document. Such queries are left out by an estimate of
their cost, and of the others as many are taken as the time allows: first fewer documents, then
fewer queries.
"""

from __future__ import annotations

import time
from typing import Final

from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_sets import RealSet
from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.cost_bound import Bound, limit_for
from extract.markup.lxml_parser import parse_tree
from extract.subscriptions import Subscription, Subscriptions
from extract.xpath.check import parse_checked

_ONE_QUERY: Final = 0.2  # seconds that a query is expected to take at most
_FEW: Final = 4  # documents that are kept while there are queries to leave out


def measured_part(one: RealSet, seconds: float) -> RealSet:
    """The part of a set that a loop gets through.

    Args:
        one: The set.
        seconds: How long the loop may take for all documents, with rows of nodes.
    """
    document = max(one.documents, key=len)
    named: dict[str, int] = {}
    for element in parse_tree(document).getroot().iter("*"):
        local = element.tag.rpartition("}")[2]
        named[local] = named.get(local, 0) + 1
    limit, elements = limit_for(_ONE_QUERY), sum(named.values())

    def is_quick(query: Subscription) -> bool:
        try:
            parse_checked(query.xpath, query.namespaces)
        except QuerySyntaxError:
            return True  # whoever filters rejects it
        return Bound(query.xpath, limit).affords(elements, lambda: named)

    quick = [query for query in one.queries if is_quick(query)]
    if not quick:
        return one.part(1, 1)
    kept = RealSet(one.name, one.schema, Subscriptions.of(quick), one.documents)
    # A sample that doubles until it takes long enough to tell how long the others take.
    size, spent = 8, 0.0
    while True:
        spent = _loop_seconds(kept.part(size, len(kept.documents)), document)
        if spent > seconds / 10 or size >= len(quick):
            break
        size *= 2
    sampled = min(size, len(quick))
    a_byte = spent / sampled / len(document)
    total = a_byte * len(quick) * sum(map(len, kept.documents))
    if total <= seconds:
        return kept
    documents = max(min(_FEW, len(kept.documents)), int(len(kept.documents) * seconds / total))
    fewer = kept.part(len(quick), documents)
    total = a_byte * len(quick) * sum(map(len, fewer.documents))
    queries = len(quick) if total <= seconds else int(len(quick) * seconds / total)
    return fewer.part(max(8, queries), documents)


def _loop_seconds(one: RealSet, document: bytes) -> float:
    loop = PlainLoop(one.queries, "nodes")
    started = time.process_time()
    loop.rows(document)
    return time.process_time() - started
