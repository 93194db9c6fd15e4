"""`NodeColumns`: what is reported of nodes, as one block of memory in the layout of Arrow."""

import numpy as np
from numpy.typing import NDArray

class NodeColumns:
    """Kind, name, start, end, path, value and text of nodes. It does not change."""

    count: int

    def __len__(self) -> int: ...
    def lists(
        self, first: int, end: int
    ) -> tuple[
        list[str],
        list[str | None],
        list[int | None],
        list[int | None],
        list[str | None],
        list[str | None],
        list[str | None],
    ]: ...
    def take(self, rows: NDArray[np.int32]) -> NodeColumns: ...
    def taken_bytes(self, rows: NDArray[np.int32]) -> int: ...
    def layout(self) -> tuple[bytes, list[tuple[str, int, int, int, int, int]]]: ...
    @property
    def nbytes(self) -> int: ...
