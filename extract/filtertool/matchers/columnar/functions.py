"""The functions of XPath 1.0 on columns, by the type of their result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import BeyondMemory, Bools
from extract.filtertool.matchers.columnar.numbers import (
    normalize_space,
    rounded,
    substring,
    to_numbers,
    translate,
)
from extract.filtertool.matchers.columnar.reach import meets
from extract.filtertool.matchers.columnar.strings import MAX_BYTES, Texts, as_texts
from extract.markup.node_kinds import NodeKind
from extract.markup.tags import tag_name
from extract.markup.values import instruction_value
from extract.xpath.ast import FunctionCall, StringLiteral
from extract.xpath.functions import EXSLT_REGEXP, FUNCTIONS, Type
from extract.xpath.types import type_of

if TYPE_CHECKING:
    from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator

Floats = NDArray[np.float64]

SUPPORTED: Final = frozenset(FUNCTIONS) - {
    "table",
    "id",
    "lang",
    f"{{{EXSLT_REGEXP}}}test",
    f"{{{EXSLT_REGEXP}}}replace",
}


def boolean(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Bools:
    """``true()``, ``false()``, ``contains()`` and ``starts-with()``."""
    if call.name in ("true", "false"):
        return np.full(len(at.nodes), call.name == "true")
    where, what = call.arguments
    if isinstance(what, StringLiteral) and type_of(where) is Type.NODES:
        return meets(run.first_coded(where, at), (call.name, what.value.encode()))
    texts, parts = [run.string(argument, at).tolist() for argument in call.arguments]
    if call.name == "contains":
        holds = [part in text for text, part in zip(texts, parts, strict=True)]
    else:
        assert call.name == "starts-with"
        holds = [text.startswith(part) for text, part in zip(texts, parts, strict=True)]
    return np.array(holds, np.bool_)


def number(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Floats:
    """Evaluates the functions that return numbers."""
    name, arguments = call.name, call.arguments
    if name == "position":
        return at.position.astype(np.float64)
    if name == "last":
        return at.size.astype(np.float64)
    if name == "count":
        index = run.nodes(arguments[0], at).owner
        return np.bincount(index, minlength=len(at.nodes)).astype(np.float64)
    if name == "sum":
        selected = run.nodes(arguments[0], at)
        values = to_numbers(as_texts(run.strings.of(selected.nodes)))
        return np.bincount(selected.owner, values, len(at.nodes)).astype(np.float64)
    if name == "number":
        return run.number(arguments[0], at) if arguments else to_numbers(_here(run, at))
    if name == "string-length":
        texts = _argument(run, call, at).tolist()
        return np.array([len(text.decode()) for text in texts], np.float64)
    value = run.number(arguments[0], at)
    if name == "floor":
        return np.floor(value)
    if name == "ceiling":
        return np.ceil(value)
    assert name == "round"
    return rounded(value)


def string(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Texts:
    """Evaluates the functions that return strings."""
    name, arguments = call.name, call.arguments
    if name == "string":
        return _argument(run, call, at)
    if name == "normalize-space":
        return as_texts([normalize_space(text) for text in _argument(run, call, at).tolist()])
    if name in ("name", "local-name", "namespace-uri"):
        return _names(run, call, at)
    if name == "substring":
        return _substring(run, call, at)
    texts = [run.string(argument, at).tolist() for argument in arguments]
    if sum([sum(map(len, column)) for column in texts]) > MAX_BYTES:
        raise BeyondMemory
    rows = zip(*texts, strict=True)
    if name == "concat":
        return as_texts([b"".join(row) for row in rows])
    if name == "translate":
        return as_texts([translate(*row) for row in rows])
    if name == "substring-before":
        return as_texts(
            [text.partition(part)[0] if part in text and part else b"" for text, part in rows]
        )
    assert name == "substring-after"
    return as_texts([text.partition(part)[2] if part else text for text, part in rows])


def _here(run: Evaluator, at: ContextNodes) -> Texts:
    return as_texts(run.strings.of(at.nodes))


def _argument(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Texts:
    """Returns the only argument as a string, or the context node's string value."""
    return run.string(call.arguments[0], at) if call.arguments else _here(run, at)


def _substring(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Texts:
    texts = run.string(call.arguments[0], at).tolist()
    starts = run.number(call.arguments[1], at).tolist()
    if len(call.arguments) == 2:
        return as_texts([substring(t, s, None) for t, s in zip(texts, starts, strict=True)])
    lengths = run.number(call.arguments[2], at).tolist()
    rows = zip(texts, starts, lengths, strict=True)
    return as_texts([substring(*row) for row in rows])


def _names(run: Evaluator, call: FunctionCall, at: ContextNodes) -> Texts:
    """Returns a name of the first node, or of the context node."""
    if not call.arguments:
        return as_texts([_name(run, call.name, node) for node in at.nodes.tolist()])
    selected = run.nodes(call.arguments[0], at)
    out = as_texts([b""] * len(at.nodes))
    index, first = np.unique(selected.owner, return_index=True)
    names = [_name(run, call.name, node) for node in selected.nodes[first].tolist()]
    out[index] = as_texts(names)
    return out


def _name(run: Evaluator, function: str, node: int) -> bytes:
    columns = run.columns
    kind = int(columns.kind_of(np.array([node]))[0])
    inside = node - int(columns.bounds[kind])
    if kind == NodeKind.ELEMENT:
        return _element_name(run, function, node)
    if kind == NodeKind.PI:
        leaves = columns.leaves[NodeKind.PI]
        piece = leaves.first[inside]
        data = columns.tables[leaves.unit[piece]].data
        markup = data[leaves.start[piece] : leaves.end[piece]]
        return b"" if function == "namespace-uri" else instruction_value(markup).target
    if kind != NodeKind.ATTRIBUTE:
        return b""
    attributes = columns.attributes
    if function == "name":
        data = columns.tables[attributes.unit[inside]].data
        written: bytes = data[attributes.start[inside] : attributes.value[inside] - 1]
        return written.rstrip(b"= \t\r\n")
    return _part(function, columns.names.expanded[attributes.name[inside]])


def _element_name(run: Evaluator, function: str, row: int) -> bytes:
    columns = run.columns
    if columns.name[row] < 0:
        return b""
    if function == "name":
        unit = int(columns.unit[row])
        table = columns.tables[unit]
        return tag_name(table.data, int(table.elements.start[row - columns.documents[unit] - 1]))
    return _part(function, columns.names.expanded[columns.name[row]])


def _part(function: str, name: tuple[str, str]) -> bytes:
    uri, local = name
    return (uri if function == "namespace-uri" else local).encode()
