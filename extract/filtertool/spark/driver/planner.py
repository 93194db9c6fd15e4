"""Plans tasks: assigns documents to tasks by size, so that no task keeps the others waiting.

Small documents are grouped into tasks of about equal size. Several tasks share the work on a large
one: by pieces of the document, by shares of the queries, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.remote import file_version, is_packed
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

LARGE: Final = 1 << 24  # bytes of a document that is too large for one worker's memory
PIECE: Final = PIECE_BYTES  # bytes of a piece of a large document
LEAST: Final = 1 << 18  # the least bytes of a task
PIECES_A_TASK: Final = 4  # pieces of a task in a document that is shared by pieces alone
_TASKS_A_CORE: Final = 4  # more tasks than cores, so that a slow one does not keep others waiting
_MOST: Final = 1 << 27  # the most bytes of a task, except for a larger single document
_DOCUMENT: Final = 1 << 14  # bytes that take as long as opening a document
WORTH_SHARING: Final = 1 << 22  # bytes of a document that is worth more than one task
_SHARED: Final = 1 << 26  # bytes of a document per task, to bound memory
_SCAN: Final = 0.2  # the part of the work that every share of the queries repeats
_SCAN_PIECE: Final = 0.1  # the same on a piece, of which only the records are read


class TaskPlan(NamedTuple):
    """The tasks of a run.

    Attributes:
        tasks: The tasks in the order of their start: the longest first.
        cores: The number of cores that the plan is made for.
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
    """Returns documents that would keep one core busy after all others are done, or that are too
    large for one worker's memory."""
    total = sum(_cost(document) for document in documents)
    large = min(LARGE, max(WORTH_SHARING, total // max(1, cores)))
    return [one for one in documents if one.size >= large and one.messages is None]


def pieces_suffice(document: InputFile, cores: int) -> bool:
    """Whether a large document has enough pieces to share its work by pieces alone.

    Then a task has all queries, and every piece is read once. Otherwise a task has the queries of
    one chunk, and every such task reads the piece.
    """
    return document.size >= PIECES_A_TASK * _TASKS_A_CORE * cores * PIECE


def plan_tasks(
    documents: Sequence[InputFile],
    cores: int,
    shares: Sequence[QueryShare] = (),
    surveys: Mapping[str, Survey] | None = None,
    number: int = 1,
) -> TaskPlan:
    """Makes tasks from documents.

    Args:
        documents: The documents, in the order of the results.
        cores: The number of tasks that can run at once.
        shares: The shares of the queries, for large documents.
        surveys: The surveys of large documents, by their names.
        number: The number of the first task.

    >>> files = [InputFile("a", 10), InputFile("b", 9_000_000), InputFile("c", 10)]
    >>> plan_tasks(files, cores=1).tasks[0].batches
    ((InputFile(name='b', size=9000000, path='', messages=None),),)
    """
    large = {document.name for document in large_documents(documents, cores)} if shares else set()

    def made(document: InputFile, most: int) -> list[Task]:
        survey = (surveys or {}).get(document.name, Survey(0, ()))
        return _shared(document, cores, shares, survey, most)

    return _planned(documents, cores, large, made, number)


def plan_frame(
    documents: Sequence[InputFile], cores: int, scheme: Scheme, in_parts: bool = True
) -> TaskPlan:
    """Makes independent tasks: those of a large document share its queries.

    Args:
        documents: The documents.
        cores: The number of tasks that can run at once.
        scheme: The queries.
        in_parts: Whether the work on a large document may be shared.
    """
    large = {one.name for one in large_documents(documents, cores)} if in_parts else set()
    shares = query_shares(scheme, divide(scheme)) if large else ()
    parts = share_weights(shares)
    total = sum(_cost(document) for document in documents)

    def made(document: InputFile, _: int) -> list[Task]:
        cost = _cost(document)
        count = min(cores, -(-cost * cores // total))  # a task has as much to do as a core
        groups = _even(parts, count) if count > 1 else []
        if len(groups) < 2:
            return [Task(0, cost, ((document,),), piece_bytes=PIECE)]
        tasks = [_task_on_document(document, sorted(which), shares, parts) for which in groups]
        version = file_version(document)
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
    """Groups small documents into tasks, and calls a function for large ones.

    Args:
        documents: The documents.
        cores: The number of tasks that can run at once.
        large: The names of large documents.
        made: Makes the tasks of a large document, given the largest cost of a task.
        number: The number of the first task.
    """
    total = sum(_cost(document) for document in documents)
    most = min(_MOST, max(LEAST, total // (_TASKS_A_CORE * max(1, cores))))
    groups: list[list[InputFile]] = []
    filled = 0
    for document in documents:
        cost = _cost(document)
        alone = document.name in large or document.messages is not None
        if not groups or filled + cost > most or alone:
            groups.append([])
            filled = 0
        groups[-1].append(document)
        filled += most if alone else cost
    tasks: list[Task] = []
    for group in groups:
        if group[0].messages is not None:
            new = _message_tasks(group[0], cores)
        elif group[0].name in large:
            new = made(group[0], most)
        else:
            parts = batches(group, lambda document: document.size)
            new = [Task(0, sum(map(_cost, group)), tuple(map(tuple, parts)))]
        tasks += [task._replace(number=number + len(tasks) + n) for n, task in enumerate(new)]
    return TaskPlan(tuple(sorted(tasks, key=lambda task: (-task.cost, task.number))), cores)


def _message_tasks(file: InputFile, cores: int) -> list[Task]:
    """Returns the tasks for a file of messages, which share them.

    Each reads the file, which is little work, but for one that must be fetched or unpacked first.
    """
    assert file.messages is not None
    shares = max(1, min(cores, file.size // WORTH_SHARING))
    if shares > 1 and (file.is_remote or _is_packed(file)):
        shares = 1
    files = [
        file._replace(messages=file.messages._replace(share=n, shares=shares))
        for n in range(shares)
    ]
    cost = _cost(file) // shares
    return [Task(0, cost, ((one,),), first=not n) for n, one in enumerate(files)]


def _is_packed(file: InputFile) -> bool:
    try:
        return is_packed(file)
    except OSError:  # what is wrong with it, the task says
        return True


def expected_plan(
    scheme: Scheme, documents: Sequence[InputFile], cores: int, in_parts: bool = True
) -> TaskPlan:
    """Returns the plan that a run will have, as far as it is known before large documents are
    surveyed: as if they kept to the schema and all records were equal."""
    if not in_parts:
        return plan_tasks(documents, cores)
    division = divide(scheme)
    large = large_documents(documents, cores) if division.forms else []
    surveys = {document.name: _expected(document, len(division.names), cores) for document in large}
    return plan_tasks(documents, cores, query_shares(scheme, division), surveys)


def _expected(document: InputFile, names: int, cores: int) -> Survey:
    bounds = [*range(0, document.size, PIECE), document.size]
    return Survey(
        document.size,
        tuple(
            Piece(number, start, end, b"", b"", (), (1,) * names)
            for number, (start, end) in enumerate(pairwise(bounds))
        ),
        conforming=True,
        checked=not pieces_suffice(document, cores),
    )


def _shared(
    document: InputFile, cores: int, all_shares: Sequence[QueryShare], survey: Survey, most: int
) -> list[Task]:
    """Returns the tasks of a large document.

    Args:
        document: The document.
        cores: The number of tasks that can run at once.
        all_shares: The shares of the queries.
        survey: The survey of the document.
        most: The largest cost of a task.
    """
    parts = share_weights(all_shares)
    on_pieces, on_document = shares_by_input(all_shares, range(len(all_shares)), survey)
    tasks: list[Task] = []
    # If the pieces are unchecked, a task has all queries: every piece is read once.
    groups = [(n,) for n in on_pieces] if survey.checked else [on_pieces]
    for shares in groups if on_pieces else ():
        tasks += _tasks_on_pieces(document, shares, all_shares, survey, most)
    count = max(cores, -(-document.size // _SHARED))
    for group in _even([parts[n] for n in on_document], count) if on_document else []:
        tasks.append(
            _task_on_document(document, [on_document[n] for n in group], all_shares, parts)
        )
    if not tasks:  # no piece has a record of a query; one task checks the first piece
        first = next(n for n, share in enumerate(all_shares) if share.records)
        tasks.append(
            Task(
                0,
                _cost(document),
                ((document,),),
                (first,),
                all_shares[first].name,
                survey.pieces[:1],
                True,
            )
        )
    return [tasks[0], *[task._replace(first=False) for task in tasks[1:]]]


def _tasks_on_pieces(
    document: InputFile,
    shares: tuple[int, ...],
    all_shares: Sequence[QueryShare],
    survey: Survey,
    most: int,
) -> list[Task]:
    """Returns tasks for some shares, each on consecutive pieces."""
    parts = share_weights(all_shares)
    part = _SCAN_PIECE + (1 - _SCAN_PIECE) * sum(parts[n] for n in shares)
    records = frozenset[int]().union(*[all_shares[n].records for n in shares])
    # A piece without records is read only if it is unchecked.
    pieces = [
        piece
        for piece in survey.pieces
        if not survey.checked or any(piece.records[n] for n in records)
    ]
    chunks = " + ".join(all_shares[n].name for n in shares)
    runs = _runs(pieces, int(most / part))
    return [
        Task(
            0,
            int(sum(piece.size for piece in run) * part),
            ((document,),),
            shares,
            chunks,
            tuple(run),
            all_pieces=len(runs) == 1,
            unchecked=not survey.checked,
        )
        for run in runs
    ]


def _task_on_document(
    document: InputFile,
    which: Sequence[int],
    all_shares: Sequence[QueryShare],
    parts: Sequence[float],
) -> Task:
    """Returns a task for some shares of the queries on a whole document."""
    part = _SCAN + (1 - _SCAN) * sum(parts[n] for n in which)
    name = " + ".join(dict.fromkeys(all_shares[n].name for n in which))
    return Task(0, int(_cost(document) * part), ((document,),), tuple(which), name)


def _runs(pieces: Sequence[Piece], most: int) -> list[list[Piece]]:
    """Groups consecutive pieces, with about ``most`` bytes each."""
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
    """Groups shares into at most ``most`` groups of about equal weight.

    >>> _even([0.5, 0.2, 0.3], 2), _even([0.5, 0.5], 5)
    ([(0,), (2, 1)], [(0,), (1,)])
    """
    groups: list[list[int]] = [[] for _ in range(min(most, len(weights)))]
    for share in sorted(range(len(weights)), key=lambda n: -weights[n]):
        min(groups, key=lambda group: (sum(weights[n] for n in group), len(group))).append(share)
    return [tuple(group) for group in groups]


def _cost(document: InputFile) -> int:
    return document.size + _DOCUMENT
