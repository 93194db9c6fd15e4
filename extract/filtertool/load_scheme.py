"""Loads a scheme as a matcher needs it."""

from __future__ import annotations

from pathlib import Path

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import SQL
from extract.scheme.database import is_database
from extract.scheme.model import Scheme


def scheme_for(matcher: str, path: str | Path, select: Select, spark: bool = False) -> Scheme:
    """Loads a scheme for a matcher: members that the matcher ``sql`` finds stay in their database.

    Args:
        matcher: The name of the matcher.
        path: The file, or the URL of a database.
        select: What is asked for.
        spark: Whether Spark matches.

    Raises:
        SchemeError: It cannot be read.
    """
    if matcher != SQL or not is_database(path) or select == "output":
        return Scheme.load(path)
    from extract.filtertool.sql_scheme import open_sql_scheme

    return open_sql_scheme(str(path), select, members=spark)
