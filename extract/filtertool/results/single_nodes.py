"""Name, path and value of single nodes of a table, whatever they are."""

from __future__ import annotations

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import LocatedNode
from extract.filtertool.results.node_columns import limited, standalone
from extract.markup.lxml_parser import parse_tree
from extract.markup.node_kinds import NodeKind
from extract.markup.tags import tag_attributes, tag_name
from extract.markup.values import Values, comment_value, instruction_value


class SingleNodes:
    """Describes nodes of one table, one by one.

    Args:
        table: The table.
        values: Decodes its bytes.
        most: How many bytes a value may have. None for any.
        alone: Give elements as XML that stands alone.
    """

    def __init__(self, table: NodeTable, values: Values, most: int | None, alone: bool) -> None:
        self._table = table
        self._values = values
        self._most = most
        self._alone = alone
        self._paths: dict[int, str] = {-1: ""}
        self._names: dict[int, str] = {}

    def name_and_value(self, node: LocatedNode) -> tuple[str | None, str | None]:
        """Returns the name of a node, and its value; None for those that it has not."""
        if node.kind == NodeKind.ELEMENT:
            fits = self._most is None or node.end - node.start <= self._most
            return self._name(node.row), self._element(node.row) if fits else None
        if node.kind == NodeKind.ATTRIBUTE:
            tag = self._tag(node.row)
            name = tag_attributes(tag)[node.number].name.decode()
            return name, limited(self._values.attribute(tag, node.number), self._most)
        if node.kind == NodeKind.TEXT:
            return None, limited(self._text(node.leaf), self._most)
        raw = self._values.utf8(node.start, node.end)
        if node.kind == NodeKind.COMMENT:
            return None, limited(comment_value(raw).decode(), self._most)
        instruction = instruction_value(raw)
        return instruction.target.decode(), limited(instruction.value.decode(), self._most)

    def path(self, node: LocatedNode, name: str | None) -> str:
        """Returns the unique path of a node, given its name."""
        path = self._path(node.row)
        if node.kind == NodeKind.ELEMENT:
            return path
        if node.kind == NodeKind.ATTRIBUTE:
            return f"{path}/@{name}"
        return f"{path}/{NodeKind(node.kind).node_test}[{node.number}]"

    def _tag(self, row: int) -> bytes:
        elements = self._table.elements
        return self._values.utf8(int(elements.start[row]), int(elements.content[row]))

    def _name(self, row: int) -> str:
        name = self._names.get(row)
        if name is None:
            name = self._names[row] = tag_name(self._tag(row)).decode()
        return name

    def _path(self, row: int) -> str:
        """The unique path of an element; those of its ancestors are kept for others."""
        known = self._paths.get(row)
        if known is not None:
            return known
        elements, paths = self._table.elements, self._paths
        above = [row]
        while (parent := int(elements.parent[above[-1]])) not in paths:
            above.append(parent)
        for each in reversed(above):
            step = f"/{self._name(each)}[{elements.position[each]}]"
            paths[each] = paths[int(elements.parent[each])] + step
        return paths[row]

    def _element(self, row: int) -> str | None:
        if self._alone:
            return limited(self._standalone(row), self._most)
        elements = self._table.elements
        return self._values.string(int(elements.start[row]), int(elements.end[row]))

    def _standalone(self, row: int) -> str:
        """The element as XML that stands alone: parsed with its ancestors' tags, and written."""
        elements, data = self._table.elements, self._table.data
        above: list[int] = []
        while (parent := int(elements.parent[above[-1] if above else row])) >= 0:
            above.append(parent)
        parts = [data[: int(elements.start[0])]]
        parts += [data[int(elements.start[n]) : int(elements.content[n])] for n in above[::-1]]
        parts.append(data[int(elements.start[row]) : int(elements.end[row])])
        parts += [data[int(elements.close[n]) : int(elements.end[n])] for n in above]
        element = parse_tree(b"".join(parts)).getroot()
        for _ in above:
            element = element[0]
        return standalone(element)

    def _text(self, leaf: int) -> str:
        """The value of a text, which may have several parts."""
        leaves, values = self._table.leaves, self._values
        parent, number = leaves.parent[leaf], leaves.number[leaf]
        parts: list[str] = []
        while leaf < len(leaves.start) and leaves.parent[leaf] == parent:
            kind = int(leaves.kind[leaf])
            if leaves.number[leaf] != number or kind >= NodeKind.COMMENT:
                break
            raw = values.utf8(int(leaves.start[leaf]), int(leaves.end[leaf]))
            parts.append(values.text(raw, kind))
            leaf += 1
        return "".join(parts)
