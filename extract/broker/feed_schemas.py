"""The schemas of a feed: versions side by side, or one that is inferred and widens.

Answers do not depend on a schema. It says which documents keep to it, so that others can be
refused, and which queries can match nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from extract.broker.bodies import DocumentReceipt
from extract.broker.store.rows import ArrivedDocument
from extract.broker.wording import over_http
from extract.chunktool.inference.infer import Inference
from extract.errors import DocumentError
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.schema.infer import InferredSchema
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

Refusals = dict[int, DocumentReceipt]
_log: Final = logging.getLogger("extract.broker.feeds")
_ROUNDS: Final = 8  # of widening by one batch


class _Check:
    """Which documents cannot be taken under one schema, or none."""

    def __init__(self, schema: Schema | None, reject: bool, limits: Limits) -> None:
        # With nothing to look for, the scan would not look at what is below the document element.
        queries = {} if schema is None else {"all": "//*"}
        scheme = prepare(schema, Subscriptions.of(queries))
        policy: Any = "reject" if reject else "fallback"
        self._filter = Filter(scheme, on_nonconforming=policy, limits=limits)

    def __call__(self, documents: Mapping[int, bytes]) -> dict[int, dict[str, Any]]:
        """What was rejected, by the place of the document."""
        self._filter.table([(str(place), content) for place, content in documents.items()])
        table = self._filter.rejected
        return {int(row["document"]): row for row in table.to_pylist()} if table.num_rows else {}


class FeedSchemas:
    """What documents of a feed keep to.

    Args:
        versions: The schemas that were given, by version; empty if none was.
        reject: Whether documents that keep to none of them are refused.
        limits: For documents.

    Attributes:
        latest: The last version's schema, or what was inferred; None for any document.
    """

    def __init__(self, versions: Mapping[int, Schema], reject: bool, limits: Limits) -> None:
        self._any = _Check(None, False, limits)
        newest_first = sorted(versions.items(), reverse=True)
        self._versions = {number: _Check(one, True, limits) for number, one in newest_first}
        self._reject = reject
        self.latest: Schema | None = newest_first[0][1] if newest_first else None

    def __call__(self, documents: Sequence[ArrivedDocument]) -> tuple[Refusals, dict[int, int]]:
        """The refusals, and the versions that documents keep to, by the place of the document."""
        left = {place: one.content for place, one in enumerate(documents)}
        kept: dict[int, int] = {}
        reasons: dict[int, dict[str, Any]] = {}
        if not self._versions and not any(one.schema for one in documents):
            return self._refusals(documents, self._any(left)), kept
        for number, check in self._versions.items():
            asked = {
                place: content
                for place, content in left.items()
                if documents[place].schema in (0, number)
            }
            rejected = check(asked) if asked else {}
            for place in asked:
                if place in rejected:
                    reasons.setdefault(place, rejected[place])
                else:
                    kept[place] = number
                    del left[place]
            if not left:
                break
        for place in left:
            if documents[place].schema and documents[place].schema not in self._versions:
                reason = f"the feed has no schema of version {documents[place].schema}"
                reasons[place] = {"reason": reason, "line": None, "offset": None}
        reasons = {place: row for place, row in reasons.items() if place in left}
        damaged = self._any(left) if left else {}
        if self._reject:
            damaged = {**reasons, **damaged}
        else:  # one that says which version it has must keep to it
            strict = {place: row for place, row in reasons.items() if documents[place].schema}
            damaged = {**strict, **damaged}
        return self._refusals(documents, damaged), kept

    def _refusals(
        self, documents: Sequence[ArrivedDocument], rejected: dict[int, dict[str, Any]]
    ) -> Refusals:
        refusals = {}
        for place, row in rejected.items():
            line, column = row["line"] or 1, 1
            if row["offset"] is not None:
                line, column = place_of(documents[place].content, row["offset"])
            name, reason = documents[place].name, over_http(row["reason"])
            refusals[place] = DocumentReceipt(name, 400, reason=reason, line=line, column=column)
        return refusals


class InferredFeed:
    """A schema that is inferred from the documents of a feed, and widens.

    A document that shows an edge, an attribute or text that no other had is evidence; the evidence
    is kept, so that the schema is the same after a restart.

    It has bounds: documents of a stranger may show a new name each. Beyond them it stays as it is;
    answers do not depend on it.

    Args:
        limits: For documents.
        most_names: Elements that it may have.
        most_bytes: Of evidence.

    Attributes:
        result: What was inferred; None if no document has come.
        is_full: Whether it widens no more.
    """

    def __init__(self, limits: Limits, most_names: int, most_bytes: int) -> None:
        self._limits = limits
        self._most_names = most_names
        self._room = most_bytes
        self.is_full = False
        self._inference = Inference(limits)
        self._check: _Check | None = None
        self._lock = threading.Lock()
        self.result: InferredSchema | None = None

    def widen(self, contents: Sequence[bytes]) -> list[bytes]:
        """Takes documents; returns those that the schema had to be widened for."""
        with self._lock:
            evidence: list[bytes] = []
            left = dict(enumerate(contents))
            for _ in range(_ROUNDS):
                left = {} if self.is_full else self._breaking(left)
                if not left:
                    break
                # A few at a time: most of the others keep to what these show.
                for place in list(left)[:16]:
                    content = left.pop(place)
                    if len(content) > self._room:
                        self._fill()
                        break
                    try:
                        self._inference.add(content)
                    except DocumentError:
                        continue  # it cannot be read in this way, and shows nothing
                    evidence.append(content)
                    self._room -= len(content)
                if evidence:
                    self._rebuild()
            return evidence

    def _fill(self) -> None:
        self.is_full = True
        _log.warning("an inferred schema has reached its limit, and widens no more")

    def _breaking(self, contents: dict[int, bytes]) -> dict[int, bytes]:
        if self._check is None:
            return contents
        return {place: contents[place] for place in self._check(contents)}

    def _rebuild(self) -> None:
        self.result = self._inference.result().edges_only()
        self._check = _Check(self.result.schema, True, self._limits)
        if len(self.result.schema.declarations) > self._most_names:
            self._fill()


def place_of(content: bytes, offset: int) -> tuple[int, int]:
    """The line and column of a byte.

    >>> place_of(b"<a>\\n</b>", 4)
    (2, 1)
    """
    before = content[:offset]
    start = before.rfind(b"\n") + 1
    column = len(before[start:].decode("utf-8", "replace")) + 1
    return before.count(b"\n") + 1, column
