"""PREPTOOL's recipe: makes a chunking scheme from a schema and subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Sized
from dataclasses import asdict
from functools import lru_cache
from typing import Literal

from extract.errors import SchemeError, SubscriptionsError
from extract.limits import DEFAULTS, RAISE, Limits
from extract.preptool.canonical import collect_queries
from extract.preptool.choose import PrefixChoice, PrefixIndex, check_chunks, choose
from extract.preptool.chunk_builder import WHOLE_DOCUMENT, ChunkBuilder, ChunkKey
from extract.preptool.costing.auto import AUTO, ChunkingPlan, best_plan
from extract.preptool.costing.estimate import Estimator
from extract.preptool.costing.expected import expected_statistics
from extract.preptool.costing.statistics import Sample, sample_statistics
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.original_paths import original_paths
from extract.preptool.query_tree import (
    NamePath,
    QueryTree,
    Weigh,
    WeightedQuery,
    by_subscribers,
    one_each,
)
from extract.schema.model import Schema
from extract.scheme.garbage import no_collection
from extract.scheme.model import (
    Branches,
    Chunk,
    Query,
    Scheme,
    Settings,
    without_content,
)
from extract.scheme.spine import all_names
from extract.subscriptions import Subscriptions
from extract.transtool.expansion import Expansion

WEIGHTS: dict[str, Weigh] = {"one": one_each, "subscribers": by_subscribers}


def prepare(
    schema: Schema,
    subscriptions: Subscriptions,
    chunks: int | Literal["auto"],
    weights: Weigh | str = "one",
    expansion: Expansion | None = None,
    sample: Sequence[Sample] = (),
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
    limits: Limits | None = None,
) -> Scheme:
    """Decides how documents of a schema are cut, so that each chunk answers its share of queries.

    Args:
        schema: The schema of the documents.
        subscriptions: The queries. One that does not parse is recorded as rejected, one that
            matches nothing as unsatisfiable; the others are not affected.
        chunks: The number of chunks, next to the potpourri; fewer if the queries give no more. With
            ``"auto"``, the number that a cost model finds best.
        weights: The weight of a query: ``"one"`` for 1 each, ``"subscribers"`` for the weights of
            its subscribers, or a function of your own.
        expansion: Bounds on the size of normal forms.
        sample: Documents, or names of files, to estimate sizes from; without any, sizes are
            estimated from the schema.
        workers: For ``"auto"``, the number of chunks of one document that are evaluated at the same
            time: 1 minimises the work, more minimise the time for one document.
        progress: Called with the number of queries that were normalised since the last call.
        limits: The largest length and depth of a query, and the number of queries. A query beyond
            them is recorded as rejected.

    Raises:
        SubscriptionsError: There are too many subscriptions.
        SchemeError: ``chunks`` or ``workers`` is below 1, or the name of the weights is unknown.
        DocumentError: A sample cannot be read.

    >>> from extract.schema.model import Declaration
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> queries = Subscriptions.of({"1": "//b", "2": "/a[c]/b", "3": "/a/d", "4": "/a/c"})
    >>> scheme = prepare(schema, queries, chunks=1)
    >>> scheme.chunks[0].prefix, scheme.chunks[0].queries, scheme.chunks[0].filters
    ('/a/b', ('1', '2'), (Want(path='/a/c', need=<Need.NODE: 1>),))
    >>> scheme.potpourri.queries, scheme.unsatisfiable[0].reason
    (('4',), 'a has no child d (at /a)')
    """
    _check(chunks, workers, weights)
    weigh = WEIGHTS[weights] if isinstance(weights, str) else weights
    statistics = sample_statistics(sample, schema) if sample else expected_statistics(schema)
    expansion, limits = expansion or Expansion(), limits or DEFAULTS
    if len(subscriptions) > limits.subscriptions:
        raise SubscriptionsError(limits.passed("subscriptions"), RAISE, subscriptions.source)
    collected = collect_queries(schema, subscriptions, expansion, limits, progress)
    with no_collection():
        footprints = BranchFootprints(collected.branches, collected.tails)
        whole = footprints.whole()
        tree = QueryTree.of(_weighed(collected.queries, collected.spines, whole), weigh)
        if chunks == AUTO:
            estimator = Estimator(statistics, collected.namespaces)
            numbers = range(len(collected.branches))
            plan = best_plan(tree, numbers, collected.spines, footprints, whole, estimator, workers)
        else:
            plan = ChunkingPlan(choose(tree, chunks))
        prefixes = plan.choice.prefixes
        keys = _chunk_keys(collected.spines, whole, prefixes)
        maker = _ChunkMaker(collected.queries, footprints, keys, plan.projected)
        return Scheme(
            schema=without_content(schema),
            namespaces=collected.namespaces,
            settings=_settings(chunks, len(prefixes), workers, weigh, expansion),
            branches=Branches.of(collected.branches),
            queries=tuple(collected.queries),
            chunks=tuple([maker.chunk(prefix) for prefix in prefixes]),
            potpourri=maker.potpourri(),
            document=maker.document(),
            originals=original_paths(collected.absolutes()),
            unsatisfiable=tuple(collected.unsatisfiable),
            rejected=tuple(collected.rejected),
            notes=(
                *notes(collected.queries, collected.unsatisfiable, collected.later, plan.choice),
                *crowded(collected.size, expansion),
            ),
            statistics=statistics,
            later=tuple(collected.later),
        )


def _check(chunks: int | Literal["auto"], workers: int, weights: Weigh | str) -> None:
    if chunks != AUTO:
        check_chunks(chunks)
    if workers < 1:
        raise SchemeError(f"{workers} is not a number of workers", "ask for at least 1 worker")
    if isinstance(weights, str) and weights not in WEIGHTS:
        raise SchemeError(f"unknown weights {weights!r}", f"there are: {', '.join(WEIGHTS)}")


def _settings(
    requested: int | Literal["auto"], chosen: int, workers: int, weigh: Weigh, expansion: Expansion
) -> Settings:
    """Returns the settings of the scheme, with which `extract.preptool.revise` goes on."""
    name, bounds = name_of(weigh), asdict(expansion)
    if requested == AUTO:
        return Settings(max(1, chosen), name, bounds, auto=True, workers=workers)
    return Settings(requested, name, bounds)


def tree_of(scheme: Scheme) -> QueryTree:
    """Returns the query tree that a scheme was made from.

    Raises:
        SchemeError: The queries were weighed by a function that the scheme does not name.
    """
    weigh = weigh_of(scheme)
    whole = frozenset(scheme.document.branches)
    return QueryTree.of(_weighed(scheme.queries, all_names(scheme.branches), whole), weigh)


def weigh_of(scheme: Scheme) -> Weigh:
    """Returns the weight function of a scheme's queries.

    Raises:
        SchemeError: The queries were weighed by a function that the scheme does not name.
    """
    weigh = WEIGHTS.get(scheme.settings.weights)
    if weigh is None:
        reason = "the queries were weighed by a function that is not in the scheme"
        raise SchemeError(reason, f"weigh them by {' or '.join(WEIGHTS)}")
    return weigh


def name_of(weigh: Weigh) -> str:
    """Returns the name of a weight function in schemes."""
    return next((name for name, function in WEIGHTS.items() if function is weigh), "custom")


def _weighed(
    queries: Iterable[Query], spines: Sequence[NamePath], whole: Container[int]
) -> Iterator[WeightedQuery]:
    """Yields queries for the tree: a branch for the whole document draws no chunk to its path."""
    for query in queries:
        paths = tuple(dict.fromkeys([() if n in whole else spines[n] for n in query.branches]))
        yield WeightedQuery(paths, tuple([subscriber.weight for subscriber in query.subscribers]))


def _chunk_keys(
    spines: Sequence[NamePath], whole: Container[int], prefixes: Sequence[NamePath]
) -> list[NamePath | None]:
    """Returns for each branch the prefix of its chunk: see `_ChunkMaker`."""
    assign = lru_cache(maxsize=None)(PrefixIndex(prefixes).assign)
    return [() if n in whole else assign(spine) for n, spine in enumerate(spines)]


def notes(
    queries: Sized, unsatisfiable: Sized, later: Sized, choice: PrefixChoice
) -> Iterator[str]:
    """Yields notes for the user on how a scheme was made."""
    if queries:
        if choice.note:
            yield choice.note
    elif later:
        yield "every query needs the whole document: there is no chunk to cut"
    elif unsatisfiable:
        yield "no query can match any document that keeps to the schema: there is no chunk to cut"
    else:
        yield "there is no query to cut documents for"


def crowded(size: int, expansion: Expansion) -> Iterator[str]:
    """Yields a note if queries were not expanded because there were too many branches."""
    if size >= expansion.total:
        yield (
            f"branches have {size:,} characters: queries that came when there were more than "
            f"{expansion.total:,} keep their // and *, and take longer to answer"
        )


class _ChunkMaker:
    """Makes the chunks from the assignment of branches.

    Args:
        queries: The queries.
        footprints: The footprints of their branches.
        keys: For each branch the longest prefix of its spine; None for the potpourri and the empty
            path, which is a prefix of every path, for the whole document.
        projected: The prefixes whose chunks have only what their branches look at.
    """

    def __init__(
        self,
        queries: Iterable[Query],
        footprints: BranchFootprints,
        keys: Sequence[NamePath | None],
        projected: Container[NamePath],
    ) -> None:
        self._footprints = footprints
        self._projected = projected
        self._made = 0
        self._branches: dict[NamePath | None, list[int]] = {}
        for number, key in enumerate(keys):
            self._branches.setdefault(key, []).append(number)
        self._queries: dict[NamePath | None, list[str]] = {}
        for query in queries:
            ids = [subscriber.id for subscriber in query.subscribers]
            for key in dict.fromkeys([keys[number] for number in query.branches]):
                self._queries.setdefault(key, []).extend(ids)

    def chunk(self, prefix: NamePath) -> Chunk:
        """Returns the next chunk, with all that its branches need outside of its prefix."""
        self._made += 1
        return self._chunk(prefix)

    def potpourri(self) -> Chunk:
        """Returns the chunk for branches that belong to no other."""
        return self._chunk(None)

    def document(self) -> Chunk:
        """Returns the chunk for branches that need the whole document."""
        return self._chunk(WHOLE_DOCUMENT)

    def _chunk(self, key: ChunkKey) -> Chunk:
        builder = ChunkBuilder(key, self._footprints)
        builder.add(self._branches.get(key, ()))
        builder.subscribe(self._queries.get(key, ()))
        return builder.chunk(self._made, projected=bool(key) and key in self._projected)
