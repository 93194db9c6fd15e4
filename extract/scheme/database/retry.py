"""Work on a database that is done again when the connection to it was lost.

Only what has committed nothing is done again, and only where there was a connection: a server that
was never there is an error at once. One that starts again has some seconds for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from extract.scheme.database.errors import LostConnection, NoConnection, UncertainCommit

PAUSES: Final = (0.05, 0.5, 2.0, 5.0, 10.0)  # seconds before each further attempt
_T = TypeVar("_T")


def again_when_lost(work: Callable[[], _T]) -> _T:
    """Does something, and does it again from its start if the connection was lost meanwhile.

    Args:
        work: What to do; it connects by itself, and commits at its end or not at all.

    Raises:
        LostConnection: The server did not come back, or was lost in the moment of the commit.
    """
    try:
        return work()
    except (NoConnection, UncertainCommit):
        raise
    except LostConnection as error:
        return once_more(work, error)


def once_more(work: Callable[[], _T], error: LostConnection) -> _T:
    """Does something after the connection was lost, as soon as the server is there again.

    Raises:
        LostConnection: The server did not come back.
    """
    for pause in PAUSES:
        time.sleep(pause)
        try:
            return work()
        except UncertainCommit:
            raise
        except LostConnection as another:
            error = another
    raise error
