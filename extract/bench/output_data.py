"""Documents and FLWR queries as in the paper on YFilter's message broker: Book and Bib."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from extract.schema.model import Schema

ELEMENTS: Final = 83  # of a document, or one less
ANYWHERE: Final = 0.2  # how often a step is `//`
_VALUES: Final = 100  # from 1 on
_BINDING, _INNER = 3, 2  # the most steps of a path that binds, and of one that starts there

BOOK: Final = {
    "book": ("title", "author", "section"),
    "author": ("first", "last"),
    "section": ("title", "p", "figure", "section"),
    "figure": ("title", "image"),
}
BIB: Final = {
    "bib": ("book",),
    "book": ("title", "author", "editor", "publisher", "price"),
    "author": ("last", "first"),
    "editor": ("last", "first", "affiliation"),
}


class OutputData(NamedTuple):
    """A kind of documents.

    Attributes:
        root: The name of the document element.
        children: The children that each element may have; others have a number from 1 to 100.
        document: Makes a document.
    """

    root: str
    children: Mapping[str, tuple[str, ...]]
    document: Callable[[random.Random], bytes]

    def schema(self) -> Schema:
        """What documents of this kind keep to."""
        names = sorted({*self.children, *[one for some in self.children.values() for one in some]})
        models = {name: "|".join(self.children.get(name, ("#PCDATA",))) for name in names}
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, f"{self.root}.dtd")
            lines = [f"<!ELEMENT {name} ({model})*>\n" for name, model in models.items()]
            file.write_text("".join(lines))
            return Schema.load(file, self.root)

    def query(
        self,
        chance: random.Random,
        predicates: int,
        returns: int,
        anywhere: float = ANYWHERE,
        texts: bool = False,
    ) -> str:
        """A query with so many predicates and return paths, and `//` so often.

        If ``texts``, return paths end in text nodes.
        """
        steps, bound = "", ""
        while bound not in self.children:
            steps, bound = self._path(chance, self.root, _BINDING, anywhere)
        tests = [
            f"$s{self._path(chance, bound, _INNER, anywhere)[0]} = {chance.randint(1, _VALUES)}"
            for _ in range(predicates)
        ]
        where = f" where {' and '.join(tests)}" if tests else ""
        paths = [self._path(chance, bound, _INNER, anywhere)[0] for _ in range(returns)]
        made = "".join(f"{{$s{path}{'/text()' if texts else ''}}}" for path in paths)
        return f"for $s in /{self.root}{steps}{where} return <r>{made}</r>"

    def queries(
        self,
        count: int,
        predicates: int = 1,
        returns: int = 2,
        anywhere: float = ANYWHERE,
        texts: bool = False,
    ) -> list[str]:
        """So many queries, all different."""
        chance, different = random.Random(f"{count} {predicates} {returns}"), dict[str, None]()
        while len(different) < count:
            different[self.query(chance, predicates, returns, anywhere, texts)] = None
        return list(different)

    def documents(self, count: int) -> list[bytes]:
        """So many documents."""
        chance = random.Random(3)
        return [self.document(chance) for _ in range(count)]

    def _path(
        self, chance: random.Random, start: str, most: int, anywhere: float
    ) -> tuple[str, str]:
        """Steps from an element that some document has, and the name at their end."""
        steps, name = "", start
        for _ in range(chance.randint(1, most)):
            if name not in self.children:
                break
            far = chance.random() < anywhere
            name = chance.choice(self._below(name) if far else self.children[name])
            steps += f"//{name}" if far else f"/{name}"
        return steps, name

    def _below(self, name: str) -> list[str]:
        """The names of all descendants."""
        found, left = dict[str, None](), [name]
        while left:
            new = [one for one in self.children.get(left.pop(), ()) if one not in found]
            found.update(dict.fromkeys(new))
            left += new
        return list(found)


class _Writer:
    """Writes elements, until there are enough."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.parts: list[str] = []
        self.count = 0

    @property
    def left(self) -> int:
        """The number of elements that may follow."""
        return ELEMENTS - self.count

    def leaves(self, *names: str) -> None:
        for name in names[: max(0, self.left)]:
            self.count += 1
            self.parts.append(f"<{name}>{self.chance.randint(1, _VALUES)}</{name}>")

    def element(self, name: str, content: Callable[[], None]) -> None:
        if self.left > 1:  # room for a child: an empty element is no number for XQuery
            self.count += 1
            self.parts.append(f"<{name}>")
            content()
            self.parts.append(f"</{name}>")


def _book(chance: random.Random) -> bytes:
    out = _Writer(chance)

    def section(depth: int) -> None:
        out.leaves("title")
        for _ in range(chance.randint(2, 4)):
            kind = chance.choice(("p", "p", "figure", "section"))
            if kind == "section" and depth < 3:
                out.element("section", lambda: section(depth + 1))
            elif kind == "figure":
                out.element("figure", lambda: out.leaves("title", "image"))
            else:
                out.leaves("p")

    def content() -> None:
        out.leaves("title")
        out.element("author", lambda: out.leaves("first", "last"))
        while out.left > 1:
            out.element("section", lambda: section(1))

    out.element("book", content)
    return "".join(out.parts).encode()


def _bib(chance: random.Random) -> bytes:
    out = _Writer(chance)

    def book() -> None:
        out.leaves("title")
        for _ in range(chance.randint(1, 2)):
            out.element("author", lambda: out.leaves("last", "first"))
        if chance.random() < 0.3:
            out.element("editor", lambda: out.leaves("last", "first", "affiliation"))
        out.leaves("publisher", "price")

    def content() -> None:
        while out.left > 1:
            out.element("book", book)

    out.element("bib", content)
    return "".join(out.parts).encode()


KINDS: Final = {
    "Book": OutputData("book", BOOK, _book),
    "Bib": OutputData("bib", BIB, _bib),
}
