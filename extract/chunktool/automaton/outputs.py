"""Outputs: the reduced documents that one scan writes side by side.

Each chunk is an output, and so is the projection that serves all queries together. The wants of an
output describe it completely.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from extract.scheme.model import Need, Scheme, Want

PROJECTION: Final = "projection"  # id of the output that serves all queries


class Output(NamedTuple):
    """A reduced document.

    Attributes:
        id: The id of the chunk, or `PROJECTION`.
        wants: The nodes that it keeps; it also keeps their ancestors and the root element.
        whole: Whether it is the unchanged document; then ``wants`` does not count.
    """

    id: str
    wants: tuple[Want, ...]
    whole: bool


def chunk_outputs(scheme: Scheme) -> tuple[Output, ...]:
    """Returns an output for each chunk with branches, in the order of the scheme."""
    return tuple(
        [Output(c.id, _united(c.wants), bool(c.whole)) for c in scheme.every_chunk],
    )


def projection_output(scheme: Scheme) -> Output:
    """Returns the one output on which all queries can be evaluated."""
    chunks = scheme.every_chunk
    wants = [want for chunk in chunks for want in (*chunk.filters, *chunk.inside)]
    return Output(PROJECTION, _united(wants), any(chunk.whole for chunk in chunks))


def _united(wants: Iterable[Want]) -> tuple[Want, ...]:
    """Merges wants with equal paths."""
    needs: dict[str, Need] = {}
    for path, need in wants:
        needs[path] = needs.get(path, Need(0)) | need
    return tuple([Want(path, need.essence) for path, need in needs.items()])
