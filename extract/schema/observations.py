"""What documents showed: elements, their children, attributes and text, counted by name.

Readers of documents fill an `Observations`; `extract.schema.infer` makes a schema of it. Names are
expanded names. An element is one kind wherever it stands, as in a DTD: see `InferredSchema`.
"""

from __future__ import annotations

from collections import Counter
from enum import IntFlag


class ElementContent(IntFlag):
    """What was seen between the tags of an element, next to its child elements."""

    SPACE = 1  # white space alone
    TEXT = 2  # any other character data; also an empty CDATA section
    OTHER = 4  # comments and processing instructions
    STANDALONE = 8  # white space, in a document that says ``standalone="yes"``


class ChildObservations:
    """What was seen of the children of one name, in all parents of one name.

    Attributes:
        parents: How many parents had at least one.
        repeated: Whether a parent had several.
    """

    __slots__ = ("parents", "repeated")

    def __init__(self) -> None:
        self.parents = 0
        self.repeated = False


class ElementObservations:
    """What was seen of the elements of one name.

    Attributes:
        count: How many there were.
        content: What was seen between their tags.
        attributes: On how many of them each attribute was.
        children: What was seen of each kind of child, in the order of first sight.
        successions: Pairs of names: a child of the second came next after one of the first.
        spellings: The name as written, with its prefix; ``None`` where nobody can tell.
        bindings: Prefixes that start tags declared, ``""`` for the default namespace, with their
            URIs.
    """

    __slots__ = (
        "attributes",
        "bindings",
        "children",
        "content",
        "count",
        "spellings",
        "successions",
    )

    def __init__(self) -> None:
        self.count = 0
        self.content = ElementContent(0)
        self.attributes: Counter[str] = Counter()
        self.children: dict[str, ChildObservations] = {}
        self.successions: set[tuple[str, str]] = set()
        self.spellings: set[str | None] = set()
        self.bindings: dict[str, set[str]] = {}

    def child(self, name: str) -> ChildObservations:
        """What was seen of a kind of child, new or known."""
        child = self.children.get(name)
        if child is None:
            child = self.children[name] = ChildObservations()
        return child

    def bind(self, prefix: str, uri: str) -> None:
        """Notes a namespace declaration in a start tag."""
        self.bindings.setdefault(prefix, set()).add(uri)

    def add(self, other: ElementObservations) -> None:
        """Adds what others saw."""
        self.count += other.count
        self.content |= other.content
        self.attributes.update(other.attributes)
        self.successions |= other.successions
        self.spellings |= other.spellings
        for name, seen in other.children.items():
            child = self.child(name)
            child.parents += seen.parents
            child.repeated |= seen.repeated
        for prefix, uris in other.bindings.items():
            self.bindings.setdefault(prefix, set()).update(uris)


class Observations:
    """What some documents showed.

    Attributes:
        documents: How many there were.
        roots: The names of their document elements, in the order of first sight.
        elements: What was seen of each kind of element.
        attribute_spellings: The names of attributes with a namespace as written.
    """

    def __init__(self) -> None:
        self.documents = 0
        self.roots: dict[str, None] = {}
        self.elements: dict[str, ElementObservations] = {}
        self.attribute_spellings: dict[str, set[str | None]] = {}

    def element(self, name: str) -> ElementObservations:
        """What was seen of a kind of element, new or known."""
        element = self.elements.get(name)
        if element is None:
            element = self.elements[name] = ElementObservations()
        return element

    def spell_attribute(self, name: str, written: str | None) -> None:
        """Notes how the name of an attribute with a namespace is written."""
        self.attribute_spellings.setdefault(name, set()).add(written)

    def mark_standalone(self) -> None:
        """Notes that all these documents say ``standalone="yes"``."""
        for element in self.elements.values():
            if element.content & ElementContent.SPACE:
                element.content |= ElementContent.STANDALONE

    def add(self, other: Observations) -> None:
        """Adds what others saw in other documents."""
        self.documents += other.documents
        self.roots |= other.roots
        for name, seen in other.elements.items():
            self.element(name).add(seen)
        for name, spellings in other.attribute_spellings.items():
            self.attribute_spellings.setdefault(name, set()).update(spellings)
