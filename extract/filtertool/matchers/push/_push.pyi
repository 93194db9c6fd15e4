from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.protocol import Violation
from extract.filtertool.matchers.push._node_columns import NodeColumns
from extract.filtertool.matchers.push.automaton import EngineAutomaton
from extract.limits import Limits

Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]

Described = tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NodeColumns,
    list[bool],
    list[int],
    list[int],
]
Found = tuple[Columns, Columns, Described | None]

class Registry:
    @property
    def queries(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def set_namespaces(self, namespaces: NDArray[np.int32]) -> None: ...
    def add_template(self, words: NDArray[np.int32]) -> int: ...
    def remove_template(self, number: int) -> None: ...
    def add_query(
        self, number: int, query: int, constants: tuple[tuple[bytes, bool, bool], ...]
    ) -> None: ...
    def add_queries(
        self, number: int, queries: NDArray[np.int32], columns: Sequence[Any]
    ) -> None: ...
    def has_queries(self, number: int) -> bool: ...
    def remove_query(self, query: int) -> int: ...
    def add_program(
        self, words: NDArray[np.int32], text: bytes, columns: Sequence[Any], texts: bool
    ) -> int: ...
    def assign_program(self, query: int, program: int) -> None: ...

class Machine:
    @property
    def memory(self) -> int: ...
    def __init__(
        self,
        registry: Registry,
        automaton: EngineAutomaton,
        limits: Limits,
        select: int,
        state_bytes: int,
        steps: int,
        other: Machine | None = None,
    ) -> None: ...
    def match(
        self,
        documents: tuple[bytes, ...],
        conditions: NDArray[np.int32],
        others: NDArray[np.int32],
    ) -> tuple[NDArray[np.int8], Found, Found | None, list[tuple[int, Violation]]]: ...
    def written(
        self,
    ) -> tuple[
        NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int8], bytes
    ]: ...
    def adapt(self) -> None: ...
    def figures(self) -> dict[str, int]: ...

def named_documents(
    pairs: Iterable[tuple[str, Any]],
) -> tuple[list[str], tuple[Any, ...]]: ...
def plain_documents(
    documents: tuple[Any, ...], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]: ...
