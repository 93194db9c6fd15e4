"""Normalises subscriptions, template by template, and returns an outcome for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.schema.model import Schema
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.flwr_queries import FLWR, as_xpath
from extract.subscriptions.wordings import Wordings
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalForm, Normaliser
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.template_resolver import TemplateResolver
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


def check_later(subscription: Subscription, limits: Limits | None = None) -> None:
    """Makes sure that a subscription in a later version of XPath can be evaluated.

    Args:
        subscription: The subscription.
        limits: The largest length of a query.

    Raises:
        QuerySyntaxError: It cannot.
    """
    parse_later(subscription.xpath, subscription.version, subscription.namespaces, limits)


def check_query(subscription: Subscription, source: str = "", limits: Limits | None = None) -> None:
    """Makes sure that a subscription can be evaluated.

    Args:
        subscription: The subscription.
        source: The file of the subscription, for error messages.
        limits: The largest length and depth of a query.

    Raises:
        QuerySyntaxError: It cannot.
    """
    try:
        subscription = as_xpath(subscription, limits)
        if subscription.version == FLWR:
            return
        if subscription.version != FIRST:
            check_later(subscription, limits)
        else:
            parse_checked(subscription.xpath, subscription.namespaces, limits)
    except QuerySyntaxError as error:
        raise error.at(source, subscription.line, subscription.column) from None


def own_prefixes(subscription: Subscription) -> dict[str, str]:
    """Returns the bindings of a query that keeps its own prefixes, without unused ones."""
    return used_prefixes(subscription.xpath, subscription.namespaces)


def used_prefixes(text: str, namespaces: Mapping[str, str]) -> dict[str, str]:
    """Returns the bindings without those of prefixes that a text does not use."""
    return {prefix: uri for prefix, uri in namespaces.items() if f"{prefix}:" in text}


def normalise_all(
    schema: Schema,
    subscriptions: Subscriptions,
    expansion: Expansion | None = None,
    limits: Limits | None = None,
) -> Iterator[NormalQuery]:
    """Normalises the subscriptions in their order; a rejected one does not stop the others.

    Each template is normalised once, and its form filled with the constants of each member.
    """
    normaliser = Normaliser(schema, limits=expansion)
    prefixes = normaliser.prefixes
    forms: list[NormalForm] = []

    def add(xpath: str, form: NormalForm) -> int:
        forms.append(form)
        return len(forms) - 1

    def normalise(query: Expr, constants: Sequence[str]) -> tuple[NormalForm, Sequence[Expr]]:
        return normaliser.normalise(query, constants), normaliser.exprs

    resolver = TemplateResolver(prefixes, normalise, add)
    wordings = Wordings(resolver, limits, lambda column: True)  # nothing is registered here
    first: dict[bytes, str] = {}
    for subscription in subscriptions:
        try:
            query = as_xpath(subscription, limits)
            if query.version != FIRST:
                if query.version != FLWR:
                    check_later(query, limits)
                own = replace(subscription, version=query.version)
                yield NormalQuery(own, None, None, None, own_prefixes(subscription))
                continue
            code, constants = wordings.read(query.xpath, query.namespaces)
        except QuerySyntaxError as error:
            located = error.at(subscriptions.source, subscription.line, subscription.column)
            yield NormalQuery(subscription, None, located, None, {})
            continue
        form = forms[wordings.template_of(code)].filled(constants)
        if code in wordings.relative:
            form = replace(form, rules=tuple(sorted([*form.rules, make_absolute.__name__])))
        text = form.xpath
        same_as = None
        if form.branches:
            # The text itself may be long; its digest is enough to compare 100,000 queries.
            digest = blake2b(text.encode(), digest_size=16).digest()
            first_id = first.setdefault(digest, subscription.id)
            same_as = None if first_id == subscription.id else first_id
        used = {p: uri for p, uri in prefixes.table.items() if f"{p}:" in text}
        yield NormalQuery(subscription, form, None, same_as, used)
