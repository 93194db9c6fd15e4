"""A query on a pasted document: what it would match, before anybody subscribes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from extract.broker.page.explain import scheme_of
from extract.broker.wording import over_http
from extract.flwr.parser import is_flwr
from extract.limits import Limits
from extract.live_filter import Filter
from extract.schema.model import Schema
from extract.subscriptions import Subscription
from extract.xpath.later import FIRST

NAME: Final = "pasted"
SHOWN: Final = 50  # rows that are sent back
_LONGEST_VALUE: Final = 10_000  # characters of a value


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a query makes of a document.

    Attributes:
        matches: The first rows, with the keys of a match.
        total: How many there are.
        output: What a FLWR query makes; None if it makes nothing, or is none.
        rejections: What was rejected: the document, or the query on it.
    """

    matches: tuple[dict[str, Any], ...]
    total: int
    output: str | None
    rejections: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "matches": list(self.matches),
            "total": self.total,
            "output": self.output,
            "rejections": list(self.rejections),
        }


def try_query(schema: Schema, query: Subscription, document: bytes, limits: Limits) -> Attempt:
    """Matches one document with one query, within limits of time and memory.

    Raises:
        QuerySyntaxError: The query cannot be evaluated.

    >>> some = try_query(Schema.none(), Subscription("q", "//b"), b"<a><b/><b/></a>", Limits())
    >>> some.total, some.matches[1]["path"]
    (2, '/a[1]/b[2]')
    """
    scheme = scheme_of(schema, query, limits)
    is_output = query.version == FIRST and is_flwr(query.xpath)
    ready = Filter(scheme, "output" if is_output else "nodes", limits=limits)
    table = ready.table([(NAME, document)])
    rejected = ready.rejected.to_pylist()
    rejections = tuple(
        {
            "stage": one["stage"],
            "reason": over_http(one["reason"]),
            "line": one["line"],
            "offset": one["offset"],
        }
        for one in rejected
    )
    if is_output:
        output = table["output"][0].as_py() if table.num_rows else None
        return Attempt((), table.num_rows, _short(output), rejections)
    rows = table.slice(0, SHOWN).to_pylist()
    matches = tuple(
        {key: _short(row[key]) for key in ("node", "name", "path", "value", "start", "end")}
        for row in rows
    )
    return Attempt(matches, table.num_rows, None, rejections)


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return f"{value[:_LONGEST_VALUE]}…"
    return value
