"""Reports on one query of a scheme: its chunks with the reasons; in words, and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from extract.preptool.explain.labels import as_path, printable
from extract.preptool.explain.spelling import Spelling
from extract.preptool.footprints.need_counts import NeedCounts
from extract.preptool.footprints.partial_footprints import PartialFootprints
from extract.scheme.lookup import no_such_query
from extract.scheme.model import Branch, Chunk, Scheme, Want
from extract.scheme.registered import Later, Rejected, Subscriber
from extract.scheme.spine import take_apart
from extract.subscriptions.flwr_queries import FLWR
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import Normaliser
from extract.transtool.prefixes import Prefixes
from extract.xpath.functions import Type
from extract.xpath.later import FIRST
from extract.xpath.parser import parse

NEEDS = {
    "node": "the tag",
    "children": "the tag and all children",
    "string": "the text",
    "children+string": "the text and all children",
    "subtree": "all of it",
}


@dataclass(frozen=True, slots=True)
class BranchReport:
    """The chunk of one branch of a query, with the reason.

    Attributes:
        xpath: The branch.
        chunk: Id of the chunk.
        why: Why it belongs there.
        residual: Why the branch does not end with plain child steps; empty if it does.
        needs: Its needs; in a chunk only those outside of the chunk's subtrees.
        steps: The number of plain child steps that it begins with.
    """

    xpath: str
    chunk: str
    why: str
    residual: str = ""
    needs: tuple[Want, ...] = ()
    steps: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        return {
            "xpath": self.xpath,
            "chunk": self.chunk,
            "why": self.why,
            "residual": self.residual,
            "needs": [{"path": path, "need": need.word} for path, need in self.needs],
        }


@dataclass(frozen=True, slots=True)
class QueryReport:
    """The report on one subscription.

    Attributes:
        id: Its id.
        xpath: The query as written.
        status: Its outcome in a word.
        reason: Why it cannot match, or was rejected, and what to do about it; for a query in XPath
            2.0 or later, where it is evaluated.
        absolute: The query in canonical form; empty if it was rejected.
        type: The type of its result.
        same: Ids of the other subscriptions with the same normal form.
        branches: Its normal form, branch by branch.
        version: The version of XPath.
        language: What it is written in, with the version.
        output: Whether it is FLWR; then ``absolute`` is what it binds.
        hint: Corrections for names that the schema does not have.
        template: Its template, where a constant is a variable; empty if it has no template.
        members: The number of queries of that template.
    """

    id: str
    xpath: str
    status: Literal["satisfiable", "unsatisfiable", "rejected"]
    reason: str = ""
    absolute: str = ""
    type: str = Type.NODES.value
    same: tuple[str, ...] = ()
    branches: tuple[BranchReport, ...] = field(default=())
    version: str = FIRST
    language: str = "XPath"
    output: bool = False
    hint: str = ""
    template: str = ""
    members: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        return {
            "id": self.id,
            "xpath": self.xpath,
            "status": self.status,
            "reason": self.reason,
            "hint": self.hint,
            "absolute": self.absolute,
            "type": self.type,
            "version": self.version,
            "output": self.output,
            "same": list(self.same),
            "template": self.template,
            "members": self.members,
            "branches": [branch.to_json() for branch in self.branches],
        }

    def __str__(self) -> str:
        return "\n".join(map(printable, self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"query {self.id}: {self.xpath}"
        if self.absolute not in ("", self.xpath):
            yield f"{'it binds' if self.output else 'that is'}: {self.absolute}"
        if self.status == "rejected":
            yield f"rejected: {self.reason}"
        elif self.status == "unsatisfiable":
            yield f"cannot match any document that keeps to the schema: {self.reason}"
        elif self.reason:
            yield f"in {self.language}: {self.reason}"
        elif len(self.branches) > 1:
            yield f"normal form: the union of {len(self.branches):,} branches"
        if self.hint:
            yield f"Hint: {self.hint}"
        if self.same:
            yield f"the same normal form as: {_some(self.same)}"
        if self.members > 1 and self.template != self.absolute:
            yield f"one of {self.members:,} queries like {self.template}"
        for branch in self.branches:
            yield ""
            yield f"  {branch.xpath}"
            yield f"    {branch.why}"
            if branch.residual:
                yield f"    keeps its tail: {branch.residual}"
            for path, need in branch.needs:
                shown = path.replace("/descendant-or-self::*/", "//")
                yield f"    needs {shown}: {NEEDS[need.word]}"


def explain_query(scheme: Scheme, identifier: str) -> QueryReport:
    """Reports on a subscription: its outcome, and why.

    Raises:
        SchemeError: The scheme has no such subscription.
    """
    row = scheme.directory.find(identifier)
    if row >= 0:
        return _explain_member(scheme, row)
    for later in scheme.later:
        if later.subscriber.id == identifier:
            return _explain_later(later)
    for rejected in scheme.rejected:
        if rejected.id == identifier:
            return _explain_rejected(rejected)
    raise no_such_query(identifier, scheme.directory.ids)


def _explain_rejected(query: Rejected) -> QueryReport:
    hint = f" ({query.hint})" if query.hint else ""
    return QueryReport(query.id, query.xpath, "rejected", query.reason + hint)


def _explain_later(query: Later) -> QueryReport:
    own = query.subscriber
    flwr = query.version == FLWR
    by, type_ = ("lxml", Type.NODES.value) if flwr else ("elementpath", "items")
    return QueryReport(
        own.id,
        own.xpath,
        "satisfiable",
        f"evaluated by {by}, as it is, on the whole document",
        own.xpath,
        type_,
        version=query.version,
        language=query.language,
        output=flwr,
    )


def _explain_member(scheme: Scheme, row: int) -> QueryReport:
    directory = scheme.directory
    own, template = directory.subscriber(row), int(directory.templates[row])
    shared = QueryReport(
        own.id,
        own.xpath,
        "unsatisfiable",
        directory.reason(row),
        own.absolute,
        output=own.id in scheme.outputs,
        hint=Spelling(scheme.schema, scheme.namespaces).of(own.absolute),
        template=scheme.templates.xpaths[template],
        members=int(np.count_nonzero(directory.templates == template)),
    )
    if scheme.templates.forms[template] < 0:
        return shared
    canonical = directory.canonical
    others = canonical.members(int(canonical.of_members[row]))
    return replace(
        shared,
        status="satisfiable",
        type=scheme.forms[scheme.templates.forms[template]].type.value,
        same=tuple([scheme.members.ids.text(other) for other in others.tolist() if other != row]),
        branches=tuple(_branches(scheme, row, own)),
    )


def _branches(scheme: Scheme, row: int, subscriber: Subscriber) -> Iterator[BranchReport]:
    form = scheme.forms[int(scheme.directory.forms[row])]
    residuals = _residuals(scheme, subscriber)
    parts = PartialFootprints()
    for number, xpath in zip(form.branches, scheme.directory.branches(row), strict=True):
        branch = Branch(xpath, scheme.branches.steps[number])
        chunk = next(one for one in scheme.every_chunk if number in one.branches)
        partials = parts.of(branch)
        whole = next((partial.beyond.whole for partial in partials if partial.beyond.whole), "")
        needs = () if whole else NeedCounts.of(Counter(partials)).chunk_needs(chunk.prefix).filters
        residual = residuals.get(xpath, "")
        if chunk.prefix:
            why = _why_in_chunk(branch, chunk)
        else:
            why = _why_in_none(form.type, branch, whole, residual)
        tail = residual if branch.steps else ""
        yield BranchReport(xpath, chunk.id, why, tail, needs, branch.steps)


def _why_in_chunk(branch: Branch, chunk: Chunk) -> str:
    path = as_path(take_apart(branch).names)
    if path == chunk.prefix:
        return f"in chunk {chunk.id}, whose prefix is its path {path}"
    return (
        f"in chunk {chunk.id}, whose prefix {chunk.prefix} "
        f"is the longest that its path {path} begins with"
    )


def _why_in_none(kind: Type, branch: Branch, whole: str, residual: str) -> str:
    if whole:
        return f"on the whole document, for {whole}"
    if kind is not Type.NODES:
        return f"in the potpourri: a {kind.value} cannot be put together from chunks"
    if branch.steps:
        path = as_path(take_apart(branch).names)
        return f"in the potpourri: its path {path} begins with the prefix of no chunk"
    return f"in the potpourri: {residual or 'it has no path of plain child steps'}"


def _residuals(scheme: Scheme, subscriber: Subscriber) -> dict[str, str]:
    """Returns for each branch why it has a residual, from a second run of TRANSTOOL."""
    prefixes = Prefixes(dict(scheme.namespaces))
    limits = Expansion.of(scheme.settings.limits)
    form = Normaliser(scheme.schema, prefixes, limits).normalise(parse(subscriber.absolute))
    return {part.xpath: part.reason for part in form.branches}


def _some(ids: tuple[str, ...], most: int = 10) -> str:
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more
