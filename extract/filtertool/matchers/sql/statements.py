"""One statement for each shape, as an expression tree of sqlglot: DuckDB, PostgreSQL, Spark SQL.

The paper's unrolled plan: a row of the batch has the values of one context, a row of the members
all constants of one subscription. They meet by an equality, if there is one; the other comparisons
are checked on the pair. Values and constants are in tables, never in the text of a statement.
"""

from __future__ import annotations

from typing import Any, Final

from extract.filtertool.matchers.push.conditions import Operator
from extract.filtertool.matchers.sql.formulas import (
    ColumnComparison,
    EveryOf,
    Flag,
    Formula,
    InTable,
    MatchShape,
    OneOf,
    Opposite,
    Role,
)

BATCH: Final = "v"
MEMBERS: Final = "m"
ALTERNATIVES: Final = 1 << 20  # more frames than a template has: they are numbered together
_OPERATORS: Final = {
    Operator.EQ: "EQ",
    Operator.NE: "NEQ",
    Operator.LT: "LT",
    Operator.LE: "LTE",
    Operator.GT: "GT",
    Operator.GE: "GTE",
}


def match_sql(
    shape: MatchShape,
    lists: frozenset[int],
    batch: str,
    members: str,
    dialect: str,
    references: Any = None,
    single: bool = False,
) -> str:
    """The statement that finds the members of a shape that match a batch.

    It gives ``document`` and ``seq``, at times the same pair more than once.

    Args:
        shape: The shape.
        lists: Sources whose columns have lists.
        batch, members: The names of the tables.
        dialect: The SQL, as sqlglot calls it.
        references: Returns the table and the column for an `InTable`.
        single: Whether all rows are of one frame.
    """
    from sqlglot import exp

    writer = _FormulaWriter(shape, lists, dialect, references)
    on: list[Any] = []
    if not single:
        on.append(exp.EQ(this=_column(BATCH, "frame"), expression=_column(MEMBERS, "frame")))
    key = shape.key
    if key is not None:
        on.append(writer.written(key))
        if dialect == "postgres" and shape.constants[key.constant]:
            # Long texts do not fit into an index; their hashes do.
            sides = [_hash(_column(MEMBERS, constant_name(key.constant)))]
            sides.append(_hash(_column(BATCH, source_name(key.source))))
            on.append(exp.EQ(this=sides[0], expression=sides[1]))
    rest = [part for number, part in enumerate(shape.formula.parts) if number != shape.access]
    query = (
        exp.select(_column(BATCH, "document"), _column(MEMBERS, "seq"))
        .from_(exp.alias_(exp.to_table(batch), BATCH, table=True))
        .join(
            exp.alias_(exp.to_table(members), MEMBERS, table=True),
            on=exp.and_(*on) if on else exp.true(),
        )
    )
    if rest:
        query = query.where(exp.and_(*[writer.written(part) for part in rest]))
    text: str = query.sql(dialect=dialect, identify=True)
    return text


def source_name(number: int) -> str:
    """The name of a batch's column."""
    return f"x{number}"


def several_name(number: int) -> str:
    """The name of the column that says whether there is another value."""
    return f"more{number}"


def constant_name(number: int) -> str:
    """The name of a members' column."""
    return f"c{number}"


def _column(table: str, name: str) -> Any:
    from sqlglot import exp

    return exp.column(name, table, quoted=True)


def _hash(column: Any) -> Any:
    from sqlglot import exp

    return exp.Anonymous(this="HASHTEXTEXTENDED", expressions=[column, exp.Literal.number(0)])


class _FormulaWriter:
    """Writes formulas as expressions."""

    def __init__(
        self, shape: MatchShape, lists: frozenset[int], dialect: str, references: Any
    ) -> None:
        self._shape = shape
        self._lists = lists
        self._dialect = dialect
        self._references = references

    def written(self, formula: Formula) -> Any:
        from sqlglot import exp

        match formula:
            case EveryOf(parts):
                return exp.and_(*map(self.written, parts)) if parts else exp.true()
            case OneOf(parts):
                return exp.paren(exp.or_(*map(self.written, parts)))
            case Opposite(part):  # what compares with null does not hold
                inner = exp.func("COALESCE", self.written(part), exp.false())
                return exp.not_(inner)
            case Flag(source):
                return _column(BATCH, source_name(source))
            case InTable():
                return self._in_table(formula)
            case ColumnComparison():
                return self._comparison(formula)

    def _comparison(self, comparison: ColumnComparison) -> Any:
        from sqlglot import exp

        operator, source, number = comparison
        value, constant = (
            _column(BATCH, source_name(source)),
            _column(MEMBERS, constant_name(number)),
        )
        if source in self._lists:
            return (
                exp.ArrayContains(this=value, expression=constant)
                if (self._dialect != "postgres")
                else exp.EQ(this=constant, expression=exp.Any(this=exp.paren(value)))
            )
        if operator is Operator.BEGINS:
            return exp.StartsWith(this=value, expression=constant)
        if operator is Operator.HAS:
            place = exp.StrPosition(this=value, substr=constant)
            return exp.GT(this=place, expression=exp.Literal.number(0))
        plain = getattr(exp, _OPERATORS[operator])(this=value, expression=constant)
        if self._shape.sources[source][0] is Role.OTHER:
            return exp.paren(exp.or_(plain, _column(BATCH, several_name(source))))
        return plain

    def _in_table(self, formula: InTable) -> Any:
        from sqlglot import exp

        table, column = self._references(formula)
        value = _column(BATCH, source_name(formula.source))
        if formula.source not in self._lists:
            chosen = exp.select(column).from_(table)
            return exp.In(this=value, query=exp.Subquery(this=chosen))
        own = exp.column(column.name, "r", quoted=True)
        contains: Any = exp.ArrayContains(this=value, expression=own)
        if self._dialect == "postgres":
            contains = exp.EQ(this=own, expression=exp.Any(this=exp.paren(value)))
        inner = exp.select("1").from_(exp.alias_(table, "r", table=True)).where(contains)
        return exp.Exists(this=inner)
