from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = tuple[NDArray[np.int64], NDArray[np.int64] | None, bytes, NDArray[np.float64] | None]

class ValueMachine:
    def __init__(
        self, automaton: Any, namespaces: NDArray[np.int32], limits: Any, texts: bool, budget: int
    ) -> None: ...
    def add_frame(self, words: NDArray[np.int32], levels: int, width: int) -> None: ...
    def read(
        self, documents: tuple[bytes, ...]
    ) -> tuple[NDArray[np.int8], list[tuple[NDArray[np.int32], list[Column]]]]: ...

def ordered_pairs(
    unit: NDArray[np.int32], seq: NDArray[np.int64], documents: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
