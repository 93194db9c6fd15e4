"""FLWR queries by the numbers of their subscribers: parsed when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from extract.flwr.query import FlwrQuery, parse_flwr
from extract.flwr.templates import ReadFlwr, shared_reader
from extract.limits import DEFAULTS
from extract.scheme.registered import CustomOutput
from extract.subscriptions.columns import TextColumn


class ParsedQueries(Mapping[int, FlwrQuery]):
    """The queries of subscribers by their numbers, parsed when they are asked for.

    Args:
        ids: The ids of subscribers, whose places are their numbers.
        outputs: What FLWR queries make, by id.
    """

    def __init__(self, ids: TextColumn, outputs: Mapping[str, CustomOutput]) -> None:
        self._ids = ids
        self._outputs = outputs
        self._fresh: dict[int, tuple[str, CustomOutput | None]] = {}
        self._parsed: dict[int, FlwrQuery] = {}
        self._reader = shared_reader(DEFAULTS)

    def name(self, number: int, identifier: str, output: CustomOutput | None) -> None:
        """Adds a subscriber, with what its query makes; None if it is no FLWR."""
        self._fresh[number] = identifier, output

    def forget(self, numbers: Iterable[int]) -> None:
        """Removes subscribers."""
        for number in numbers:
            self._parsed.pop(number, None)
            self._fresh.pop(number, None)

    def id(self, number: int) -> str:
        """The id of a subscriber."""
        return self._fresh[number][0] if number in self._fresh else self._ids.text(number)

    def output(self, number: int) -> CustomOutput | None:
        """What the query of a subscriber makes; None if it is no FLWR."""
        if number in self._fresh:
            return self._fresh[number][1]
        return self._outputs.get(self._ids.text(number))

    def __getitem__(self, number: int) -> FlwrQuery:
        query = self._parsed.get(number)
        if query is None:
            output = self._flwr(number)
            query = self._parsed[number] = parse_flwr(output.flwr, output.namespaces)
        return query

    def read(self, number: int) -> ReadFlwr:
        """A query as its templates and their constants."""
        output = self._flwr(number)
        return output.read or self._reader.read(output.flwr, output.namespaces)

    def _flwr(self, number: int) -> CustomOutput:
        output = self.output(number)
        if output is None:
            raise KeyError(number)
        return output

    def __iter__(self) -> Iterator[int]:
        yield from (n for n, one in enumerate(self._ids) if one in self._outputs)
        yield from (n for n, (_, output) in self._fresh.items() if output is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
