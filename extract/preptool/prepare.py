"""PREPTOOL's recipe: makes a chunking scheme from a schema and subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final, Literal
from weakref import WeakKeyDictionary

from extract.errors import SchemeError, SubscriptionsError
from extract.limits import DEFAULTS, RAISE, Limits
from extract.preptool.canonical_weights import CanonicalWeights, weighted_queries
from extract.preptool.choose import PrefixChoice, PrefixIndex, check_chunks, choose
from extract.preptool.chunk_builder import WHOLE_DOCUMENT, ChunkBuilder, ChunkKey
from extract.preptool.costing.auto import AUTO, ChunkingPlan, best_plan
from extract.preptool.costing.estimate import Estimator
from extract.preptool.costing.expected import expected_statistics
from extract.preptool.costing.statistics import Sample, sample_statistics
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.original_paths import original_paths
from extract.preptool.forms import FormTable
from extract.preptool.query_tree import NamePath, QueryTree, Weigh, by_subscribers, one_each
from extract.preptool.registry import RegisteredTables, register_all
from extract.schema.model import Schema
from extract.schema.places import Places
from extract.scheme.database.store import tables_of
from extract.scheme.garbage import no_collection
from extract.scheme.model import Chunk, Cut, Scheme, Settings
from extract.scheme.spine import all_names
from extract.scheme.statistics import Statistics
from extract.subscriptions import Subscriptions
from extract.transtool.branch_syntax import BranchSyntax
from extract.transtool.expansion import Expansion

_MANY: Final = 10_000  # values of a scheme that are not worth a walk of the garbage collector
_MOST_KEPT: Final = 20_000  # branches whose expressions are kept until somebody asks for chunks
_CUSTOM: Final = "custom"  # weights by a function of the user's

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
    database: str = "",
) -> Scheme:
    """Decides how documents of a schema are cut, so that each chunk answers its share of queries.

    Queries are normalised at once; the chunks are chosen when somebody asks the scheme for them.

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
        database: The URL of the database that the scheme goes into: queries may join its tables.
            Without, a query that joins a table is recorded as rejected.

    Raises:
        SubscriptionsError: There are too many subscriptions.
        SchemeError: ``chunks`` or ``workers`` is below 1, or the name of the weights is unknown.
        DocumentError: A sample cannot be read.

    >>> from extract.schema.model import Declaration
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> queries = Subscriptions.of({"1": "//b", "2": "/a[c]/b", "3": "/a/d", "4": "/a/c"})
    >>> scheme = prepare(schema, queries, chunks=1)
    >>> chunk = scheme.chunks[0]
    >>> chunk.prefix, scheme.queries_in(chunk), chunk.filters
    ('/a/b', ('1', '2'), (Want(path='/a/c', need=<Need.NODE: 1>),))
    >>> scheme.queries_in(scheme.potpourri), scheme.unsatisfiable[0].reason
    (('4',), 'a has no child d (at /a)')
    """
    _check(chunks, workers, weights)
    weigh = WEIGHTS[weights] if isinstance(weights, str) else weights
    expansion, limits = expansion or Expansion(), limits or DEFAULTS
    if len(subscriptions) > limits.subscriptions:
        raise SubscriptionsError(limits.passed("subscriptions"), RAISE, subscriptions.source)
    statistics = sample_statistics(sample, schema) if sample else None
    joined = tables_of(database)
    with no_collection(_MANY):
        registry = register_all(schema, subscriptions, expansion, limits, progress, joined)
        tables = registry.tables()
        cutting = _Cutting(
            schema,
            tables,
            registry.forms,
            registry.parts,
            registry.namespaces(tables),
            len(registry.later),
            statistics,
            chunks,
            weigh,
            workers,
            expansion,
        )
        scheme = Scheme.uncut(
            cutting.cut,
            schema=schema.edges_only,
            namespaces=cutting.namespaces,
            branches=tables.branches,
            forms=tables.forms,
            templates=tables.templates,
            wordings=tables.wordings,
            members=tables.members,
            rejected=tuple(registry.rejected.values()),
            later=tuple(registry.later.values()),
            outputs=registry.outputs,
        )
        del registry  # its memory is needed now
    if name_of(weigh) == _CUSTOM or len(cutting.forms.branches) > _MOST_KEPT:
        scheme.every_chunk  # noqa: B018 - a user's function fails now; what is large is not kept
    return scheme


@dataclass(frozen=True)
class _Cutting:
    """Chooses the chunks of a scheme whose queries are registered; the attributes are `prepare`'s,
    and what it has found so far."""

    schema: Schema
    tables: RegisteredTables
    forms: FormTable
    parts: BranchSyntax
    namespaces: Mapping[str, str]
    later: int
    statistics: Statistics | None
    chunks: int | Literal["auto"]
    weigh: Weigh
    workers: int
    expansion: Expansion

    def cut(self) -> Cut:
        """Decides how documents are cut."""
        tables, forms, spines = self.tables, self.forms, self.forms.spines
        with no_collection(_MANY):
            statistics = self.statistics
            if statistics is None:
                statistics = _expected(self.schema)
            footprints = BranchFootprints(forms.branches, forms.tails, self.parts)
            whole = footprints.whole()
            queries = CanonicalWeights.of_members(tables.columns, forms.shapes)
            weighted = weighted_queries(queries.groups(self.weigh), forms.forms, spines, whole)
            tree = QueryTree.of(weighted, self.weigh)
            if self.chunks == AUTO:
                estimator = Estimator(statistics, self.namespaces)
                times = queries.branch_times(forms.forms, forms.branches)
                plan = best_plan(tree, times, spines, footprints, whole, estimator, self.workers)
            else:
                plan = ChunkingPlan(choose(tree, self.chunks))
            prefixes = plan.choice.prefixes
            keys = _chunk_keys(spines, whole, prefixes)
            maker = _ChunkMaker(footprints, keys, plan.projected)
            return Cut(
                _settings(self.chunks, len(prefixes), self.workers, self.weigh, self.expansion),
                tuple([maker.chunk(prefix) for prefix in prefixes]),
                maker.potpourri(),
                maker.document(),
                original_paths(tables.templates.xpaths),
                (
                    *notes(tables, self.later, plan.choice),
                    *crowded(forms.size, self.expansion),
                ),
                statistics,
            )


_EXPECTED: Final[WeakKeyDictionary[Places, Statistics]] = WeakKeyDictionary()


def _expected(schema: Schema) -> Statistics:
    """Returns what to expect of a schema's documents, computed once for each schema."""
    known = _EXPECTED.get(schema.places)
    if known is None:
        known = _EXPECTED[schema.places] = expected_statistics(schema)
    return known


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
    groups = CanonicalWeights.of_scheme(scheme).groups(weigh)
    spines = all_names(scheme.branches)
    return QueryTree.of(weighted_queries(groups, scheme.forms, spines, whole), weigh)


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
    return next((name for name, function in WEIGHTS.items() if function is weigh), _CUSTOM)


def _chunk_keys(
    spines: Sequence[NamePath], whole: Container[int], prefixes: Sequence[NamePath]
) -> list[NamePath | None]:
    """Returns for each branch the prefix of its chunk: see `_ChunkMaker`."""
    assign = lru_cache(maxsize=None)(PrefixIndex(prefixes).assign)
    return [() if n in whole else assign(spine) for n, spine in enumerate(spines)]


def notes(tables: RegisteredTables, later: int, choice: PrefixChoice) -> Iterator[str]:
    """Yields notes for the user on how a scheme was made.

    Args:
        tables: The queries.
        later: How many there are in later versions of XPath.
        choice: The prefixes of the chunks.
    """
    if tables.forms:
        if choice.note:
            yield choice.note
    elif later:
        yield "every query needs the whole document: there is no chunk to cut"
    elif len(tables.members):
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
        footprints: The footprints of the branches.
        keys: For each branch the longest prefix of its spine; None for the potpourri and the empty
            path, which is a prefix of every path, for the whole document.
        projected: The prefixes whose chunks have only what their branches look at.
    """

    def __init__(
        self,
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
        return builder.chunk(self._made, projected=bool(key) and key in self._projected)
