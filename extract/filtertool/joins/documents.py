"""Documents of a join: what is kept of each, and its nodes when results need them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from lxml import etree

from extract.filtertool.flwr.bound_nodes import OUTSIDE
from extract.filtertool.matchers.cost_bound import Bound
from extract.filtertool.whole.document import WholeDocument
from extract.limits import Limits

Locator: TypeAlias = tuple[int, int, int]
"""A node: the number of an element, comment or processing instruction in document order; 0 for
itself, 1 for an attribute of it, 2 for its first text, 3 for the text after it; and the number of
the attribute. Numbers stay the same when a document is parsed again."""

KEY_BYTES: Final = 16
# Measured with tracemalloc on documents of `extract bench joins`, the index included.
_NODE_BYTES: Final = 560
_DOCUMENT_BYTES: Final = 1_300


@dataclass(slots=True, eq=False)
class JoinDocument:
    """A document that was accepted.

    Attributes:
        stream: Its stream.
        name: Its name.
        time: Its time, in microseconds.
        seq: Its number among input documents, or among those of its published stream.
        place: Its number in its own stream.
        clock: Its number among all documents, published ones included.
        published: Whether a query made it.
        data: Its bytes.
        locators: The nodes that are bound to variables.
        keys: The keys of these nodes' string values (`key_of`); empty for nodes that no query
            compares.
        links: For each edge of the patterns: from a node above to the nodes below. The node above
            a root is -1.
        late: The timelines of queries that it is late for.
    """

    stream: str
    name: str
    time: int
    seq: int
    place: int
    clock: int
    published: bool
    data: bytes
    locators: list[Locator] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    links: Mapping[int, Mapping[int, tuple[int, ...]]] = field(default_factory=dict)
    late: frozenset[int] = frozenset()

    def bare(self) -> JoinDocument:
        """Returns the document without its witnesses."""
        return JoinDocument(
            self.stream, self.name, self.time, self.seq, self.place, self.clock, self.published,
            self.data, late=self.late,
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """About how much memory it takes, the state's index included."""
        return _DOCUMENT_BYTES + len(self.data) + _NODE_BYTES * len(self.locators)


def key_of(value: str) -> bytes:
    """Returns the key of a string value: a digest, so that equal keys are equal values."""
    return blake2b(value.encode(), digest_size=KEY_BYTES).digest()


class DocumentTree:
    """A parsed document, whose nodes have numbers.

    Args:
        data: Its bytes.
        name: Its name in messages.
        limits: How large it may be.

    Raises:
        DocumentError: It is not well-formed.
    """

    def __init__(self, data: bytes, name: str, limits: Limits) -> None:
        self._whole = WholeDocument(data, name, limits)
        self.tree = self._whole.tree
        self._paths: dict[Locator, str] = {}

    def affords(self, bound: Bound) -> bool:
        """Whether an expression with a bound of its cost is fast enough on it."""
        return bound.affords(self._whole.size, self._whole.named)

    @cached_property
    def _nodes(self) -> list[Any]:
        root = self.tree.getroot()
        before = list(root.itersiblings(preceding=True))[::-1]
        return [*before, *root.iter(), *root.itersiblings()]

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {node: number for number, node in enumerate(self._nodes)}

    def locator(self, node: Any) -> Locator:
        """Returns the locator of a node that lxml selected.

        Raises:
            etree.XPathError: It is in the document type declaration.
        """
        is_string = isinstance(node, str)
        owner = node.getparent() if is_string else node
        number = self._numbers.get(owner)
        if number is None:
            raise etree.XPathEvalError(OUTSIDE)
        if not is_string:
            return number, 0, 0
        if node.is_attribute:
            return number, 1, list(owner.attrib).index(node.attrname)
        return number, 3 if node.is_tail else 2, 0

    def node(self, locator: Locator) -> Any:
        """Returns a node; attributes and texts as strings that know their parent."""
        number, kind, rank = locator
        owner = self._nodes[number]
        if kind == 0:
            return owner
        if kind == 1:
            return owner.xpath("@*")[rank]
        if kind == 2:
            return owner.xpath("text()")[0]
        return owner.xpath("following-sibling::text()")[0]

    def path(self, locator: Locator) -> str:
        """Returns the unique path of a node, as in the rows of matches."""
        path = self._paths.get(locator)
        if path is None:
            path = self._paths[locator] = self._whole.path_of(self.node(locator)) or ""
        return path


class DocumentTrees:
    """Parsed documents: the last that were used.

    Args:
        limits: How large documents may be.
        most: How many to keep.
        most_bytes: How large all of these may be, as files.
    """

    def __init__(self, limits: Limits, most: int = 256, most_bytes: int = 4 << 20) -> None:
        self._limits = limits
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._trees: OrderedDict[int, tuple[DocumentTree, int]] = OrderedDict()

    def of(self, document: JoinDocument) -> DocumentTree:
        """Returns the tree of a document; parses it if need be."""
        known = self._trees.get(document.clock)
        if known is None:
            tree = DocumentTree(document.data, document.name, self._limits)
            self.keep(document, tree)
            return tree
        self._trees.move_to_end(document.clock)
        return known[0]

    def keep(self, document: JoinDocument, tree: DocumentTree) -> None:
        """Keeps the tree of a document."""
        if document.clock in self._trees:
            self._bytes -= self._trees.pop(document.clock)[1]
        self._trees[document.clock] = tree, len(document.data)
        self._bytes += len(document.data)
        while len(self._trees) > self._most or (
            self._bytes > self._most_bytes and len(self._trees) > 1
        ):
            self._bytes -= self._trees.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forgets all trees."""
        self._trees.clear()
        self._bytes = 0
