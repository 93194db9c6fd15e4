"""Blocks of the state as plain values, for stores that keep bytes.

What is read from such a store may be damaged or forged: plain values cannot run code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np

from extract.filtertool.joins.blocks import WitnessBlock

_COLUMNS: Final = tuple([one.name for one in fields(WitnessBlock) if one.init])


def plain_block(block: WitnessBlock) -> list[Any]:
    """Returns a block as numbers, strings and bytes."""
    return [_plain(getattr(block, name)) for name in _COLUMNS]


def block_from(values: Sequence[Any]) -> WitnessBlock:
    """Returns the block that `plain_block` made values of."""
    return WitnessBlock(**{n: _column(one) for n, one in zip(_COLUMNS, values, strict=True)})


def _plain(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return [column.dtype.str, column.tobytes()]
    return column


def _column(value: Any) -> Any:
    return np.frombuffer(value[1], value[0]) if isinstance(value, list) else value
