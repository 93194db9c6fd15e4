"""What a worker does for joins of a stream: all that one group of documents needs, batch by batch.

There is a group for each share of the values, and one for all chains of queries. Each gets the
heads of all documents of a batch, and so numbers them as all others do; and the contents of those
that it may join. What it has to remember is one row of Spark's state store.
"""

from __future__ import annotations

import io
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from extract.errors import JoinError
from extract.filtertool.joins.arriving import ArrivingDocuments
from extract.filtertool.joins.blocks import WitnessBlock
from extract.filtertool.joins.by_value import ValueJoins
from extract.filtertool.joins.chains import ChainJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.lateness import Late
from extract.filtertool.joins.plain_blocks import block_from, plain_block
from extract.filtertool.joins.shares import of_share, share_of
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.join_tasks import joined_values

_FORMAT: Final = 2
_TELLS: Final = 0  # the group that tells rejections of documents
_TOGETHER, _SIZE = 1_000, 4 << 20  # documents or rows in one value, about

T = TypeVar("T")


class StreamJoins(NamedTuple):
    """How documents of a stream are joined.

    Attributes:
        job: The queries.
        joins: Their joins.
        shares: How many shares the values have.
        by_time: Whether documents of a batch arrive by time, then by name; else by their numbers.
        queries: Differs for other queries: see `queries_digest`.
    """

    job: JoinJob
    joins: ValueJoins
    shares: int
    by_time: bool
    queries: str

    @property
    def known_by(self) -> str:
        """What differs if a state is of no use."""
        return f"{self.queries} {self.shares}"

    def groups(self) -> list[int]:
        """Returns the numbers of groups: of shares, then of what is published and read."""
        shares = self.shares if self.joins.alone.pairs else _TELLS + 1
        return [*range(shares), *([self.shares] if self.joins.chained.pairs else [])]

    def groups_of(self, document: JoinDocument) -> set[int]:
        """Returns the numbers of the groups that may join a document."""
        joins = self.joins
        groups = {share_of(key, self.shares) for key in joins.keys(document, joins.alone)}
        if joins.keys(document, joins.chained):
            groups.add(self.shares)
        return groups


Origin: TypeAlias = tuple[int, int]
"""The number of a task, and that of a document in it: it tells documents of a batch apart."""


class Head(NamedTuple):
    """What all groups know of a document of a batch.

    Attributes:
        position: Its number, if documents have numbers.
        stream, name, time: As of `JoinDocument`; None for a document without a time.
        origin: Tells documents apart that have all this in common.
        rejected: Whether it is rejected as a whole.
        rejections: Why, and queries with patterns that cannot be evaluated; pickled.
    """

    position: int
    stream: str
    name: str
    time: int | None
    origin: Origin
    rejected: bool
    rejections: bytes


def packed_documents(
    stream: StreamJoins, rows: Iterable[tuple[Any, ...]], task: int
) -> Iterator[tuple[int, bytes]]:
    """Yields for some documents what each group gets of them.

    Args:
        stream: How to join.
        rows: The documents, as rows of `READ`.
        task: The number of this task.
    """
    for some in _packs(enumerate(rows), lambda one: len(one[1][-1] or b"")):
        heads: list[Head] = []
        contents: dict[int, dict[Origin, bytes]] = {group: {} for group in stream.groups()}
        for number, row in some:
            position, _, source, name, time, rejected, rejections, content = row
            origin = task, number
            heads.append(Head(position, source, name, time, origin, rejected, rejections))
            if content is not None:
                for group in stream.groups_of(pickle.loads(content)):
                    contents[group][origin] = content
        told = [tuple(one) for one in heads]
        untold = [tuple(one._replace(rejections=b"")) for one in heads]
        for group, own in contents.items():
            yield group, pickle.dumps((told if group == _TELLS else untold, own))


@dataclass(slots=True)
class GroupState:
    """What a group remembers.

    Attributes:
        inputs: How many input documents there were.
        places: How many of each stream.
        latest: How far the streams have come, as `Lateness` has it.
        clock: How many documents there were, published ones included.
        published: How many documents published streams have.
        kept: The documents that later ones may join.
    """

    inputs: int = 0
    places: Mapping[str, int] = field(default_factory=dict)
    latest: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0
    published: Mapping[str, int] = field(default_factory=dict)
    kept: list[WitnessBlock] = field(default_factory=list)

    def dump(self, stream: StreamJoins) -> bytes:
        """Returns the state as bytes."""
        numbers = (self.inputs, dict(self.places), dict(self.latest), self.clock)
        kept = [plain_block(block) for block in self.kept]
        whole = (_FORMAT, stream.known_by, numbers, dict(self.published), kept)
        return pickle.dumps(whole, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def load(cls, data: bytes, stream: StreamJoins) -> GroupState:
        """Returns the state that `dump` made bytes of.

        Raises:
            JoinError: It is the state of other queries, or none.
        """
        form, queries, numbers, published, kept = _PlainReader(io.BytesIO(data)).load()
        if (form, queries) != (_FORMAT, stream.known_by):
            hint = "go on with the queries and shares of before, or choose another checkpoint"
            raise JoinError("the checkpoint is that of other queries or shares, or older", hint)
        inputs, places, latest, clock = numbers
        return cls(inputs, places, latest, clock, published, [block_from(one) for one in kept])


def join_group(
    stream: StreamJoins, group: int, state: bytes | None, packs: Iterable[bytes]
) -> tuple[bytes, list[bytes]]:
    """Joins the documents of a group.

    Args:
        stream: How to join.
        group: The number of the group.
        state: What was returned for the batch before; None if there was none.
        packs: What the group gets of the documents of a batch, from `packed_documents`.

    Returns:
        What is to be remembered, and pickled lists of rows of `RESULTS`.

    Raises:
        JoinError: The state is that of other queries, or a stream is published by a query.
    """
    now = GroupState() if state is None else GroupState.load(state, stream)
    joins = stream.joins
    joins.begin(now.kept, now.latest)
    arriving = ArrivingDocuments(now.inputs, Counter(now.places), joins.times)
    heads: list[Head] = []
    contents: dict[Origin, bytes] = {}
    for pack in packs:
        some, own = pickle.loads(pack)
        heads += [Head(*one) for one in some]
        contents |= own
    if group < stream.shares:
        found = _of_share(stream, group, arriving, heads, contents)
        counts = arriving.counts()
    else:
        limits = stream.job.limits
        chain = ChainJoins(joins, joins.chained, now.clock, now.published, limits)
        found = _of_chain(stream, chain, arriving, heads, contents)
        counts = chain.counts(arriving.counts())
        now.clock, now.published = chain.clock, chain.places
    now.inputs, now.places, now.latest = arriving.inputs, arriving.places, arriving.times.latest
    now.kept = list(joins.end(counts))
    parts = _packs(found, lambda row: len(row[-2] or ""))
    return now.dump(stream), [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in parts]


def _packs(some: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yields things together that are to be one value, neither many nor large."""
    pack: list[T] = []
    size = 0
    for one in some:
        pack.append(one)
        size += size_of(one)
        if len(pack) >= _TOGETHER or size >= _SIZE:
            yield pack
            pack, size = [], 0
    if pack:
        yield pack


def _of_share(
    stream: StreamJoins,
    share: int,
    arriving: ArrivingDocuments,
    heads: list[Head],
    contents: Mapping[Origin, bytes],
) -> list[tuple[Any, ...]]:
    """The rows of a share."""
    found: list[tuple[Any, ...]] = []
    joins = stream.joins
    mine = of_share(share, stream.shares)
    for head in _in_order(stream, heads):
        late = _late(arriving, head)
        if share == _TELLS:
            told = [] if late.whole else pickle.loads(head.rejections)
            found += [joined_values(one) for one in told]
            if late.whole or not head.rejected:
                found += [joined_values(one) for one in late.rejections]
        if late.whole or head.rejected or head.time is None:
            continue
        content = contents.get(head.origin)
        if content is not None:
            document: JoinDocument = pickle.loads(content)
            arrival = arriving.arrival(head.stream, head.name, head.time, late)
            arrival.number(document)
            rows = joins.go_on(document, arrival, joins.alone, mine)
            found += [joined_values(one.row) for one in rows]
        arriving.accept(head.stream, head.time)
    return found


def _of_chain(
    stream: StreamJoins,
    chain: ChainJoins,
    arriving: ArrivingDocuments,
    heads: list[Head],
    contents: Mapping[Origin, bytes],
) -> list[tuple[Any, ...]]:
    """The rows of a chain."""
    found: list[tuple[Any, ...]] = []
    for head in _in_order(stream, heads):
        late = _late(arriving, head)
        if late.whole or head.rejected or head.time is None:
            continue
        content = contents.get(head.origin)
        document: JoinDocument | None = None if content is None else pickle.loads(content)
        arrival = arriving.arrival(head.stream, head.name, head.time, late)
        result = chain.follow(head.stream, document, arrival)
        rows: list[Joined | Rejection] = [*result.rows, *result.rejections]
        found += [joined_values(row) for row in rows]
        arriving.accept(head.stream, head.time)
    return found


def _late(arriving: ArrivingDocuments, head: Head) -> Late:
    """The queries that a document is late for."""
    if head.time is None:
        return Late()
    return arriving.times.late(head.stream, head.name, head.time)


def _in_order(stream: StreamJoins, heads: list[Head]) -> list[Head]:
    """Documents in the order of their arrival, the same in all groups.

    Raises:
        JoinError: A stream is published by a query.
    """
    for head in heads:
        if head.stream in stream.job.published:
            reason = f"the stream {head.stream!r} is published by a query"
            raise JoinError(reason, "give documents of another stream", head.name)
    if stream.by_time:
        return sorted(heads, key=_by_time)
    return sorted(heads, key=lambda one: (one.position, one.origin))


def _by_time(one: Head) -> tuple[Any, ...]:
    return one.time is not None, one.time or 0, one.name, one.position, one.stream, one.origin


class _PlainReader(pickle.Unpickler):
    """Reads states, which lie in files of a checkpoint: nothing in them can run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Raises: states have plain values."""
        raise JoinError(f"the checkpoint has a {module}.{name}, which no state of joins has")
