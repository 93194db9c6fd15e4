"""The report of ``extract subs`` on a revised scheme."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from extract.cli.preparing import unsatisfiable_lines
from extract.errors import QuerySyntaxError
from extract.scheme import Chunk, Rejected, Scheme, Unsatisfiable

_SHOWN = 20  # of each kind, one by one


@dataclass(slots=True)
class Revision:
    """What was done to a scheme.

    Attributes:
        before: The scheme as it was.
        source: The file that the queries come from; empty if there was none.
        added: The number of subscriptions that were added.
        replaced: The number of those that took the place of others.
        removed: The number of those that were removed.
        rejected: Those of the added that cannot be evaluated.
        unsatisfiable: Those of the added and replaced that cannot match.
        after: The scheme as it is now.
    """

    before: Scheme
    source: str = ""
    added: int = 0
    replaced: int = 0
    removed: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    unsatisfiable: list[Unsatisfiable] = field(default_factory=list)
    after: Scheme | None = None

    def to_json(self, seconds: float) -> dict[str, Any]:
        """The report as plain values."""
        after = self.after or self.before
        old, new = self._prefixes(self.before), self._prefixes(after)
        return {
            "added": self.added,
            "replaced": self.replaced,
            "removed": self.removed,
            "rejected": [{"id": one.id, "reason": one.reason} for one in self.rejected],
            "unsatisfiable": [
                {"id": one.subscriber.id, "reason": one.reason} for one in self.unsatisfiable
            ],
            "queries": after.counts(),
            "chunks": {
                "new": [prefix for prefix in new if prefix not in old],
                "gone": [prefix for prefix in old if prefix not in new],
                "changed": [one.prefix or one.id for _, one in self._changed()],
            },
            "notes": list(after.notes),
            "seconds": round(seconds, 3),
        }

    def text(self, seconds: float) -> str:
        """What was done, in words."""
        return "\n".join(self._lines(seconds))

    def _lines(self, seconds: float) -> Iterator[str]:
        after = self.after or self.before
        for wrong in self.rejected[:_SHOWN]:
            place = (self.source, wrong.line, wrong.column, wrong.xpath, wrong.offset)
            error = QuerySyntaxError(wrong.reason, wrong.hint, *place)
            yield f"query {wrong.id!r} rejected: {error}\n"
        yield from unsatisfiable_lines(after, self.unsatisfiable[:_SHOWN])
        more = sum(max(0, len(some) - _SHOWN) for some in (self.rejected, self.unsatisfiable))
        if more:
            yield f"… and {more:,} more such, all in the scheme"
        yield from (f"Note: {note}" for note in after.notes if note not in self.before.notes)
        old, new = self._prefixes(self.before), self._prefixes(after)
        yield from (f"no more a chunk: {prefix}" for prefix in old if prefix not in new)
        yield from (
            f"new chunk {one.id}: {prefix}, "
            + _count(after.directory.count_in(one), "query", "queries")
            for prefix, one in new.items()
            if prefix not in old
        )
        for was, one in self._changed():
            name = one.id if not one.prefix else f"chunk {one.id} {one.prefix}"
            yield f"{name}: {', '.join(self._differences(was, one))}"
        changes = ((self.added, "added"), (self.replaced, "replaced"), (self.removed, "removed"))
        done = [_count(some, "query", "queries") + f" {what}" for some, what in changes if some]
        counts = after.counts()
        yield (
            f"{' and '.join(done)} in {seconds:.1f} s, now {counts['registered']:,}: "
            f"{counts['satisfiable']:,} can match, {counts['unsatisfiable']:,} unsatisfiable, "
            f"{counts['rejected']:,} rejected"
        )

    def _prefixes(self, scheme: Scheme) -> dict[str, Chunk]:
        return {chunk.prefix: chunk for chunk in scheme.chunks}

    def _changed(self) -> Iterator[tuple[Chunk, Chunk]]:
        """The chunks that there were and still are, but not as they were."""
        after = self.after or self.before
        old = self._prefixes(self.before)
        for chunk in after.chunks:
            was = old.get(chunk.prefix)
            if was is not None and any(self._differences(was, chunk)):
                yield was, chunk
        others = (
            (self.before.potpourri, after.potpourri),
            (self.before.whole_document, after.whole_document),
        )
        yield from ((was, one) for was, one in others if any(self._differences(was, one)))

    def _differences(self, was: Chunk, one: Chunk) -> Iterator[str]:
        """What a person would notice about a chunk."""
        after = self.after or self.before
        queries = self.before.directory.count_in(was), after.directory.count_in(one)
        counts = (
            (*queries, "query", "queries"),
            (len(was.branches), len(one.branches), "branch", "branches"),
            (len(was.filters), len(one.filters), "filter node", "filter nodes"),
        )
        for before, now, singular, plural in counts:
            if before != now:
                yield f"{before:,} → {_count(now, singular, plural)}"
        if was.splittable != one.splittable:
            yield "can be split now" if one.splittable else "can no longer be split"


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
