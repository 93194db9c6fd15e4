"""Reads a DTD with all its modules through libxml2, into plain values with names as written.

lxml's content models lose the prefixes of names (``dc:title`` is just ``title`` there), and its
`DTD` class neither takes a resolver nor says when a module is missing. So the DTD is read as the
internal subset of an empty document: every external entity then comes through our resolver, every
problem is in the error log, and the serialised subset has each declaration once, with parameter
entities and conditional sections resolved. libxml2's limits against entity bombs stay on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

from lxml import etree

from extract.errors import SchemaError
from extract.schema.files import SchemaFiles, decoded, local_path
from extract.schema.model import Attribute, Particle, Text


@dataclass(frozen=True, slots=True)
class DtdElement:
    """One element type of a DTD.

    Attributes:
        name: As written: ``dc:title``.
        names: The elements in the content model, as written, in order of their first mention.
        text: Which text may occur.
        content: The content model; `Particle.element` is an index into ``names``.
        open: Declared as ``ANY``.
        attributes: As written, without namespace declarations.
        bindings: The namespace declarations with a fixed or default value, by prefix.
    """

    name: str
    names: tuple[str, ...] = ()
    text: Text = Text.ANY
    content: Particle | None = None
    open: bool = False
    attributes: tuple[Attribute, ...] = ()
    bindings: Mapping[str, str] = field(default_factory=dict)


def read_dtd(files: SchemaFiles) -> dict[str, DtdElement]:
    """All declared element types, by name as written, in order of declaration.

    Raises:
        SchemaError: The DTD or one of its modules is missing, broken, or on the network.
    """
    files.read(files.main)
    parser = etree.XMLParser(
        load_dtd=True,
        no_network=True,
        resolve_entities=True,  # in attribute defaults; the document itself is ours
        remove_comments=True,
        remove_pis=True,
    )
    parser.resolvers.add(_Modules(files))
    main = f"""<!DOCTYPE r [<!ENTITY % _.main SYSTEM "{files.main.as_uri()}"> %_.main;]><r/>"""
    try:
        tree = etree.fromstring(main, parser).getroottree()
    except etree.XMLSyntaxError as error:
        _check(parser.error_log, files)
        raise SchemaError(error.msg, "", files.given) from error
    _check(parser.error_log, files)
    subset = etree.tostring(tree, encoding="unicode")
    _check_attributes(subset, files)
    contents = _content_models(subset)
    declared = tree.docinfo.internalDTD.iterelements()
    return {
        name: _element(name, content, declaration)
        for (name, content), declaration in zip(contents, declared, strict=True)
    }


class _Modules(etree.Resolver):  # type: ignore[misc]
    """Gives libxml2 the modules of a DTD, from local files only."""

    def __init__(self, files: SchemaFiles) -> None:
        self._files = files
        self._declared: dict[str, _Reference] = {}
        self._seen: dict[Path, str] = {}

    def resolve(self, system_url: str, public_id: str | None, context: Any) -> Any:
        """Called by libxml2 for every external entity that is used."""
        files = self._files
        path = files.main
        if system_url != path.as_uri():
            at = self._declared.get(system_url) or self._mention(system_url)
            path = files.locate(at.written, at.file, at.line, public_id or "", at.entity)
        content = files.read(path)
        if path not in self._seen:
            self._seen[path] = decoded(content)
            for reference in _references(path, self._seen[path]):
                self._declared.setdefault(urljoin(path.as_uri(), reference.written), reference)
        return self.resolve_string(content, context, base_url=path.as_uri())

    def _mention(self, address: str) -> _Reference:
        """The best guess for an address that is put together from parameter entities."""
        name = address.rpartition("/")[2]
        for path, text in self._seen.items():
            if name in text:
                return _Reference("an entity", address, path, _line(text, text.index(name)))
        return _Reference("an entity", address, self._files.main, 0)


@dataclass(frozen=True, slots=True)
class _Reference:
    """Where an external parameter entity is declared. Only for messages."""

    entity: str
    written: str
    file: Path
    line: int


_EXTERNAL = re.compile(
    r"""<!ENTITY\s+%\s+(\S+)\s+(?:SYSTEM|PUBLIC\s+(?:"[^"]*"|'[^']*'))\s+("[^"]*"|'[^']*')"""
)


def _references(file: Path, text: str) -> list[_Reference]:
    return [
        _Reference(f"entity %{m[1]};", m[2][1:-1], file, _line(text, m.end(1)))
        for m in _EXTERNAL.finditer(text)
    ]


def _line(text: str, position: int) -> int:
    """The line of a position, from 1, with any kind of line end."""
    return len(re.findall(r"\r\n?|\n", text[:position])) + 1


_UNDECLARED = re.compile(r"Entity '(.*)' not defined")


def _check(log: Any, files: SchemaFiles) -> None:
    """Raises for the first problem in libxml2's log; what is only a warning becomes a note."""
    for entry in log:
        path = local_path(entry.filename) if entry.filename.startswith("file:") else None
        place = files.show(path) if path else files.given
        line = entry.line if path else 0
        undeclared = _UNDECLARED.match(entry.message)
        if undeclared:
            raise SchemaError(
                f"parameter entity %{undeclared[1]}; is used but not declared",
                "is the module that declares it missing, or declared too late?",
                place,
                line,
            )
        if entry.type_name == "ERR_INVALID_URI":
            hint = "a system identifier is a URI: a space is %20"
            raise SchemaError(entry.message, hint, place, line)
        if entry.level >= etree.ErrorLevels.ERROR:
            raise SchemaError(f"not a DTD that can be read: {entry.message}", "", place, line)
        files.note(f"{place}:{line}: {entry.message}")


MAX_ATTRIBUTES = 5_000

# One declaration, quoted strings taken whole: an entity's value may look like a declaration.
_DECLARATION = re.compile(r"""<!([A-Z]+)\s+((?:[^"'>]|"[^"]*"|'[^']*')*)>""")


def _check_attributes(subset: str, files: SchemaFiles) -> None:
    """Refuses elements with so many attributes that lxml takes for ever to list them."""
    declared = (m[2].split(None, 1)[0] for m in _DECLARATION.finditer(subset) if m[1] == "ATTLIST")
    for name, count in Counter(declared).items():
        if count > MAX_ATTRIBUTES:
            reason = f"the element {name} has more than {MAX_ATTRIBUTES:,} attributes"
            raise SchemaError(reason, "", files.given)


def _content_models(subset: str) -> list[tuple[str, str]]:
    """Name and content model of every element declaration in a serialised document type."""
    inside = subset[subset.index("[") + 1 :]
    declarations = (m[2] for m in _DECLARATION.finditer(inside) if m[1] == "ELEMENT")
    return [(name, content) for name, content in (d.split(None, 1) for d in declarations)]


def _element(name: str, content: str, declaration: Any) -> DtdElement:
    attributes, bindings = [], {}
    for attribute in declaration.iterattributes():
        prefix, local = attribute.prefix, attribute.name
        if prefix == "xmlns" or (prefix is None and local == "xmlns"):
            if attribute.default_value is not None:
                bindings[local if prefix else ""] = attribute.default_value
            continue
        attributes.append(
            Attribute(
                f"{prefix}:{local}" if prefix else local,
                attribute.type.upper(),
                attribute.default == "required",
                attribute.default_value,
                attribute.default == "fixed",
                tuple(attribute.itervalues()),
            )
        )
    element = DtdElement(name, attributes=tuple(attributes), bindings=bindings)
    if content.strip() == "ANY":
        return replace(element, open=True)
    if content.strip() == "EMPTY":
        return replace(element, text=Text.NONE)
    names: dict[str, int] = {}
    particle = _parse_content(content, names)
    text = Text.ANY if "#PCDATA" in content else Text.SPACE
    return replace(element, names=tuple(names), text=text, content=particle)


_TOKEN = re.compile(r"[(),|*+?]|[^\s(),|*+?]+")
_OCCURS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def _parse_content(content: str, names: dict[str, int]) -> Particle | None:
    """A content model as a particle, numbering the names; None if it holds only text.

    >>> names = {}
    >>> model = _parse_content("(a , (b | c)*)", names)
    >>> names, model.kind, [(p.kind, p.low, p.high) for p in model.parts]
    ({'a': 0, 'b': 1, 'c': 2}, 'sequence', [('element', 1, 1), ('choice', 0, None)])
    """
    tokens = _TOKEN.findall(content)
    position = 0

    def item() -> Particle | None:
        nonlocal position
        token = tokens[position]
        position += 1
        particle: Particle | None
        if token == "(":
            particle = group()
        elif token == "#PCDATA":
            particle = None
        else:
            particle = Particle("element", element=names.setdefault(token, len(names)))
        if position < len(tokens) and tokens[position] in _OCCURS:
            low, high = _OCCURS[tokens[position]]
            position += 1
            if particle and (particle.low, particle.high) == (1, 1):
                particle = replace(particle, low=low, high=high)
            elif particle:
                particle = Particle("sequence", low, high, parts=(particle,))
        return particle

    def group() -> Particle | None:
        nonlocal position
        kind: Literal["sequence", "choice"] = "sequence"
        parts = []
        while tokens[position] != ")":
            if tokens[position] in ",|":
                kind = "choice" if tokens[position] == "|" else "sequence"
                position += 1
            else:
                parts.append(item())
        position += 1
        elements = tuple(part for part in parts if part)
        if not elements:
            return None
        return elements[0] if len(parts) == 1 else Particle(kind, parts=elements)

    return item()
