"""PREPTOOL's recipe: a schema and subscriptions in, a chunking scheme out."""

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
        schema: What documents may look like.
        subscriptions: The queries. One that does not parse is recorded as rejected, one that can
            match nothing as unsatisfiable; the others go on.
        chunks: Into how many chunks, next to the potpourri; fewer if the queries give no more.
            With ``"auto"``, into as many as a cost model finds best.
        weights: How much a query counts: ``"one"`` for each different query the same,
            ``"subscribers"`` for the weights of its subscribers, or a function of one's own.
        expansion: Bounds on the size of normal forms.
        sample: Documents, or names of files, to estimate sizes from; without any, the schema tells
            what to expect.
        workers: For ``"auto"``, how many chunks of one document are evaluated at the same time:
            with 1 the least work is sought, with more the least time for one document.
        progress: Called with the number of queries that were normalised since the last call.
        limits: How long and deep a query may be, and how many there may be. One that is beyond is
            recorded as rejected.

    Raises:
        SubscriptionsError: There are more subscriptions than there may be.
        SchemeError: ``chunks`` or ``workers`` is not at least 1, or there are no such weights.
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
            every = range(len(collected.branches))
            plan = best_plan(tree, every, collected.spines, footprints, whole, estimator, workers)
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
    asked: int | Literal["auto"], chosen: int, workers: int, weigh: Weigh, expansion: Expansion
) -> Settings:
    """The settings of the scheme, so that `extract.preptool.revise` can go on with them."""
    name, bounds = name_of(weigh), asdict(expansion)
    if asked == AUTO:
        return Settings(max(1, chosen), name, bounds, auto=True, workers=workers)
    return Settings(asked, name, bounds)


def tree_of(scheme: Scheme) -> QueryTree:
    """The query tree that a scheme was made from.

    Raises:
        SchemeError: The queries were weighed by a function that the scheme does not know.
    """
    weigh = weigh_of(scheme)
    whole = frozenset(scheme.document.branches)
    return QueryTree.of(_weighed(scheme.queries, all_names(scheme.branches), whole), weigh)


def weigh_of(scheme: Scheme) -> Weigh:
    """How the queries of a scheme were weighed.

    Raises:
        SchemeError: By a function that the scheme does not know.
    """
    weigh = WEIGHTS.get(scheme.settings.weights)
    if weigh is None:
        reason = "the queries were weighed by a function that is not in the scheme"
        raise SchemeError(reason, f"weigh them by {' or '.join(WEIGHTS)}")
    return weigh


def name_of(weigh: Weigh) -> str:
    """What a scheme calls a way to weigh queries."""
    return next((name for name, one in WEIGHTS.items() if one is weigh), "custom")


def _weighed(
    queries: Iterable[Query], spines: Sequence[NamePath], whole: Container[int]
) -> Iterator[WeightedQuery]:
    """What the query tree counts: a branch for the whole document draws no chunk to its path."""
    for query in queries:
        ours = tuple(dict.fromkeys([() if n in whole else spines[n] for n in query.branches]))
        yield WeightedQuery(ours, tuple([one.weight for one in query.subscribers]))


def _chunk_keys(
    spines: Sequence[NamePath], whole: Container[int], prefixes: Sequence[NamePath]
) -> list[NamePath | None]:
    """For each branch the prefix of its chunk: see `_ChunkMaker`."""
    assign = lru_cache(maxsize=None)(PrefixIndex(prefixes).assign)
    return [() if n in whole else assign(spine) for n, spine in enumerate(spines)]


def notes(
    queries: Sized, unsatisfiable: Sized, later: Sized, choice: PrefixChoice
) -> Iterator[str]:
    """What the user should know about how a scheme was made."""
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
    """Says so where queries were not expanded because branches before them were too many."""
    if size >= expansion.total:
        yield (
            f"branches have {size:,} characters: queries that came when there were more than "
            f"{expansion.total:,} keep their // and *, and take longer to answer"
        )


class _ChunkMaker:
    """Makes the chunks, once it is known which branch belongs to which.

    Args:
        queries: The queries.
        footprints: What their branches look at.
        keys: For each branch the longest prefix that its spine begins with; None for the potpourri
            and the empty path, which all paths begin with, for the whole document.
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
            ids = [one.id for one in query.subscribers]
            for key in dict.fromkeys([keys[number] for number in query.branches]):
                self._queries.setdefault(key, []).extend(ids)

    def chunk(self, prefix: NamePath) -> Chunk:
        """The next chunk, with all that its branches need outside of its prefix."""
        self._made += 1
        return self._chunk(prefix)

    def potpourri(self) -> Chunk:
        """The chunk for what belongs to no other."""
        return self._chunk(None)

    def document(self) -> Chunk:
        """The chunk for what needs the whole document."""
        return self._chunk(WHOLE_DOCUMENT)

    def _chunk(self, key: ChunkKey) -> Chunk:
        builder = ChunkBuilder(key, self._footprints)
        builder.add(self._branches.get(key, ()))
        builder.subscribe(self._queries.get(key, ()))
        return builder.chunk(self._made, projected=bool(key) and key in self._projected)
