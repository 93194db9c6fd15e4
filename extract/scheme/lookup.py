"""Finding a query by its id, and what to say if there is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

from extract.errors import SchemeError

_MOST = 10_000  # ids that are compared; more take seconds


def no_such_query(identifier: str, ids: Iterable[str]) -> SchemeError:
    """The error about an id that a scheme does not have, with those that are most like it.

    >>> print(no_such_query("nam", ["names", "mail"]))
    the scheme has no query 'nam'
    Hint: did you mean 'names'?
    """
    near = difflib.get_close_matches(identifier, islice(ids, _MOST), 3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "the ids are case-sensitive"
    return SchemeError(f"the scheme has no query {identifier!r}", hint)
