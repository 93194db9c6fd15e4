"""Tables of owners, which queries may join, are known to databases only."""

from __future__ import annotations

import numpy as np

from extract.errors import MatcherError
from extract.scheme.model import Scheme
from extract.xpath.parameters import parse_shape
from extract.xpath.reference_tables import TABLE, table_columns


def refuse_tables(scheme: Scheme, matcher: str) -> None:
    """Makes sure that no query asks for a table.

    Args:
        scheme: The queries.
        matcher: The matcher that would have to answer them.

    Raises:
        MatcherError: One does.
    """
    for template, xpath in enumerate(scheme.templates.xpaths):
        if f"{TABLE}(" not in xpath:
            continue
        for column in table_columns(parse_shape(xpath)):
            rows = np.flatnonzero(scheme.directory.templates == template)
            if len(rows):
                name = scheme.members.ids.text(int(rows[0]))
                reason = (
                    f"the query {name!r} joins the table {column.table!r}, "
                    f"which the matcher {matcher} cannot"
                )
                hint = "use --matcher sql, with the URL of the database that has the table"
                raise MatcherError(reason, hint)
