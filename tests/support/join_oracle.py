"""Joins by the definition: all pairs of documents, all combinations of nodes, by lxml alone.

Nothing is indexed, shared or forgotten. Only the parser of queries and the writer of outputs are
those of the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from lxml import etree

from extract.filtertool.flwr.writer import OutputError, OutputWriter
from extract.flwr.ast import Characters, ElementConstructor, Enclosed
from extract.markup.lxml_parser import parse_tree
from extract.xpath.ast import Variable
from extract.xscl.ast import JoinOperator, PatternNode, XsclQuery
from extract.xscl.parser import parse_xscl
from extract.xscl.times import microseconds


@dataclass(eq=False)
class OracleDocument:
    """A document that was accepted."""

    stream: str
    name: str
    time: int
    seq: int
    published: bool
    tree: Any
    arrived: int
    late: frozenset[str] = frozenset()


@dataclass
class JoinOracle:
    """All queries over all documents.

    Attributes:
        lateness: As for `extract.Joins`, in microseconds.
    """

    lateness: int | None = None
    queries: dict[str, tuple[XsclQuery, int]] = field(default_factory=dict)
    documents: list[OracleDocument] = field(default_factory=list)
    floors: dict[str, int | None] = field(default_factory=dict)
    rejected: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, text: str) -> None:
        self.queries[name] = parse_xscl(text, {}), len(self.documents)
        self.floors[name] = self.horizon(name)

    def remove(self, name: str) -> None:
        del self.queries[name], self.floors[name]

    def sources(self, name: str) -> set[str]:
        """The streams that a query reads, itself or through what others publish."""
        read = set(self.queries[name][0].streams)
        for other, (query, _) in self.queries.items():
            if query.publish in self.queries[name][0].streams:
                read |= self.sources(other)
        return read

    def horizon(self, name: str) -> int | None:
        """A document whose time is earlier is late for a query; None if none is."""
        sources = self.sources(name)
        known = [self.floors.get(name)]
        sizes = [
            query.window.size
            for other, (query, _) in self.queries.items()
            if not query.window.events
            and (sources & self.sources(other) or "S" in sources | self.sources(other))
        ]
        seen = [
            one.time
            for one in self.documents
            if not one.published and (one.stream in sources or "S" in sources)
        ]
        if seen and self.lateness is not None:
            known.append(max(seen) - self.lateness)
        elif seen and not self.queries[name][0].window.events:
            known.append(max(seen) - max(sizes))
        return max([one for one in known if one is not None], default=None)

    def late(self, stream: str, time: int, published: bool) -> tuple[list[str], list[str]]:
        """The queries that read a document, and those of them for which it is late."""
        names = (stream,) if published else (stream, "S")
        readers = [n for n, (q, _) in self.queries.items() if set(names) & set(q.streams)]
        horizons = {name: self.horizon(name) for name in readers}
        return readers, [n for n, h in horizons.items() if h is not None and time < h]

    def process(self, stream: str, name: str, data: bytes, time: Any) -> list[tuple[Any, ...]]:
        """The keys of the rows and their outputs; `rejected` has for which queries it is late."""
        moment = microseconds(time)
        self.rejected = []
        readers, late = self.late(stream, moment, False)
        rows: list[tuple[Any, ...]] = []
        if late and readers == late:
            self.rejected = [(query, name) for query in late]
        else:
            rows = self._accept(stream, name, parse_tree(data), moment, False)
        self.floors = {query: self.horizon(query) for query in self.queries}
        return rows

    def _accept(
        self, stream: str, name: str, tree: Any, time: int, published: bool
    ) -> list[tuple[Any, ...]]:
        waiting = [(stream, name, tree, time, published)]
        rows = []
        while waiting:
            stream, name, tree, time, published = waiting.pop(0)
            same = [d for d in self.documents if d.published == published]
            seq = len([d for d in same if d.stream == stream] if published else same)
            new = OracleDocument(
                stream, f"{stream}#{seq}" if published else name, time, seq, published, tree,
                len(self.documents),
            )  # fmt: skip
            _, late = self.late(stream, time, published)
            new.late = frozenset(late)
            self.rejected += [(query, new.name) for query in late]
            before = list(self.documents)
            self.documents.append(new)
            for key, (query, since) in self.queries.items():
                pairs = [(old, new) for old in before] + [(new, old) for old in before]
                for left, right in pairs:
                    if min(left.arrived, right.arrived) < since:
                        continue
                    if key in left.late | right.late:
                        continue
                    if not self._in_window(query, left, right, before):
                        continue
                    for bindings, output in self._pairs(query, left, right):
                        rows.append((
                            key, left.name, right.name, left.seq, right.seq,
                            left.time, right.time, bindings, output,
                        ))  # fmt: skip
                        if query.publish:
                            waiting.append((
                                query.publish, "", parse_tree(output.encode()),
                                max(left.time, right.time), True,
                            ))  # fmt: skip
        return rows

    @staticmethod
    def _is_of(document: OracleDocument, stream: str) -> bool:
        return document.stream == stream or (stream == "S" and not document.published)

    def _in_window(
        self,
        query: XsclQuery,
        left: OracleDocument,
        right: OracleDocument,
        before: list[OracleDocument],
    ) -> bool:
        if not self._is_of(left, query.left.stream) or not self._is_of(right, query.right.stream):
            return False
        window, follows = query.window, query.window.operator is JoinOperator.FOLLOWED_BY
        if not window.events:
            span = right.time - left.time
            return 0 < span <= window.size if follows else abs(span) <= window.size
        if follows and left.arrived > right.arrived:
            return False
        earlier = min(left, right, key=lambda one: one.arrived)
        stream = query.left.stream if earlier is left else query.right.stream
        last = [one for one in before if self._is_of(one, stream)][-window.size :]
        return earlier in last

    def _pairs(
        self, query: XsclQuery, left: OracleDocument, right: OracleDocument
    ) -> Iterator[tuple[tuple[tuple[str, str], ...], str]]:
        seen = set()
        found = []
        ones = list(_bindings(query.left.root, left.tree, None, query))
        others = list(_bindings(query.right.root, right.tree, None, query))
        for one, other in product(ones, others):
            both = {**one, **other}
            equal = [(one.left, one.right) for one in query.equalities]
            for first, second in [*equal, *query.left.same, *query.right.same]:
                if _text(both[first]) != _text(both[second]):
                    break
            else:
                names = [*query.left.variables, *query.right.variables]
                key = tuple([(name, _path(both[name])) for name in names])
                if key not in seen:
                    seen.add(key)
                    roots = one["<root>"], other["<root>"]
                    found.append((key, _output(query, both, roots)))
        yield from [(key, output) for key, output in found if output is not None]


def _bindings(
    node: PatternNode, tree: Any, above: Any, query: XsclQuery
) -> Iterator[dict[str, Any]]:
    """All combinations of nodes for a pattern, in document order."""
    if above is None:
        nodes = tree.xpath(str(node.path), namespaces=dict(query.namespaces))
    else:
        nodes = above.xpath(str(node.path), namespaces=dict(query.namespaces))
    for one in nodes:
        own = {node.variable: one} if node.variable else {}
        if above is None:
            own["<root>"] = one
        parts = [list(_bindings(child, tree, one, query)) for child in node.children]
        for combination in product(*parts):
            merged = dict(own)
            for part in combination:
                merged.update(part)
            yield merged


def _text(node: Any) -> str:
    return str(node) if isinstance(node, str) else str(node.xpath("string()"))


def _path(node: Any) -> str:
    """The unique path; documents of the tests have no namespaces."""
    if isinstance(node, str):
        owner = node.getparent()  # type: ignore[attr-defined]
        if node.is_attribute:  # type: ignore[attr-defined]
            return f"{_path(owner)}/@{node.attrname}"  # type: ignore[attr-defined]
        parent = owner.getparent() if node.is_tail else owner  # type: ignore[attr-defined]
        texts = parent.xpath("text()")
        at = [(t.getparent(), t.is_tail) for t in texts].index((owner, node.is_tail))  # type: ignore[attr-defined]
        return f"{_path(parent)}/text()[{at + 1}]"
    steps = ""
    while node is not None:
        rank = 1 + len(list(node.itersiblings(node.tag, preceding=True)))
        steps = f"/{node.tag}[{rank}]{steps}"
        node = node.getparent()
    return steps


def _output(query: XsclQuery, nodes: dict[str, Any], roots: tuple[Any, Any]) -> str | None:
    if query.output is None:
        parts = [str(r) if isinstance(r, str) else _xml(r) for r in roots]
        return f"<join>{''.join(parts)}</join>"
    writer = OutputWriter({}, 1 << 30, "")

    def write(element: ElementConstructor) -> None:
        writer.start(element)
        for attribute in element.attributes:
            values = [
                part.value if isinstance(part, Characters) else _text(nodes[_name(part)])
                for part in attribute.value
            ]
            writer.constructed(attribute.name, "".join(values))
        for content in element.content:
            if isinstance(content, ElementConstructor):
                write(content)
            elif isinstance(content, Characters):
                writer.text(content.value)
            elif isinstance(content, Enclosed):
                writer.copies([nodes[_name(content)]])
        writer.end()

    try:
        write(query.output)
    except OutputError:
        return None
    return writer.result()


def _name(part: Enclosed) -> str:
    assert isinstance(part.expr, Variable)
    return part.expr.name


def _xml(node: Any) -> str:
    return str(etree.tostring(node, encoding="unicode", with_tail=False))
