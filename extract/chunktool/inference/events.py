"""Counts the elements, edges and attributes of a document in libxml2's events.

This is slower than the kernel, but works for every document, including those that the kernel hands
over: internal subsets with entities, encodings other than UTF-8. libxml2's events have no prefixes.
    The
prefix of a name is known where only one is bound to its namespace; otherwise the spelling is
recorded as unknown, which matters only for a DTD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lxml import etree

from extract.chunktool.input.source import Source
from extract.chunktool.scan.wellformed import Judge, id_problem, rejection_of
from extract.errors import DocumentError
from extract.limits import RAISE, Limits
from extract.markup.lxml_parser import parse_tree
from extract.schema.model import XML_NAMESPACE, local_of, namespace_of
from extract.schema.observations import ElementContent, ElementObservations, Observations

_XML_ID: Final = f"{{{XML_NAMESPACE}}}id"
_SPACE: Final = " \t\r\n"


def observe_events(source: Source, limits: Limits) -> Observations:
    """Reads a document through libxml2 and returns its observations.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or exceeds a limit.
    """
    target = _Target(limits)
    judge = Judge(target=target)
    rejection = None
    for window in source.windows():
        rejection = judge.feed(bytes(window))
        if rejection is not None:
            break
    rejection = rejection or judge.finish()
    if rejection is not None:
        reason, hint, line, column = rejection
        raise DocumentError(reason, hint, source.name, line, column)
    if target.problem and not judge.warned:
        raise DocumentError(target.problem, file=source.name)
    target.seen.documents = 1
    return target.seen


def observe_tree(source: Source, limits: Limits) -> Observations:
    """Parses a document into a tree and returns the tree's observations.

    For documents whose entities hold elements: libxml2 gives these elements one namespace in a tree
        and
    another in its events, and queries are evaluated on the tree.

    Raises:
        DocumentError: The document is larger than what may be evaluated whole, or not well-formed.
    """
    document = b"".join(map(bytes, source.windows()))
    if len(document) > limits.whole_bytes:
        raise DocumentError(limits.passed("whole_bytes"), RAISE, source.name)
    target = _Target(limits)
    events = ("start", "end", "comment", "pi")
    try:
        root = parse_tree(document).getroot()
    except etree.XMLSyntaxError as error:
        message = (error.msg or "").rsplit(", line ", 1)[0]
        reason, hint, line, column = rejection_of(error.code, message, *(error.position or (0, 0)))
        raise DocumentError(reason, hint, source.name, line, column) from None
    for event, node in etree.iterwalk(root, events):
        if event == "start":
            above = {} if node.getparent() is None else node.getparent().nsmap
            target.start(node.tag, node.attrib, dict(node.nsmap.items() - above.items()))
            if node.text is not None:
                target.data(node.text)
            continue
        if event == "end":
            target.end(node.tag)
        else:
            target.comment(node.text)
        if node.tail is not None:
            target.data(node.tail)
    target.seen.documents = 1
    return target.seen


class _Scope:
    """The namespace bindings in scope, by prefix and by namespace."""

    def __init__(self, bindings: Mapping[str, str]) -> None:
        self.bindings = bindings
        self._written: dict[tuple[str, bool], str | None] = {}

    def written(self, name: str, attribute: bool = False) -> str | None:
        """Returns a name as written; None if several prefixes are bound to its namespace."""
        key = (name, attribute)
        if key not in self._written:
            uri, local = namespace_of(name), local_of(name)
            prefixes = [p for p, u in self.bindings.items() if u == uri and (p or not attribute)]
            if not uri or uri == XML_NAMESPACE:
                prefixes = ["xml" if uri else ""]
            prefix = prefixes[0] if len(prefixes) == 1 else None
            spelling = f"{prefix}:{local}" if prefix else local
            self._written[key] = None if prefix is None else spelling
        return self._written[key]


class _Open:
    """An open element: its observations, its scope, and the number of children by name."""

    __slots__ = ("children", "last", "scope", "seen")

    def __init__(self, seen: ElementObservations, scope: _Scope) -> None:
        self.seen = seen
        self.scope = scope
        self.children: dict[str, int] = {}
        self.last = ""


class _Target:
    """A target of lxml's parser that records observations."""

    def __init__(self, limits: Limits) -> None:
        self.seen = Observations()
        self.problem = ""  # an error that libxml2 would report only while building a tree
        self._limits = limits
        self._stack: list[_Open] = []
        self._outside = _Scope({})
        self._ids: set[str] = set()

    def start(self, tag: str, attributes: Mapping[str, str], nsmap: Mapping[str, str]) -> None:
        """Records a start tag."""
        seen, stack = self.seen, self._stack
        element = seen.element(tag)
        scope = self._outside
        if stack:
            scope = stack[-1].scope
            self._note_child(stack[-1], tag)
        else:
            seen.roots[tag] = None
        if len(stack) >= self._limits.depth:
            raise DocumentError(self._limits.passed("depth"), RAISE)
        if nsmap:
            fresh = {prefix or "": uri or "" for prefix, uri in nsmap.items()}
            scope = _Scope({**scope.bindings, **fresh})
            for prefix, uri in fresh.items():
                element.bind(prefix, uri)
        element.count += 1
        element.spellings.add(scope.written(tag))
        for name in attributes:
            element.attributes[name] += 1
            if name.startswith("{"):
                seen.spell_attribute(name, scope.written(name, attribute=True))
        if _XML_ID in attributes:
            self._note_id(attributes[_XML_ID])
        stack.append(_Open(element, scope))

    def _note_child(self, parent: _Open, tag: str) -> None:
        child = parent.seen.child(tag)
        times = parent.children[tag] = parent.children.get(tag, 0) + 1
        if times == 1:
            child.parents += 1
        else:
            child.repeated = True
        if parent.last not in ("", tag):
            parent.seen.successions.add((parent.last, tag))
        parent.last = tag

    def _note_id(self, value: str) -> None:
        problem = id_problem(value)
        if value in self._ids:
            problem = f"xml:id {value[:100]!r} is there twice"
        self._ids.add(value)
        self.problem = self.problem or problem

    def end(self, tag: str) -> None:
        """Handles an end tag."""
        self._stack.pop()

    def data(self, text: str) -> None:
        """Records characters; an empty CDATA section counts."""
        blank = text and not text.strip(_SPACE)
        self._note(ElementContent.SPACE if blank else ElementContent.TEXT)

    def comment(self, text: str) -> None:
        """Records a comment."""
        self._note(ElementContent.OTHER)

    def pi(self, target: str, data: str | None = None) -> None:
        """Records a processing instruction."""
        self._note(ElementContent.OTHER)

    def _note(self, content: ElementContent) -> None:
        if self._stack:
            self._stack[-1].seen.content |= content

    def close(self) -> None:
        """Ends the document."""
