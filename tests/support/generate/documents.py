"""Random documents of a schema, from a dozen nodes to many megabytes.

Two kinds:

* ``strict``: valid, in the schema's order and numbers (values too, as far as the model knows their
  types: built-in ones and enumerations);
* not ``strict``: *edge-conforming*. Every child and attribute is one that the schema allows in its
  parent, but in any order and number, required ones missing, text anywhere. Rewrites may use
  nothing of a schema but its edges, so these are the documents that find the rule that uses more.

Both have odd things in odd places (see `tests.support.generate.markup`), any prefix for a
namespace, and whatever the schema leaves open.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from extract.schema.conformance import first_violation
from extract.schema.model import Schema, local_of, namespace_of
from tests.support.generate.body import Body
from tests.support.generate.draw import chance, pick
from tests.support.generate.facts import Facts
from tests.support.generate.markup import Markup
from tests.support.generate.oracle import parse
from tests.support.generate.tags import Sabotage, Tags
from tests.support.generate.vocabulary import ENTITIES, MARKUP_ENTITIES


@dataclass(frozen=True, slots=True)
class Options:
    """What a document is to look like.

    Attributes:
        size: About how many elements, where the schema allows as many; a few more if it requires
            them, fewer at times.
        depth: How deep elements nest, more only where the schema requires it. libxml2 takes 2048.
        strict: Valid, or only edge-conforming.
        odd: How many of a hundred chances for something odd are taken; 0 gives plain XML.
        doctype: Whether there may be an internal subset with entities (for text only) and ``ID``
            declarations.
        markup_entities: Whether there is one with entities that hold comments, PIs and elements.
        encoding: Of the bytes.
    """

    size: int = 30
    depth: int = 8
    strict: bool = True
    odd: int = 10
    doctype: bool = True
    markup_entities: bool = False
    encoding: str = "utf-8"


_DEFAULT = Options()


def document(
    rng: Random,
    schema: Schema,
    *,
    size: int = 30,
    depth: int = 8,
    strict: bool = True,
    odd: int = 10,
    doctype: bool = True,
    markup_entities: bool = False,
    encoding: str = "utf-8",
) -> bytes:
    """One document; for many of one schema make a `Documents` once. See `Options`."""
    options = Options(size, depth, strict, odd, doctype, markup_entities, encoding)
    return Documents(schema).document(rng, options)


def wrong_document(
    rng: Random, schema: Schema, *, size: int = 30, depth: int = 8, odd: int = 10
) -> bytes:
    """A document with one edge that the schema does not have.

    A child or an attribute that is not declared there, another root, another namespace.
    """
    return Documents(schema).wrong(rng, Options(size, depth, odd=odd))


class Documents:
    """Writes documents of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._facts = Facts(schema)

    def document(self, rng: Random, options: Options = _DEFAULT) -> bytes:
        """One document."""
        pieces: list[str] = []
        self.write(rng, pieces.append, options)
        return _encoded("".join(pieces), options.encoding)

    def write(
        self, rng: Random, write: Callable[[str], object], options: Options = _DEFAULT
    ) -> int:
        """Writes one document piece by piece, however large; returns its number of elements.

        Pieces are text; the sink encodes them in ``options.encoding`` (``open(…, encoding=…,
        errors="xmlcharrefreplace", newline="")`` will do).
        """
        return self._write(rng, write, options, None)

    def wrong(self, rng: Random, options: Options = _DEFAULT) -> bytes:
        """One document that does not conform to the schema's edges."""
        for attempt in range(100):
            kind = pick(rng, ("child", "attribute", "name", "namespace"))
            # Whatever is open further down, the root is not.
            place = rng.randrange(max(1, options.size // 2)) if attempt < 20 else 0
            pieces: list[str] = []
            self._write(rng, pieces.append, options, Sabotage(kind, place))
            text = _encoded("".join(pieces), options.encoding)
            if first_violation(self.schema, parse(text).tree) is not None:
                return text
        raise ValueError("the schema allows everything")

    def _write(
        self,
        rng: Random,
        write: Callable[[str], object],
        options: Options,
        sabotage: Sabotage | None,
    ) -> int:
        subset = options.markup_entities or (options.doctype and chance(rng, 3 * options.odd))
        markup = Markup(rng, options.odd, subset, options.markup_entities)
        entities = self._element_entities(rng, options) if options.markup_entities else {}
        write(self._prolog(rng, markup, options, list(entities.values())))
        tags = Tags(rng, self._facts, markup, write, options.strict)
        names = {key: f"el{number}" for number, key in enumerate(entities)}
        with _deep_stack(options.depth):
            count = Body(tags, sabotage, names).root(options.size, options.depth)
        while chance(rng, 2 * options.odd):
            write(markup.aside(space=True))
        return count

    def _element_entities(self, rng: Random, options: Options) -> dict[int, str]:
        """A few elements to be held by entities, as written, by declaration.

        Only those that mean the same anywhere: no namespace, no identifier, no ``xsi:type``.
        """
        found: dict[int, str] = {}
        for declaration in self.schema.declarations:
            names = [declaration.name, *(a.name for a in declaration.attributes)]
            types = {a.type.rpartition(":")[2] for a in declaration.attributes}
            if (
                self._facts.height_of(declaration.key) == 1
                and not any(namespace_of(name) for name in names)
                and not types & {"ID", "IDREF", "IDREFS"}
                and not declaration.nillable
                and not self._facts.type_name(declaration)
                and not any(w.admits("{urn:o}k") for w in declaration.attribute_wildcards)
                and chance(rng, 50)
            ):
                pieces: list[str] = []
                tags = Tags(rng, self._facts, Markup(rng, 0), pieces.append, options.strict)
                Body(tags).element(declaration.key)
                found[declaration.key] = "".join(pieces)
        return found

    def _prolog(
        self, rng: Random, markup: Markup, options: Options, elements: Sequence[str]
    ) -> str:
        parts = []
        if options.encoding.lower() != "utf-8" or chance(rng, 3 * options.odd):
            quote = pick(rng, "\"'")
            parts.append(
                f"<?xml version={quote}1.0{quote} encoding={quote}{options.encoding}{quote}?>"
            )
        elif chance(rng, options.odd // 2):
            parts.append("\ufeff")
        while chance(rng, 2 * options.odd):
            parts.append(markup.aside(space=bool(parts)))
        if markup.entities:
            parts.append(self._doctype(rng, options, elements))
            while chance(rng, 2 * options.odd):
                parts.append(markup.aside(space=True))
        return "".join(parts)

    def _doctype(self, rng: Random, options: Options, elements: Sequence[str]) -> str:
        lines = [f"<!ENTITY {name} '{value}'>" for name, value in ENTITIES.items()]
        if options.markup_entities:
            lines += [f"<!ENTITY {name} '{value}'>" for name, value in MARKUP_ENTITIES.items()]
            for number, text in enumerate(elements):
                value = text.replace("%", "&#37;").replace("'", "&#39;")
                lines.append(f"<!ENTITY el{number} '{value}'>")
        if chance(rng, 50):  # makes id() work; names as written, so only those without a namespace
            lines += dict.fromkeys(
                f"<!ATTLIST {d.name} {a.name} ID #IMPLIED>"
                for d in self.schema.declarations
                for a in d.attributes
                if a.type.endswith("ID") and not namespace_of(d.name) and not namespace_of(a.name)
            )
        lines.append(pick(rng, ("", "<!-- <a> ]> -->", "<?t ]> ?>", "<!NOTATION n SYSTEM 'n'>")))
        name = local_of(self.schema.declarations[self.schema.roots[0]].name)
        return f"<!DOCTYPE {name} [{' '.join(lines)}]>"


@contextmanager
def _deep_stack(depth: int) -> Iterator[None]:
    """Room for a document that is deeper than Python's stack usually is."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 15 * depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "xmlcharrefreplace")
