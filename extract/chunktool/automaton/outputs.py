"""Outputs: the reduced documents that one scan writes side by side.

A chunk is one, and so is the projection that serves all queries together. An output is described by
its wants alone; how the scheme came to them no longer matters here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from extract.scheme.model import Need, Scheme, Want

PROJECTION: Final = "projection"  # id of the output that serves all queries


class Output(NamedTuple):
    """A reduced document.

    Attributes:
        id: Names it; that of the chunk.
        wants: What it keeps; ancestors of what is kept, and the root element, are kept anyway.
        whole: Whether it is the document as it is; then the wants do not count.
    """

    id: str
    wants: tuple[Want, ...]
    whole: bool


def chunk_outputs(scheme: Scheme) -> tuple[Output, ...]:
    """An output for each chunk on which something is evaluated, in the order of the scheme."""
    return tuple(
        [Output(c.id, _united(c.wants), bool(c.whole)) for c in scheme.every_chunk],
    )


def projection_output(scheme: Scheme) -> Output:
    """The one reduced document on which all queries can be evaluated."""
    chunks = scheme.every_chunk
    wants = [want for chunk in chunks for want in (*chunk.filters, *chunk.inside)]
    return Output(PROJECTION, _united(wants), any(chunk.whole for chunk in chunks))


def _united(wants: Iterable[Want]) -> tuple[Want, ...]:
    """Each path once, with all that is needed of it."""
    needs: dict[str, Need] = {}
    for path, need in wants:
        needs[path] = needs.get(path, Need(0)) | need
    return tuple([Want(path, need.essence) for path, need in needs.items()])
