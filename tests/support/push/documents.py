"""Random small documents with all that makes values different from bytes."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.support.push.vocabulary import ATTRIBUTES, ELEMENTS, VALUES

_PROLOGS: Final = (
    b"",
    b"",
    b"",
    b"<?xml version='1.0'?>\n",
    b"<!-- before --><?pi x?>\n",
    b"\xef\xbb\xbf",
)


class DocumentWriter:
    """Writes one document.

    Args:
        random: Where choices come from.
        elements: How many elements it has, about.
        depth: How deep elements may be.
    """

    def __init__(self, random: Random, elements: int, depth: int = 8) -> None:
        self._random = random
        self._left = elements
        self._depth = depth
        self._out: list[str] = []

    def document(self) -> bytes:
        """The document."""
        self._element(1, ())
        text = "".join(self._out)
        return (
            self._random.choice(_PROLOGS)
            + text.encode()
            + self._random.choice((b"", b"\n<!-- after -->"))
        )

    def _element(self, depth: int, bound: tuple[str, ...]) -> None:
        random = self._random
        self._left -= 1
        attributes: list[str] = []
        if random.randrange(8) == 0:
            prefix = random.choice(("p", "q", "r", ""))
            uri = random.choice(("urn:u", "urn:v"))
            attributes.append(f"xmlns{':' if prefix else ''}{prefix}={self._quoted(uri)}")
            bound = (*bound, prefix) if prefix else bound
        prefix = f"{random.choice(bound)}:" if bound and random.randrange(3) == 0 else ""
        tag = prefix + random.choice(ELEMENTS)
        for name in ATTRIBUTES:
            if random.randrange(4) == 0:
                attributes.append(f"{name}={self._attribute()}")
        if bound and random.randrange(4) == 0:
            # Under another prefix than others, so that no attribute is there twice.
            attributes.append(f"{bound[-1]}:z={self._attribute()}")
            if random.randrange(2):
                attributes.append(f"{bound[-1]}:{random.choice(ATTRIBUTES)}={self._attribute()}")
        random.shuffle(attributes)
        head = "".join([random.choice((" ", "\n ")) + one for one in attributes])
        if random.randrange(8) == 0:
            self._out.append(f"<{tag}{head}/>")
            return
        self._out.append(f"<{tag}{head}>")
        self._content(depth, bound)
        self._out.append(f"</{tag}{random.choice(('', '', ' '))}>")

    def _content(self, depth: int, bound: tuple[str, ...]) -> None:
        random = self._random
        if random.randrange(3):
            self._out.append(self._text())
        while self._left > 0 and depth < self._depth and random.randrange(5):
            self._element(depth + 1, bound)
            if random.randrange(4) == 0:
                self._out.append(random.choice(("\n  ", "<!--x-->", "<?p q?>", self._text())))

    def _quoted(self, value: str) -> str:
        quote = self._random.choice("'\"")
        return f"{quote}{value}{quote}"

    def _attribute(self) -> str:
        random = self._random
        value = random.choice(VALUES).replace("&", "&amp;").replace("<", "&lt;")
        if random.randrange(6) == 0:
            value = random.choice(("\r\n", "&#13;&#10;", "\t", "&#x9;", "\r", "&#49;")) + value
        elif random.randrange(6) == 0:
            value = value.replace("1", "&#49;").replace("x", "&#x78;")
        return self._quoted(value)

    def _text(self) -> str:
        random = self._random
        value = random.choice(VALUES)
        kind = random.randrange(10)
        if kind < 5:
            return _escaped(value)
        if kind == 5:
            return f"<![CDATA[{value.replace(']]', ']')}]]>"
        if kind == 6:
            return (
                _escaped(value).replace("1", "&#49;").replace("x", "&#x78;").replace("é", "&#233;")
            )
        at = random.randrange(len(value) + 1)
        between = random.choice(
            ("<!--x-->", "<?p q?>", "<![CDATA[]]>", "\r\n", "\r", "&amp;", "<d/>")
        )
        return _escaped(value[:at]) + between + _escaped(value[at:])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]", "]&#93;")
