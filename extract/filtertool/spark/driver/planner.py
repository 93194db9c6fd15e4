"""Which task gets which documents: by size, so that no task keeps the others waiting.

Small documents are put together in tasks of about equal size. The work on a large one is shared by
several tasks: by pieces of the document, by shares of the queries, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.remote import file_version
from extract.chunktool.split.divide import divide
from extract.chunktool.split.survey import PIECE_BYTES, Piece, Survey
from extract.filtertool.batching import batches
from extract.filtertool.spark.worker.query_shares import (
    QueryShare,
    query_shares,
    share_weights,
    shares_by_input,
)
from extract.filtertool.spark.worker.tasks import Task
from extract.scheme.model import Scheme

LARGE: Final = 1 << 24  # bytes of a document that is too much for one worker's memory
PIECE: Final = PIECE_BYTES  # bytes of a piece of a large document
LEAST: Final = 1 << 18  # bytes that are worth a task
PIECES_A_TASK: Final = 4  # that are more than enough
_TASKS_A_CORE: Final = 4  # more tasks than cores, so that a slow one does not keep others waiting
_MOST: Final = 1 << 27  # bytes that a task has at most, but for a document that has more
_DOCUMENT: Final = 1 << 14  # bytes that take as long as opening a document
_WORTH_SHARING: Final = 1 << 22  # bytes of a document that is worth more than one task
_SHARED: Final = 1 << 26  # bytes of a document for which there is one more task, for memory's sake
_SCAN: Final = 0.2  # part of the work that all shares of the queries have to do
_SCAN_PIECE: Final = 0.1  # the same on a piece, of which nothing but its records is looked at


class TaskPlan(NamedTuple):
    """The tasks of a run.

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
            lines.append(f"  task {task.number:>5}  {cost:>9}  {task.summary:<28}  {names}")
        if len(self.tasks) > 20:
            lines.append(f"  … and {len(self.tasks) - 20:,} more")
        return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def large_documents(documents: Sequence[InputFile], cores: int) -> list[InputFile]:
    """Returns documents that would keep one core busy when all others are done, or that are large
    for one worker's memory."""
    total = sum(_cost(one) for one in documents)
    large = min(LARGE, max(_WORTH_SHARING, total // max(1, cores)))
    return [one for one in documents if one.size >= large]


def pieces_suffice(one: InputFile, cores: int) -> bool:
    """Says whether a large document has so many pieces that its work can be shared by pieces alone.

    Then a task has all queries, and every piece is read once. Else a task has those of one chunk,
    and each of them reads the piece.
    """
    return one.size >= PIECES_A_TASK * _TASKS_A_CORE * cores * PIECE


def plan_tasks(
    documents: Sequence[InputFile],
    cores: int,
    every: Sequence[QueryShare] = (),
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

    >>> files = [InputFile("a", 10), InputFile("b", 9_000_000), InputFile("c", 10)]
    >>> plan_tasks(files, cores=1).tasks[0].batches
    ((InputFile(name='b', size=9000000, path=''),),)
    """
    large = {one.name for one in large_documents(documents, cores)} if every else set()

    def made(one: InputFile, most: int) -> list[Task]:
        survey = (surveys or {}).get(one.name, Survey(0, ()))
        return _shared(one, cores, every, survey, most)

    return _planned(documents, cores, large, made, number)


def plan_frame(documents: Sequence[InputFile], cores: int, scheme: Scheme) -> TaskPlan:
    """Makes tasks that need not hear of each other: those of a large document share the queries.

    Args:
        documents: The documents.
        cores: How many tasks can run at once.
        scheme: The queries.
    """
    large = {one.name for one in large_documents(documents, cores)}
    every = query_shares(scheme, divide(scheme)) if large else ()
    parts = share_weights(every)
    total = sum(_cost(one) for one in documents)

    def made(one: InputFile, _: int) -> list[Task]:
        cost = _cost(one)
        many = min(cores, -(-cost * cores // total))  # a task has as much to do as a core
        some = _even(parts, many) if many > 1 else []
        if len(some) < 2:
            return [Task(0, cost, ((one,),), piece_bytes=PIECE)]
        tasks = [_task_on_document(one, sorted(which), every, parts) for which in some]
        version = file_version(one)
        return [
            task._replace(first=not number, piece_bytes=PIECE, version=version)
            for number, task in enumerate(tasks)
        ]

    return _planned(documents, cores, large, made)


def _planned(
    documents: Sequence[InputFile],
    cores: int,
    large: Collection[str],
    made: Callable[[InputFile, int], list[Task]],
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
    most = min(_MOST, max(LEAST, total // (_TASKS_A_CORE * max(1, cores))))
    groups: list[list[InputFile]] = []
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
            parts = batches(group, lambda one: one.size)
            new = [Task(0, sum(map(_cost, group)), tuple(map(tuple, parts)))]
        tasks += [task._replace(number=number + len(tasks) + n) for n, task in enumerate(new)]
    return TaskPlan(tuple(sorted(tasks, key=lambda task: (-task.cost, task.number))), cores)


def expected_plan(scheme: Scheme, documents: Sequence[InputFile], cores: int) -> TaskPlan:
    """Returns the plan that will be made, as far as it is known before large documents are
    surveyed: as if they kept to the schema and all records were equal."""
    division = divide(scheme)
    large = large_documents(documents, cores) if division.queries else []
    surveys = {one.name: _expected(one, len(division.names), cores) for one in large}
    return plan_tasks(documents, cores, query_shares(scheme, division), surveys)


def _expected(one: InputFile, names: int, cores: int) -> Survey:
    bounds = [*range(0, one.size, PIECE), one.size]
    return Survey(
        one.size,
        tuple(
            Piece(number, start, end, b"", b"", (), (1,) * names)
            for number, (start, end) in enumerate(pairwise(bounds))
        ),
        conforming=True,
        checked=not pieces_suffice(one, cores),
    )


def _shared(
    one: InputFile, cores: int, every: Sequence[QueryShare], survey: Survey, most: int
) -> list[Task]:
    """Returns the tasks of a large document.

    Args:
        one: The document.
        cores: How many tasks can run at once.
        every: The shares of the queries.
        survey: What is known of the document.
        most: How much work is worth a task.
    """
    parts = share_weights(every)
    on_pieces, on_document = shares_by_input(every, range(len(every)), survey)
    tasks: list[Task] = []
    # Where nobody has checked the pieces, a task has all queries: every piece is read once.
    groups = [(n,) for n in on_pieces] if survey.checked else [on_pieces]
    for shares in groups if on_pieces else ():
        tasks += _tasks_on_pieces(one, shares, every, survey, most)
    many = max(cores, -(-one.size // _SHARED))
    for some in _even([parts[n] for n in on_document], many) if on_document else []:
        tasks.append(_task_on_document(one, [on_document[n] for n in some], every, parts))
    if (
        not tasks
    ):  # no piece has a record that a query asks for; one task says what is wrong with it
        first = next(n for n, share in enumerate(every) if share.records)
        tasks.append(
            Task(0, _cost(one), ((one,),), (first,), every[first].name, survey.pieces[:1], True)
        )
    return [tasks[0], *[task._replace(first=False) for task in tasks[1:]]]


def _tasks_on_pieces(
    one: InputFile, shares: tuple[int, ...], every: Sequence[QueryShare], survey: Survey, most: int
) -> list[Task]:
    """Returns tasks for some shares, each on pieces that follow one another."""
    parts = share_weights(every)
    part = _SCAN_PIECE + (1 - _SCAN_PIECE) * sum(parts[n] for n in shares)
    records = frozenset[int]().union(*[every[n].records for n in shares])
    # A piece without records is read only if nobody has checked it yet.
    pieces = [
        piece
        for piece in survey.pieces
        if not survey.checked or any(piece.records[n] for n in records)
    ]
    chunks = " + ".join(every[n].name for n in shares)
    runs = _runs(pieces, int(most / part))
    return [
        Task(
            0,
            int(sum(piece.size for piece in run) * part),
            ((one,),),
            shares,
            chunks,
            tuple(run),
            all_pieces=len(runs) == 1,
            unchecked=not survey.checked,
        )
        for run in runs
    ]


def _task_on_document(
    one: InputFile, which: Sequence[int], every: Sequence[QueryShare], parts: Sequence[float]
) -> Task:
    """Returns a task for some shares of the queries on all of a document."""
    part = _SCAN + (1 - _SCAN) * sum(parts[n] for n in which)
    name = " + ".join(dict.fromkeys(every[n].name for n in which))
    return Task(0, int(_cost(one) * part), ((one,),), tuple(which), name)


def _runs(pieces: Sequence[Piece], most: int) -> list[list[Piece]]:
    """Returns pieces that follow one another, about so many bytes together."""
    runs: list[list[Piece]] = []
    filled = 0
    for piece in pieces:
        if not runs or filled + piece.size > most:
            runs.append([])
            filled = 0
        runs[-1].append(piece)
        filled += piece.size
    return runs


def _even(weights: Sequence[float], most: int) -> list[tuple[int, ...]]:
    """Puts shares together until there are not too many, each about as heavy as the others.

    >>> _even([0.5, 0.2, 0.3], 2), _even([0.5, 0.5], 5)
    ([(0,), (2, 1)], [(0,), (1,)])
    """
    groups: list[list[int]] = [[] for _ in range(min(most, len(weights)))]
    for share in sorted(range(len(weights)), key=lambda n: -weights[n]):
        min(groups, key=lambda one: (sum(weights[n] for n in one), len(one))).append(share)
    return [tuple(one) for one in groups]


def _cost(document: InputFile) -> int:
    return document.size + _DOCUMENT
