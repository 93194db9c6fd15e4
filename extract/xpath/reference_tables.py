"""``table('watchlist', 'symbol')``: the values of a column of a table of the owner's.

``/stock[symbol = table('watchlist', 'symbol')]`` holds where some ``symbol`` equals some value of
the column, as a comparison of two node sets does. The table lies in the database of the
subscriptions, and its rows may change at any time; so such a query has an answer only where a
database matches, and it is registered only in a database that has the table. It is written as a
function with literal arguments, so that it is an XPath to everybody who only reads it, as `id()`
is, and it can stand on one side of ``=`` and nowhere else: ``!=`` of two sets is hardly ever what
is meant, and ``not(symbol = table(...))`` says the other thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from extract.errors import QuerySyntaxError
from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    StringLiteral,
    Union,
)
from extract.xpath.mentions import Parsed
from extract.xpath.traverse import children

TABLE: Final = "table"
_HINT: Final = "write it as in /stock[symbol = table('watchlist', 'symbol')]"


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes:
        table: The table, perhaps with its schema before it.
        column: The column.
    """

    table: str
    column: str


KnownTables: TypeAlias = Callable[[TableColumn], bool]
"""Says whether the database that a query is registered in has a column of a table."""


def no_tables(column: TableColumn) -> bool:
    """The tables where no database is: none."""
    return False


def table_column(expr: Expr) -> TableColumn | None:
    """The column that an expression stands for; None if it is something else.

    >>> from extract.xpath.parser import parse
    >>> table_column(parse("table('watchlist', 'symbol')"))
    TableColumn(table='watchlist', column='symbol')
    """
    if not isinstance(expr, FunctionCall) or expr.prefix or expr.name != TABLE:
        return None
    names = [one.value for one in expr.arguments if isinstance(one, StringLiteral)]
    return TableColumn(*names) if len(names) == len(expr.arguments) == 2 else None


def compared_column(expr: Binary) -> tuple[Expr, TableColumn] | None:
    """The path of ``path = table(...)``, and the column; None for another comparison."""
    if expr.op == "=":
        for path, other in ((expr.left, expr.right), (expr.right, expr.left)):
            column = table_column(other)
            if column is not None and isinstance(path, (LocationPath, FilterPath, Union)):
                return path, column
    return None


def table_columns(expr: Expr) -> Iterator[TableColumn]:
    """The columns that an expression mentions."""
    column = table_column(expr)
    if column is not None:
        yield column
    for inner in children(expr):
        yield from table_columns(inner)


def check_tables(parsed: Parsed, tables: KnownTables) -> None:
    """Checks that columns of tables are there, and are compared with paths and nothing else.

    Raises:
        QuerySyntaxError: One is not.
    """
    calls = [(at, call) for at, call in parsed.functions if call.name == TABLE and not call.prefix]
    columns = [(mention.offset, table_column(call)) for mention, call in calls]
    for offset, column in columns:
        if column is None or not all(column):
            reason = "table() takes the name of a table and that of a column, in quotes"
            raise QuerySyntaxError(reason, _HINT, xpath=parsed.xpath, offset=offset)
    if calls and _mentioned(parsed.expr) > _compared(parsed.expr):
        reason = "table() can only be compared with a path, by ="
        raise QuerySyntaxError(reason, _HINT, xpath=parsed.xpath, offset=columns[0][0])
    for offset, column in columns:
        if column is not None and not tables(column):
            reason = f"there is no table {column.table!r} with a column {column.column!r}"
            hint = "make it, then add the query: an XPath in a database of subscriptions"
            raise QuerySyntaxError(reason, hint, xpath=parsed.xpath, offset=offset)


def _mentioned(expr: Expr) -> int:
    return sum([1 for _ in table_columns(expr)])


def _compared(expr: Expr) -> int:
    here = isinstance(expr, Binary) and compared_column(expr) is not None
    return here + sum(map(_compared, children(expr)))
