"""Expected statistics of documents, from their schema alone, where there are no samples.

Content models say how often a child may occur, not how often it does. So the figures are guesses:
an optional child occurs every second time, a repeated one a few times, alternatives are equally
likely, and deeper elements have fewer children with children: otherwise a rich schema such as UBL
    would make
endless documents. The figures serve to compare parts of one document with each other, for which all
documents are taken to be of one size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final

from extract.preptool.costing.paths import PathNode, PathTree
from extract.schema.model import Declaration, Particle, Schema, Text, local_of
from extract.schema.places import Place
from extract.scheme.statistics import Statistics

_FEW: Final = 3.0  # occurrences of a child that may occur any number of times
_MOST_INNER: Final = 12.0  # children with children of the document element; half for each step down
_FEWEST_INNER: Final = 0.5  # the lower bound of that, where the schema expects more
_UNSAID: Final = 0.1  # occurrences of a child that the content model does not mention
_MOST_PATHS: Final = 1_000
_MOST_RETURNS: Final = 0.5  # the largest part of a recursive path's elements inside another one
_SHORT_TEXT_BYTES: Final = 16
_MIXED_TEXT_BYTES: Final = 60
_VALUE_BYTES: Final = 10  # of an attribute
_DOCUMENT_BYTES: Final = 100_000
_DOCUMENTS: Final = 100  # so that whole numbers are exact enough


def expected_statistics(schema: Schema) -> Statistics:
    """Returns the statistics to expect of a schema's documents, for an assumed size."""
    tree = PathTree(schema.places, _MOST_PATHS)
    returns = _grow(tree, schema)
    nodes = list(_downwards(tree.document))
    for node in nodes:
        if node.recursive and node.elements:
            inside = min(_MOST_RETURNS, returns.get(node, 0.0) / node.elements)
            for below in _downwards(node):
                below.elements /= 1 - inside
                below.owners /= 1 - inside
    _weigh(tree.document, nodes)
    return tree.finish("schema", _DOCUMENTS, _DOCUMENT_BYTES * _DOCUMENTS)


def _grow(tree: PathTree, schema: Schema) -> dict[PathNode, float]:
    """Opens the paths with the most elements first; returns the elements that recursion adds."""
    returns: dict[PathNode, float] = {}
    children_of: dict[Place, dict[str, float]] = {}
    heap: list[tuple[float, int, PathNode]] = [(0.0, 0, tree.document)]
    tree.document.elements = 1.0
    met = 0
    while heap:
        node = heappop(heap)[2]
        children = children_of.get(node.place)
        if children is None:
            children = children_of[node.place] = _children(schema, node.place)
        thin = _thinning(node, children)
        for name, expected in children.items():
            if node.place.children[name].children:
                expected *= thin
            if tree.size >= _MOST_PATHS and name not in node.children:
                continue
            met += 1
            child = tree.child(node, name)
            elements = node.elements * expected
            if child.parent is node:
                child.elements = elements
                child.owners = node.elements * min(1.0, expected)
                heappush(heap, (-elements, met, child))
            else:
                returns[child] = returns.get(child, 0.0) + elements
    return returns


def _thinning(node: PathNode, children: dict[str, float]) -> float:
    """Returns the factor for children with children, so that documents do not grow endless."""
    depth, above = 0, node.parent
    while above is not None:
        depth, above = depth + 1, above.parent
    inner = sum(n for name, n in children.items() if node.place.children[name].children)
    most = max(_FEWEST_INNER, _MOST_INNER / 2.0 ** max(0, depth - 1))
    return min(1.0, most / inner) if inner else 1.0


def _children(schema: Schema, place: Place) -> dict[str, float]:
    """Returns the expected number of children of one element, by name."""
    if not place.declarations:  # the document node: one document element
        return {name: 1 / len(place.children) for name in place.children}
    total: dict[str, float] = {}
    for declaration in place.declarations:
        for name, expected in _of_declaration(schema, declaration).items():
            if name in place.children:
                total[name] = total.get(name, 0.0) + expected / len(place.declarations)
    return total


def _of_declaration(schema: Schema, declaration: Declaration) -> dict[str, float]:
    expected: dict[int, float] = {}
    if declaration.content is not None:
        _count(declaration.content, 1.0, expected)
    unsaid = [key for key in declaration.children if key not in expected]
    share = _FEW / len(unsaid) if unsaid and not expected else _UNSAID
    expected |= dict.fromkeys(unsaid, share)
    by_name: dict[str, float] = {}
    for key, count in expected.items():
        name = schema.declarations[key].name
        by_name[name] = by_name.get(name, 0.0) + count
    return by_name


def _count(particle: Particle, times: float, expected: dict[int, float]) -> None:
    """Adds the expected occurrences of each element of a content model that occurs so often."""
    low, high = particle.low, particle.high
    times *= max(_FEW, low) if high is None else (low + min(high, low + 2 * _FEW)) / 2
    if particle.kind == "element":
        expected[particle.element] = expected.get(particle.element, 0.0) + times
    for part in particle.parts:
        share = times / len(particle.parts) if particle.kind == "choice" else times
        _count(part, share, expected)


def _weigh(document: PathNode, nodes: Sequence[PathNode]) -> None:
    """Computes the bytes of the paths, for so many documents of the assumed size.

    Args:
        document: The document node.
        nodes: It and all paths, parents first.
    """
    total = 0.0
    for node in nodes:
        tags, text = _bytes_each(node)
        node.tag_bytes, node.text_bytes = tags * node.elements, text * node.elements
        total += node.tag_bytes + node.text_bytes
    scale = _DOCUMENTS * _DOCUMENT_BYTES / (total or 1.0)
    for node in nodes:
        # A document has one document element, however large it is.
        depth_1 = node.parent is document
        factor = _DOCUMENTS if depth_1 else scale
        inside_1 = node.parent is not None and node.parent.parent is document
        node.elements *= factor
        node.owners *= _DOCUMENTS if depth_1 or inside_1 else scale
        node.tag_bytes *= factor
        node.text_bytes *= factor
    for node in reversed(nodes):
        node.subtree_elements += node.elements
        node.subtree_bytes += node.tag_bytes + node.text_bytes
        if node.parent is not None:
            node.parent.subtree_elements += node.subtree_elements
            node.parent.subtree_bytes += node.subtree_bytes


def _bytes_each(node: PathNode) -> tuple[float, float]:
    """Returns the bytes of one element's tags, and of its own texts."""
    if not node.place.declarations:
        return 0.0, 0.0
    declaration = node.place.declarations[0]
    tags = 5.0 + 2 * len(local_of(node.name))
    for attribute in declaration.attributes:
        length = len(local_of(attribute.name)) + 4 + _VALUE_BYTES
        tags += length if attribute.required else length / 4
    if declaration.text is not Text.ANY:
        return tags, 0.0
    return tags, _MIXED_TEXT_BYTES if node.children else _SHORT_TEXT_BYTES


def _downwards(node: PathNode) -> Iterator[PathNode]:
    """Yields a path and all paths below it, parents first."""
    todo = [node]
    while todo:
        path = todo.pop()
        yield path
        todo.extend(reversed(path.below()))
