"""What `extract subs` does around every change: load, revise, write, report."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator

import click

from extract.cli.exclusive import Unchanged, exclusively
from extract.cli.output import write_scheme
from extract.cli.revision import Revision
from extract.limits import Limits
from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from extract.scheme.database import is_database
from extract.scheme.database.store import tables_of


def revise_scheme(
    path: str,
    output: str | None,
    as_json: bool,
    action: str,
    change: Callable[[Reviser, Revision], None],
    limits: Limits | None = None,
) -> int:
    """Changes the subscriptions of a scheme, and reports what was done.

    Args:
        path: The scheme: a file, or the URL of a database.
        output: Where the revised scheme goes; None to replace the old one.
        as_json: Whether to report as JSON.
        action: What the command is called.
        change: Makes the change.
        limits: How large queries may be.

    Returns:
        The exit status.
    """
    started = time.perf_counter()
    if is_database(path) and output in (None, path):
        revision = _in_database(path, action, change, limits)
    else:
        revision = _in_file(path, path if output is None else output, change, limits)
    seconds = time.perf_counter() - started
    text = json.dumps(revision.to_json(seconds)) if as_json else revision.text(seconds)
    click.echo(text, err=True)
    return 1 if revision.rejected else 0


def _in_file(
    path: str, target: str, change: Callable[[Reviser, Revision], None], limits: Limits | None
) -> Revision:
    with _alone(path) as unchanged:
        before = Scheme.load(path)
        reviser, revision = Reviser(before, limits, tables_of(target)), Revision(before)
        change(reviser, revision)
        revision.after = reviser.scheme()
        if unchanged is not None and os.path.realpath(target) == os.path.realpath(path):
            unchanged.check()
        write_scheme(revision.after, target)
    return revision


@contextlib.contextmanager
def _alone(path: str) -> Iterator[Unchanged | None]:
    """Keeps others from a file; a database that is only read needs nothing."""
    if is_database(path):
        yield None
        return
    with exclusively(path):
        yield Unchanged(path)


def _in_database(
    url: str, action: str, change: Callable[[Reviser, Revision], None], limits: Limits | None
) -> Revision:
    from extract.scheme.database.retry import again_when_lost
    from extract.scheme.database.write import scheme_change

    def revise() -> Revision:
        with scheme_change(url) as database:
            before = database.stored.scheme
            reviser, revision = Reviser(before, limits, database.tables), Revision(before)
            change(reviser, revision)
            rows = reviser.rows()
            kept = rows[rows < len(before.members)]
            revision.after = reviser.scheme()
            database.write(revision.after, kept, action)
        return revision

    return again_when_lost(revise)
