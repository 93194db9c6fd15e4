"""Going on with a job that was interrupted: what finished tasks have written is still good.

A task that is done notes beside its files which documents it had, and for which job. A later run
takes over what belongs to the same job and to documents that have not changed since.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extract.errors import ExtractError
from extract.files import whole_file
from extract.filtertool.account import Account
from extract.filtertool.job import Job
from extract.filtertool.piecewise import Tally
from extract.filtertool.spark.locations import Listed, is_uri

_DONE: Final = "done.pickle"

Stamp = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class Done:
    """A task that is done.

    Attributes:
        job: The digest of its job.
        documents: Its documents as they were when it began.
        folder: Where its files are.
        account: What became of the documents.
        part: Which part of the work on its one document it did; empty for all of it.
        tally: As in `Written`.
    """

    job: str
    documents: tuple[Stamp, ...]
    folder: str
    account: Account
    part: str = ""
    tally: Tally | None = None


def digest(job: Job, form: str) -> str:
    """Tells whether two jobs give the same results for the same documents."""
    made = hashlib.sha256()
    for line in job.scheme.lines():
        made.update(line.encode("utf-8", "surrogatepass"))
    made.update(repr((job.factory.name, job.options, form)).encode())
    return made.hexdigest()


def stamps(documents: Iterable[Listed]) -> tuple[Stamp, ...]:
    """What tells whether documents have changed."""
    return tuple(map(_stamp, documents))


def _stamp(document: Listed) -> Stamp:
    size, changed = document.size, 0
    if not is_uri(document.name):
        with contextlib.suppress(OSError, ValueError):
            facts = os.stat(document.path or document.name)
            size, changed = facts.st_size, facts.st_mtime_ns
    return (document.name, document.path, size, changed)


def note(folder: Path, done: Done) -> None:
    """Notes beside its files that a task is done."""
    with whole_file(folder / _DONE) as file:
        pickle.dump(done, file, pickle.HIGHEST_PROTOCOL)


def finished(attempts: Path, job: str, documents: Iterable[Listed]) -> Iterator[Done]:
    """The tasks of earlier runs whose results are still good, no document twice.

    The notes are those of our own tasks, in a directory that only we can write to.
    """
    wanted = {one.name: one for one in documents}
    for done in _noted(attempts, job):
        names = [stamp[0] for stamp in done.documents]
        if done.part or not all(name in wanted for name in names):
            continue
        if stamps(wanted[name] for name in names) == done.documents:
            for name in names:
                del wanted[name]
            yield done


def finished_parts(attempts: Path, job: str) -> dict[tuple[Stamp, str], Done]:
    """Parts of documents that earlier runs have finished, by the document and the part."""
    return {(done.documents[0], done.part): done for done in _noted(attempts, job) if done.part}


def _noted(attempts: Path, job: str) -> Iterator[Done]:
    _check_ours(attempts)
    for file in sorted(attempts.glob(f"*/{_DONE}")):
        with file.open("rb") as stream:
            done: Done = pickle.load(stream)
        if done.job == job:
            yield done


def _check_ours(attempts: Path) -> None:
    """Makes sure that nobody else can have written notes: reading them may run what they say.

    Raises:
        ExtractError: The directory belongs to somebody else, or others may write to it.
    """
    facts = os.lstat(attempts)
    ours = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
    if not (stat.S_ISDIR(facts.st_mode) and ours and not facts.st_mode & 0o022):
        reason = f"{attempts} is not a directory that only we can write to"
        raise ExtractError(reason, "remove it: there is nothing in it to resume from")
