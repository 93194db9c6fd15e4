"""The reference projector: a document reduced to a footprint, small, slow and obviously right.

It asks libxml2 which nodes each pattern selects, marks them, and copies what is marked. CHUNKTOOL
does the same in one pass over the bytes and is tested against this.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from lxml import etree

from extract.preptool.footprints.footprint import Footprint, pattern_text
from extract.scheme.model import Need

_ALL_BELOW = Need.SUBTREE | Need.STRING


class Projection:
    """A document reduced to what a footprint wants.

    Attributes:
        tree: The reduced document.
        origin: Each element, comment and processing instruction of it, with the one it is a copy
            of.
    """

    def __init__(
        self, tree: etree._ElementTree, footprint: Footprint, namespaces: Mapping[str, str]
    ) -> None:
        self._needs: dict[Any, Need] = {}
        self._document = Need.SUBTREE if footprint.whole else Need.NODE
        self._mark(tree, footprint, namespaces)
        root = tree.getroot()
        self._keep = {root, *self._needs}
        for element in self._needs:
            self._keep.update(element.iterancestors())
        self.origin: dict[Any, Any] = {}
        above = self._document if self._document & _ALL_BELOW else Need.NODE
        copy = deepcopy(root)  # a copy keeps prefixes and namespace declarations as they are
        copy.tail = None
        self.origin.update(zip(copy.iter(), root.iter(), strict=True))
        self._reduce(copy, above)
        self.tree = copy.getroottree()
        if self._document & (Need.CHILDREN | Need.SUBTREE):
            for outside in reversed(list(root.itersiblings(preceding=True))):
                copy.addprevious(self._leaf(outside))
            for outside in reversed(list(root.itersiblings())):
                copy.addnext(self._leaf(outside))

    def _mark(
        self, tree: etree._ElementTree, footprint: Footprint, namespaces: Mapping[str, str]
    ) -> None:
        for pattern, need in footprint.wants:
            if not pattern:
                self._document |= need
                continue
            for element in etree.XPath(pattern_text(pattern), namespaces=dict(namespaces))(tree):
                self._needs[element] = self._needs.get(element, Need.NODE) | need

    def _reduce(self, element: Any, inherited: Need) -> None:
        """Removes what nobody wants; ``inherited`` is what ancestors want of everything below."""
        need = self._needs.get(self.origin[element], Need.NODE) | inherited
        below = need & _ALL_BELOW
        everything = bool(need & (Need.CHILDREN | _ALL_BELOW))
        if not everything:
            element.text = None
        for child in list(element):
            is_element = isinstance(child.tag, str)
            if not everything:
                child.tail = None
            if everything or (is_element and self.origin[child] in self._keep):
                if is_element:
                    self._reduce(child, below)
                continue
            for gone in child.iter():
                del self.origin[gone]
            element.remove(child)

    def _leaf(self, node: Any) -> Any:
        """A copy of a comment or processing instruction."""
        if node.tag is etree.Comment:
            copy = etree.Comment(node.text)
        else:
            copy = etree.ProcessingInstruction(node.target, node.text or None)
        self.origin[copy] = node
        return copy
