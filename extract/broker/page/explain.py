"""What a query looks at under a feed's schema: in words, and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from extract.broker.wording import over_http
from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.pipeline import prepare
from extract.preptool.explain.query_picture import query_svg
from extract.preptool.explain.query_report import explain_query
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscription, Subscriptions
from extract.xscl import parse_xscl

_LONGEST_PICTURE: Final = 400_000  # characters; a larger one nobody looks at


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of a query before it is subscribed.

    Attributes:
        status: ``satisfiable``, ``unsatisfiable`` under the feed's schema, or ``rejected``.
        reason: Why it matches nothing, or cannot be evaluated; empty if it may match.
        hint: Names that it may have meant, or what to do.
        words: The report of ``extract explain``.
        picture: The same as SVG; empty if it would be too large.
        offset: Where in the query something is wrong, from 0; -1 when it is about the whole.
    """

    status: str
    reason: str
    hint: str
    words: str = ""
    picture: str = ""
    offset: int = -1

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "status": self.status,
            "reason": over_http(self.reason),
            "hint": over_http(self.hint),
            "words": over_http(self.words),
            "picture": self.picture,
            "offset": self.offset,
        }


def scheme_of(schema: Schema, query: Subscription, limits: Limits) -> Scheme:
    """The scheme of one query.

    Raises:
        QuerySyntaxError: It cannot be evaluated.
    """
    scheme = prepare(schema, Subscriptions.of([query]), 1, limits=limits)
    for wrong in scheme.rejected:
        raise QuerySyntaxError(wrong.reason, wrong.hint, "", 0, 0, query.xpath, wrong.offset)
    return scheme


def explain_text(schema: Schema, query: Subscription, limits: Limits) -> Explanation:
    """Explains a query under a schema; also why it cannot be evaluated.

    >>> told = explain_text(Schema.none(), Subscription("q", "//a[b = 1]"), Limits())
    >>> told.status, told.picture[:4]
    ('satisfiable', '<svg')
    """
    try:
        scheme = scheme_of(schema, query, limits)
    except QuerySyntaxError as error:
        return Explanation("rejected", error.reason, error.hint, offset=error.offset)
    report = explain_query(scheme, query.id)
    picture = query_svg(scheme, query.id)
    return Explanation(
        report.status,
        report.reason if report.status != "satisfiable" else "",
        report.hint,
        str(report),
        picture if len(picture) <= _LONGEST_PICTURE else "",
    )


def explain_join(query: Subscription, limits: Limits) -> Explanation:
    """Explains a join: which streams it reads, and what it compares; or why it is none.

    >>> text = "a//order->x[id->y] JOIN{y=v, 60} b//invoice->z[order->v]"
    >>> print(explain_join(Subscription("q", text), Limits()).words)
    reads: a, b
    compares: y=v
    window: 60
    left: a//order->x[id->y]
    right: b//invoice->z[order->v]
    """
    try:
        join = parse_xscl(query.xpath, query.namespaces, limits)
    except QuerySyntaxError as error:
        return Explanation("rejected", error.reason, error.hint, offset=error.offset)
    lines = [
        f"reads: {', '.join(sorted(join.streams))}",
        f"compares: {', '.join(map(str, join.equalities))}",
        f"window: {join.window}",
        f"left: {join.left}",
        f"right: {join.right}",
    ]
    if join.publish:
        lines.append(f"publishes: {join.publish}")
    return Explanation("satisfiable", "", "", "\n".join(lines))
