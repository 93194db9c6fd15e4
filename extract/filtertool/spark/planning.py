"""Which task gets which documents: by size, so that no task keeps the others waiting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from extract.filtertool.records import divide
from extract.filtertool.spark.keeping import Reading
from extract.filtertool.spark.locations import Listed, facts
from extract.filtertool.spark.shares import Share, shares, weights
from extract.filtertool.survey import PIECE_BYTES, Piece, Survey
from extract.scheme.model import Scheme

_TASKS_A_CORE: Final = 4  # more tasks than cores, so that a slow one does not keep others waiting
_LEAST: Final = 1 << 18  # bytes that are worth a task
_MOST: Final = 1 << 27  # bytes that a task has at most, but for a document that has more
_BATCH_BYTES: Final = 1 << 22
_BATCH_DOCUMENTS: Final = 256
_DOCUMENT: Final = 1 << 14  # bytes that opening a document takes as long as
LARGE: Final = 1 << 24  # bytes of a document that is too much for one worker's memory
_WORTH_SHARING: Final = 1 << 22  # bytes of a document that is worth more than one task
_SHARED: Final = 1 << 26  # bytes of a document for which there is one more task, for memory's sake
_SCAN: Final = 0.2  # part of the work that all shares of the queries have to do
PIECE: Final = PIECE_BYTES  # of a large document
_PIECES_A_TASK: Final = 4  # that are more than enough
_SCAN_PIECE: Final = 0.1  # the same on a piece, of which nothing but its records is looked at


class Task(NamedTuple):
    """Documents that are filtered one batch after the other, or a part of the work on one.

    Attributes:
        number: Which task it is, from 1, in the order of the documents.
        cost: How much work it is, in bytes.
        batches: The documents; those of a batch are filtered together.
        shares: Which shares of the queries are evaluated on its one document; empty for all.
        name: What the shares are called: the ids of chunks.
        pieces: On which pieces of the document; empty for all of it.
        first: Whether the documents count here. One that several tasks share counts once.
        cut: Into pieces of about how many bytes the task is to cut its one document; 0 for none.
        seen: The document's `facts` when the plan was made, if it must not have changed since.
        check: Whether nobody has looked yet if the pieces are well-formed and keep to the schema.
    """

    number: int
    cost: int
    batches: tuple[tuple[Listed, ...], ...]
    shares: tuple[int, ...] = ()
    name: str = ""
    pieces: tuple[Piece, ...] = ()
    first: bool = True
    cut: int = 0
    seen: tuple[int, int] | None = None
    check: bool = False

    @property
    def reading(self) -> Reading:
        """What is read."""
        if not self.pieces:
            return Reading.DOCUMENTS
        return Reading.NEW_PIECES if self.check else Reading.PIECES

    @property
    def documents(self) -> int:
        """How many documents it has; one that is shared counts where its first task is."""
        return sum(map(len, self.batches)) if self.first else 0

    @property
    def part(self) -> str:
        """Tells tasks on one document apart; empty if it does all that is to be done there."""
        if not self.shares:
            return ""
        return repr((self.shares, [(one.start, one.end) for one in self.pieces]))

    @property
    def what(self) -> str:
        """What it does, in a few words."""
        if not self.shares:
            return f"{self.documents:,} in {len(self.batches):,} batches"
        if not self.pieces:
            return f"chunks {self.name}"
        first, last = self.pieces[0].number + 1, self.pieces[-1].number + 1
        chunks = "chunk" if len(self.shares) == 1 else "chunks"
        return f"{chunks} {self.name}, pieces {first:,} to {last:,}"


class TaskPlan(NamedTuple):
    """Who does what.

    Attributes:
        tasks: The tasks, in the order in which they begin: the longest first.
        cores: For how many cores it was made.
    """

    tasks: tuple[Task, ...]
    cores: int

    def __str__(self) -> str:
        documents = sum(task.documents for task in self.tasks)
        total = sum(task.cost for task in self.tasks)
        longest = max((task.cost for task in self.tasks), default=0)
        lines = [
            f"{documents:,} documents in {len(self.tasks):,} tasks for {self.cores:,} cores",
            f"together about {_megabytes(total)}, the longest task {_megabytes(longest)}",
        ]
        for task in self.tasks[:20]:
            first, last = task.batches[0][0].name, task.batches[-1][-1].name
            names = first if first == last else f"{first} … {last}"
            cost = _megabytes(task.cost)
            lines.append(f"  task {task.number:>5}  {cost:>9}  {task.what:<28}  {names}")
        if len(self.tasks) > 20:
            lines.append(f"  … and {len(self.tasks) - 20:,} more")
        return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def large_documents(documents: Sequence[Listed], cores: int) -> list[Listed]:
    """Documents that would keep one core busy when all others are done, or that are large for one
    worker's memory."""
    total = sum(_cost(one) for one in documents)
    large = min(LARGE, max(_WORTH_SHARING, total // max(1, cores)))
    return [one for one in documents if one.size >= large]


def pieces_suffice(one: Listed, cores: int) -> bool:
    """Whether a large document has so many pieces that its work can be shared by pieces alone.

    Then a task has all queries, and every piece is read once. Else a task has those of one chunk,
    and each of them reads the piece.
    """
    return one.size >= _PIECES_A_TASK * _TASKS_A_CORE * cores * PIECE


def plan_tasks(
    documents: Sequence[Listed],
    cores: int,
    every: Sequence[Share] = (),
    surveys: Mapping[str, Survey] | None = None,
    number: int = 1,
) -> TaskPlan:
    """Makes tasks of documents.

    Args:
        documents: The documents, in the order that results are to have.
        cores: How many tasks can run at once.
        every: The shares of the queries, for large documents.
        surveys: What is known of large documents, by their names.
        number: That of the first task.

    >>> plan_tasks([Listed("a", 10), Listed("b", 9_000_000), Listed("c", 10)], 1).tasks[0].batches
    ((Listed(name='b', size=9000000, path=''),),)
    """
    large = {one.name for one in large_documents(documents, cores)} if every else set()

    def made(one: Listed, most: int) -> list[Task]:
        known = (surveys or {}).get(one.name, Survey(0, ()))
        return _shared(one, cores, every, known, most)

    return _planned(documents, cores, large, made, number)


def plan_frame(documents: Sequence[Listed], cores: int, scheme: Scheme) -> TaskPlan:
    """Makes tasks that need not hear of each other: those of a large document share the queries.

    Args:
        documents: The documents.
        cores: How many tasks can run at once.
        scheme: The queries.
    """
    large = {one.name for one in large_documents(documents, cores)}
    every = shares(scheme, divide(scheme)) if large else ()
    parts = weights(every)
    total = sum(_cost(one) for one in documents)

    def made(one: Listed, _: int) -> list[Task]:
        cost = _cost(one)
        many = min(cores, -(-cost * cores // total))  # a task has as much to do as a core
        some = _even(parts, many) if many > 1 else []
        if len(some) < 2:
            return [Task(0, cost, ((one,),), cut=PIECE)]
        tasks = [_part_of(one, sorted(which), every, parts) for which in some]
        seen = facts(one)
        return [
            task._replace(first=not number, cut=PIECE, seen=seen)
            for number, task in enumerate(tasks)
        ]

    return _planned(documents, cores, large, made)


def _planned(
    documents: Sequence[Listed],
    cores: int,
    large: Collection[str],
    made: Callable[[Listed, int], list[Task]],
    number: int = 1,
) -> TaskPlan:
    """Puts small documents together in tasks, and has tasks made of large ones.

    Args:
        documents: The documents.
        cores: How many tasks can run at once.
        large: The names of large documents.
        made: Makes tasks of a large document, given how much work is worth one.
        number: That of the first task.
    """
    total = sum(_cost(one) for one in documents)
    most = min(_MOST, max(_LEAST, total // (_TASKS_A_CORE * max(1, cores))))
    groups: list[list[Listed]] = []
    filled = 0
    for one in documents:
        cost = _cost(one)
        if not groups or filled + cost > most or one.name in large:
            groups.append([])
            filled = 0
        groups[-1].append(one)
        filled += most if one.name in large else cost
    tasks: list[Task] = []
    for group in groups:
        if group[0].name in large:
            new = made(group[0], most)
        else:
            new = [Task(0, sum(map(_cost, group)), _batches(group))]
        tasks += [task._replace(number=number + len(tasks) + n) for n, task in enumerate(new)]
    return TaskPlan(tuple(sorted(tasks, key=lambda task: (-task.cost, task.number))), cores)


def expected_plan(scheme: Scheme, documents: Sequence[Listed], cores: int) -> TaskPlan:
    """The plan that will be made, as far as it is known before large documents were looked at."""
    large = large_documents(documents, cores)
    division = divide(scheme)
    surveys = {one.name: _expected(one, len(division.names), cores) for one in large}
    return plan_tasks(documents, cores, shares(scheme, division), surveys)


def _expected(one: Listed, names: int, cores: int) -> Survey:
    bounds = [*range(0, one.size, PIECE), one.size]
    return Survey(
        one.size,
        tuple(
            Piece(number, start, end, b"", b"", (), (1,) * names)
            for number, (start, end) in enumerate(pairwise(bounds))
        ),
        checked=not pieces_suffice(one, cores),
    )


def _shared(
    one: Listed, cores: int, every: Sequence[Share], known: Survey, most: int
) -> list[Task]:
    """The tasks of a large document."""
    parts = weights(every)
    made: list[Task] = []
    cut = bool(known.pieces)
    whole = [n for n, each in enumerate(every) if not (cut and (each.records or each.idle))]
    apart = [n for n, each in enumerate(every) if n not in whole and not each.idle]
    groups = [(n,) for n in apart] if known.checked else [tuple(apart)]
    for some in groups if apart else ():
        part = _SCAN_PIECE + (1 - _SCAN_PIECE) * sum(parts[n] for n in some)
        records = frozenset[int]().union(*[every[n].records for n in some])
        # What was not looked at is read by somebody.
        pieces = [
            p for p in known.pieces if not known.checked or any(p.records[r] for r in records)
        ]
        name = " + ".join(every[n].name for n in some)
        for run in _runs(pieces, int(most / part)):
            cost = int(sum(piece.size for piece in run) * part)
            check = not known.checked
            made.append(Task(0, cost, ((one,),), some, name, tuple(run), check=check))
    many = max(cores, -(-one.size // _SHARED))
    for some in _even([parts[n] for n in whole], many) if whole else []:
        made.append(_part_of(one, [whole[n] for n in some], every, parts))
    if not made:  # no piece has a record of anybody's; somebody has to say so
        first = next(n for n, share in enumerate(every) if share.records)
        made.append(Task(0, _cost(one), ((one,),), (first,), every[first].name, known.pieces[:1]))
    return [made[0], *[task._replace(first=False) for task in made[1:]]]


def _part_of(
    one: Listed, which: Sequence[int], every: Sequence[Share], parts: Sequence[float]
) -> Task:
    """Some shares of the queries on all of a document."""
    part = _SCAN + (1 - _SCAN) * sum(parts[n] for n in which)
    name = " + ".join(dict.fromkeys(every[n].name for n in which))
    return Task(0, int(_cost(one) * part), ((one,),), tuple(which), name)


def _runs(pieces: Sequence[Piece], most: int) -> list[list[Piece]]:
    """Pieces that follow one another, about so many bytes together."""
    found: list[list[Piece]] = []
    filled = 0
    for piece in pieces:
        if not found or filled + piece.size > most:
            found.append([])
            filled = 0
        found[-1].append(piece)
        filled += piece.size
    return found


def _even(weights: Sequence[float], most: int) -> list[tuple[int, ...]]:
    """Shares put together until there are not too many, each about as heavy as the others.

    >>> _even([0.5, 0.2, 0.3], 2), _even([0.5, 0.5], 5)
    ([(0,), (2, 1)], [(0,), (1,)])
    """
    found: list[list[int]] = [[] for _ in range(min(most, len(weights)))]
    for share in sorted(range(len(weights)), key=lambda n: -weights[n]):
        min(found, key=lambda one: (sum(weights[n] for n in one), len(one))).append(share)
    return [tuple(one) for one in found]


def _cost(document: Listed) -> int:
    return document.size + _DOCUMENT


def _batches(documents: Sequence[Listed]) -> tuple[tuple[Listed, ...], ...]:
    found: list[list[Listed]] = []
    filled = 0
    for one in documents:
        if not found or filled + one.size > _BATCH_BYTES or len(found[-1]) >= _BATCH_DOCUMENTS:
            found.append([])
            filled = 0
        found[-1].append(one)
        filled += one.size
    return tuple(map(tuple, found))
