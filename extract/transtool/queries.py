"""Normalises subscriptions one after the other, and returns an outcome for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.schema.model import Schema
from extract.subscriptions import Subscription, Subscriptions
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalForm, Normaliser
from extract.xpath.ast import Expr
from extract.xpath.check import parse_checked
from extract.xpath.later import FIRST, parse_later


@dataclass(frozen=True, slots=True)
class NormalQuery:
    """One subscription after normalisation.

    Attributes:
        subscription: The subscription.
        form: Its normal form; None if it is rejected, or in a later version of XPath.
        error: Why it is rejected; None if it is not.
        same_as: Id of the first subscription with the same normal form; None if this is the first.
        namespaces: The prefixes that the normal form uses.
    """

    subscription: Subscription
    form: NormalForm | None
    error: QuerySyntaxError | None
    same_as: str | None
    namespaces: dict[str, str]

    @property
    def status(self) -> Literal["normal", "unsatisfiable", "later", "rejected"]:
        """Its outcome in one word."""
        if self.form is None:
            return "later" if self.error is None else "rejected"
        return "normal" if self.form.branches else "unsatisfiable"

    def to_json(self) -> dict[str, Any]:
        """Returns the query as plain values: one line of ``extract trans``."""
        head: dict[str, Any] = {
            "id": self.subscription.id,
            "xpath": self.subscription.xpath,
            "status": self.status,
        }
        if self.error is not None:
            error = self.error
            return head | {
                "error": error.reason,
                "hint": error.hint,
                "line": error.line,
                "column": error.column,
                "offset": error.offset,
            }
        if self.form is None:
            return head | {"version": self.subscription.version, "namespaces": self.namespaces}
        reasons = dict.fromkeys(part.reason for part in self.form.branches if part.reason)
        return head | {
            "type": self.form.type.value,
            "normal": self.form.xpath,
            "branches": [
                {
                    "xpath": part.xpath,
                    "prefix": "/" + "/".join(part.prefix),
                    "residual": part.residual,
                    "reason": part.reason,
                }
                for part in self.form.branches
            ],
            "rules": list(self.form.rules),
            "potpourri": list(reasons),
            "unsatisfiable": self.form.unsatisfiable or None,
            "same_as": self.same_as,
            "namespaces": self.namespaces,
        }


class Translation(NamedTuple):
    """One subscription in the common prefixes, and its normal form.

    Attributes:
        bound: The query in the common prefixes; None if it is rejected, or in a later version of
            XPath, which has no normal form.
        form: Its normal form; None for the same reasons.
        error: Why it is rejected; None if it is not.
    """

    bound: Expr | None
    form: NormalForm | None
    error: QuerySyntaxError | None = None


def translate(
    normaliser: Normaliser,
    subscription: Subscription,
    source: str = "",
    limits: Limits | None = None,
) -> Translation:
    """Parses, binds and normalises one subscription.

    Args:
        normaliser: The normaliser that all subscriptions share.
        subscription: The subscription.
        source: The file of the subscription, for error messages.
        limits: The largest length and depth of a query.
    """
    try:
        parsed = parse_query(subscription, source, limits)
    except QuerySyntaxError as error:
        return Translation(None, None, error)
    if parsed is None:
        return Translation(None, None)
    bound = normaliser.prefixes.bind(parsed, subscription.namespaces)
    return Translation(bound, normaliser.normalise(bound))


def parse_query(
    subscription: Subscription, source: str = "", limits: Limits | None = None
) -> Expr | None:
    """Parses one subscription.

    Args:
        subscription, source, limits: As for `translate`.

    Returns:
        The query; None if it is in a later version of XPath.

    Raises:
        QuerySyntaxError: It cannot be evaluated.
    """
    try:
        if subscription.version != FIRST:
            parse_later(subscription.xpath, subscription.version, subscription.namespaces, limits)
            return None
        return parse_checked(subscription.xpath, subscription.namespaces, limits)
    except QuerySyntaxError as error:
        raise error.at(source, subscription.line, subscription.column) from None


def own_prefixes(subscription: Subscription) -> dict[str, str]:
    """Returns the bindings of a query that keeps its own prefixes, without unused ones."""
    bound = subscription.namespaces.items()
    return {prefix: uri for prefix, uri in bound if f"{prefix}:" in subscription.xpath}


def normalise_all(
    schema: Schema,
    subscriptions: Subscriptions,
    expansion: Expansion | None = None,
    limits: Limits | None = None,
) -> Iterator[NormalQuery]:
    """Normalises the subscriptions in their order; a rejected one does not stop the others."""
    normaliser = Normaliser(schema, limits=expansion)
    prefixes = normaliser.prefixes
    first: dict[bytes, str] = {}
    for subscription in subscriptions:
        _, form, error = translate(normaliser, subscription, subscriptions.source, limits)
        if form is None:
            own = {} if error is not None else own_prefixes(subscription)
            yield NormalQuery(subscription, None, error, None, own)
            continue
        text = form.xpath
        same_as = None
        if form.branches:
            # The text itself may be long; its digest is enough to compare 100,000 queries.
            digest = blake2b(text.encode(), digest_size=16).digest()
            first_id = first.setdefault(digest, subscription.id)
            same_as = None if first_id == subscription.id else first_id
        used = {p: uri for p, uri in prefixes.table.items() if f"{p}:" in text}
        yield NormalQuery(subscription, form, None, same_as, used)
