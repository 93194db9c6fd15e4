"""Server-sent events, as the HTML standard defines them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        kind: Its type; ``message`` unless the server says otherwise.
        data: Its lines of data, joined.
        id: The last id that the server has given.
    """

    kind: str
    data: str
    id: str


def read_events(lines: Iterable[str]) -> Iterator[ServerEvent]:
    """Yields the events of a stream of lines; one that is cut off is left out.

    >>> [one.data for one in read_events([": hello", "id: 7", "data: a", "data: b", "", "data: c"])]
    ['a\\nb']
    """
    kind, last, data = "", "", list[str]()
    for line in lines:
        if not line:
            if data:
                yield ServerEvent(kind or "message", "\n".join(data), last)
            kind, data = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
        elif name == "id" and "\0" not in value:
            last = value
