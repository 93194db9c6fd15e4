"""The tables of a scheme in a database, and the views on them: documented, and stable.

``docs/database.md`` describes them to users. A change needs another `VERSION` and a step in
`extract.scheme.database.migrations`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pyarrow as pa

VERSION: Final = 1

_INT, _LONG, _TEXT, _DOUBLE = pa.int32(), pa.int64(), pa.string(), pa.float64()
_TIME = pa.timestamp("us", "UTC")
_SQL: Final = {
    _INT: "INTEGER",
    _LONG: "BIGINT",
    _TEXT: 'TEXT COLLATE "C"',
    _DOUBLE: "DOUBLE PRECISION",
    _TIME: "TIMESTAMP WITH TIME ZONE",
    pa.list_(_INT): "INTEGER[]",
    pa.list_(_TEXT): 'TEXT[] COLLATE "C"',
    pa.list_(_DOUBLE): "DOUBLE PRECISION[]",
}


class TableSpec(NamedTuple):
    """A table.

    Attributes:
        name: Its name.
        columns: Its columns: a ``pyarrow.Schema``. A column that may be null is nullable.
        json: Those of its columns that are JSON.
        key: The column that is different in every row.
    """

    name: str
    columns: Any
    json: frozenset[str]
    key: str

    def create(self) -> str:
        """The statement that makes it, in PostgreSQL's SQL."""
        parts = []
        for one in self.columns:
            kind = "JSON" if one.name in self.json else _SQL[one.type]
            parts.append(f"{one.name} {kind}" + ("" if one.nullable else " NOT NULL"))
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def _table(name: str, key: str, json: str = "", /, **columns: Any) -> TableSpec:
    """A table; a column whose name ends in ``_`` may be null."""
    fields = [
        pa.field(column.removesuffix("_"), kind, nullable=column.endswith("_"))
        for column, kind in columns.items()
    ]
    return TableSpec(name, pa.schema(fields), frozenset(json.split()), key)


# One row: which scheme this is. Everybody who changes anything gives it another revision.
SCHEME: Final = _table(
    "scheme",
    "identity",
    schema_version=_INT,
    identity=_TEXT,
    revision=_LONG,
    logged_from=_LONG,
    schema_source=_TEXT,
    schema_digest=_TEXT,
)
REVISION: Final = _table(
    "revision", "number", number=_LONG, made=_TIME, action=_TEXT, added=_LONG, removed=_LONG
)
PART: Final = _table("part", "name", "value", name=_TEXT, value=_TEXT)
BRANCH: Final = _table("branch", "number", number=_INT, xpath=_TEXT, steps=_INT)
TEMPLATE: Final = _table(
    "template",
    "number",
    number=_INT,
    xpath=_TEXT,
    type=_TEXT,
    branches=pa.list_(_INT),
    arguments=pa.list_(_INT),
    unsatisfiable_=_TEXT,
)
WORDING: Final = _table("wording", "number", number=_INT, template=_INT, parts=pa.list_(_TEXT))
CHUNK: Final = _table(
    "chunk",
    "id",
    "detail",
    id=_TEXT,
    position=_INT,
    prefix=_TEXT,
    branches=pa.list_(_INT),
    detail=_TEXT,
)
MEMBER: Final = _table(
    "member",
    "id",
    "metadata",
    seq=_LONG,
    id=_TEXT,
    template=_INT,
    wording_=_INT,
    constants=pa.list_(_TEXT),
    numbers=pa.list_(_DOUBLE),
    weight=_DOUBLE,
    metadata_=_TEXT,
    revision=_LONG,
)
LATER: Final = _table(
    "later", "id", "detail", id=_TEXT, position=_LONG, xpath=_TEXT, version=_TEXT, detail=_TEXT
)
REJECTED: Final = _table(
    "rejected", "id", "detail", id=_TEXT, position=_LONG, xpath=_TEXT, reason=_TEXT, detail=_TEXT
)
REMOVAL: Final = _table("removal", "", revision=_LONG, id=_TEXT)

HEAD: Final = (PART, BRANCH, TEMPLATE, WORDING, CHUNK, LATER, REJECTED)
TABLES: Final = (SCHEME, REVISION, *HEAD, MEMBER, REMOVAL)

VIEWS: Final = {
    "subscription": (
        "SELECT m.id, CASE WHEN t.unsatisfiable IS NULL THEN 'satisfiable' ELSE 'unsatisfiable' END"
        " AS status, t.xpath, m.constants, m.template, m.weight, m.metadata, m.revision"
        " FROM member AS m JOIN template AS t ON t.number = m.template"
    ),
    "constant_value": (
        "SELECT m.id, m.template, GENERATE_SUBSCRIPTS(m.constants, 1) AS parameter,"
        " UNNEST(m.constants) AS text, UNNEST(m.numbers) AS number FROM member AS m"
    ),
    "canonical_query": (
        "SELECT m.template, t.xpath, m.constants, COUNT(*) AS subscribers"
        " FROM member AS m JOIN template AS t ON t.number = m.template"
        " GROUP BY m.template, t.xpath, m.constants"
    ),
    "template_size": (
        "SELECT t.number AS template, t.xpath, COUNT(m.seq) AS subscribers"
        " FROM template AS t LEFT JOIN member AS m ON m.template = t.number"
        " GROUP BY t.number, t.xpath"
    ),
}

# DuckDB has none: its indexes refuse a key that the same transaction has removed, and joins there
# do not need them. The hash is for constants that are too long for an index.
POSTGRESQL_INDEXES: Final = (
    "CREATE UNIQUE INDEX member_id ON member (id)",
    "CREATE UNIQUE INDEX member_seq ON member (seq)",
    "CREATE INDEX member_constant ON member (template, hashtextextended(constants[1], 0))",
    "CREATE INDEX member_revision ON member (revision)",
    "CREATE UNIQUE INDEX template_number ON template (number)",
    "CREATE UNIQUE INDEX branch_number ON branch (number)",
)
