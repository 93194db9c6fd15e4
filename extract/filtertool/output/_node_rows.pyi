"""Rows of nodes as one record batch, through Arrow's C data interface."""

from typing import Any

from extract.filtertool.matchers.push._node_columns import NodeColumns

class IdTexts:
    """The ids of subscribers, to be looked up by number."""

    ids: Any

    def __init__(self, ids: Any) -> None: ...

def node_rows(
    schema: Any,
    nodes: NodeColumns,
    ids: IdTexts,
    names: list[bytes],
    counts: list[int],
    node: Any,
    subscriber: Any,
    ordinal: Any,
    most: int,
) -> Any: ...
