"""Well-formedness by libxml2's verdict, which is the one that counts (TRAPS 20).

libxml2 reads along, window by window, and builds no tree, which takes a third of the time of a
parse. Errors in IDs, which libxml2 reports only while it builds a tree, are found here. The scanner
checks the depth.

A quirk of lxml is preserved: errors that do not stop libxml2, such as an unbound prefix, count only
if no warning follows them, such as a namespace that is a relative URI.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.limits import DEFAULTS
from extract.markup.lxml_parser import make_parser, parse_tree

_NO_ENTITY: Final = r"Entity '(.*)' not defined"
_ERROR: Final = 2  # a level in libxml2's log; lower levels are warnings


class ParserRejection(NamedTuple):
    """Why libxml2 rejects a document.

    Attributes:
        reason: The error in plain words.
        hint: What to do about it.
        line, column: The position by libxml2's count; 0 if unknown.
    """

    reason: str
    hint: str = ""
    line: int = 0
    column: int = 0


class _Nothing:
    """A target that ignores all events."""

    def close(self) -> None:
        return None


class Judge:
    """Reads a document along with a scanner and tells whether libxml2 accepts it.

    Args:
        encoding: The encoding of the bytes, where it differs from the document's declaration.
        target: Receives libxml2's events, as a target of lxml's parsers; by default no one does.

    Attributes:
        external: Entities that the document declares as external; the caller adds them, because
            libxml2 only reports that the entity does not exist.
    """

    def __init__(self, encoding: str | None = None, target: object | None = None) -> None:
        self._parser = make_parser(target or _Nothing(), encoding)
        self.external: set[str] = set()

    def feed(self, data: bytes) -> ParserRejection | None:
        """Reads the next bytes; returns an error if they cannot be well-formed."""
        return self._try(lambda: self._parser.feed(data))

    def finish(self) -> ParserRejection | None:
        """Ends the document; returns an error if it is not well-formed as a whole."""
        rejection = self._try(self._parser.close)
        log = self._parser.feed_error_log
        if rejection is None and len(log) and log[-1].level >= _ERROR:
            last = log[-1]
            return self._rejection(last.type, last.message, last.line, last.column)
        return rejection

    @property
    def warned(self) -> bool:
        """Whether a warning may have hidden an error."""
        return any(entry.level < _ERROR for entry in self._parser.feed_error_log)

    @property
    def misses_entity(self) -> bool:
        """Whether an entity is used that is not declared: an error that a warning may have hidden,
        where there is an external subset."""
        undeclared = etree.ErrorTypes.WAR_UNDECLARED_ENTITY
        return any(entry.type == undeclared for entry in self._parser.feed_error_log)

    def _try(self, read: Callable[[], Any]) -> ParserRejection | None:
        try:
            read()
        except etree.XMLSyntaxError as error:
            return self._rejection(*error_parts(error))
        return None

    def _rejection(self, code: int, message: str, line: int, column: int) -> ParserRejection:
        missing = re.fullmatch(_NO_ENTITY, message.strip())
        if missing is None or missing[1] not in self.external:
            return rejection_of(code, message, line, column)
        reason = f"the entity &{missing[1]}; is external, and such entities are never read"
        return ParserRejection(reason, "write out what it stands for", line, column)


_PLAIN_ID: Final = re.compile("[A-Za-z_][A-Za-z0-9._-]*", re.ASCII)


def id_problem(value: str) -> str:
    """Returns libxml2's objection to a value of ``xml:id``; empty if it has none."""
    if _PLAIN_ID.fullmatch(value):
        return ""
    element = etree.Element("a")
    element.set("{http://www.w3.org/XML/1998/namespace}id", value)
    try:
        parse_tree(etree.tostring(element))
    except etree.XMLSyntaxError:
        return f"xml:id is {value[:100]!r}, which is no name"
    return ""


def mismatched(closing: str, opened: str, where: str = "") -> tuple[str, str]:
    """Returns reason and hint for an end tag that does not match the open element.

    Args:
        closing, opened: The names in the end tag and in the start tag.
        where: The position of the start tag, if known.
    """
    return f"</{closing}> closes <{opened}>", f"close <{opened}>{where} before, or correct the name"


_WORDS: Final[tuple[tuple[str, str, str], ...]] = (
    # libxml2's message, the reason, and the hint
    (
        r"Opening and ending tag mismatch: \S+ line \d+ and unparsable",
        "an end tag that has not just a name",
        "",
    ),
    (
        r"Opening and ending tag mismatch: (\S+) line (\d+) and (\S+)",
        *mismatched(r"\3", r"\1", r", which begins in line \2,"),
    ),
    (
        r"Premature end of data in tag (\S+) line (\d+)",
        r"the document ends before </\1>; <\1> begins in line \2",
        "it may have been cut off on its way",
    ),
    (r"Document is empty|no element found", "the document is empty", ""),
    (
        r"Start tag expected, '<' not found",
        "there is no element where the document element should begin",
        "an XML document has exactly one root element, and no text before it",
    ),
    (
        r"Extra content at the end of the document",
        "something follows the end of the document element",
        "an XML document has exactly one root element, and only comments after it",
    ),
    (r"Attribute (\S+) redefined", r"the attribute \1 is there twice", "keep one of them"),
    (
        r"Namespaced Attribute (\S+) in '(.*)' redefined",
        r"the attribute \1 of the namespace \2 is there twice, with two prefixes",
        "keep one of them",
    ),
    (
        _NO_ENTITY,
        r"the entity &\1; is not declared in the document",
        "external entities and DTDs are never read; declare it in the internal subset",
    ),
    (
        r"Namespace prefix (\S+) on (\S+) is not defined",
        r"the prefix of <\1:\2> is not bound to a namespace",
        r"declare it with xmlns:\1",
    ),
    (
        r"Namespace prefix (\S+) for (\S+) on (\S+) is not defined",
        r"the prefix of the attribute \1:\2 of <\3> is not bound to a namespace",
        r"declare it with xmlns:\1",
    ),
    (
        r"(?:Input is not proper UTF-8|Invalid bytes in character encoding).*",
        "there are bytes that are no character in the document's encoding",
        "if it is in another encoding, its XML declaration must say so",
    ),
    (
        r"Unsupported encoding:? ?(.*)",
        r"the encoding is not supported: \1",
        "convert the document to UTF-8",
    ),
    (
        r"(?:Invalid character: Char|PCDATA invalid Char value) .*",
        "there is a character that XML does not allow",
        "",
    ),
    (
        r"xmlParseCharRef: invalid xmlChar value (\d+)",
        r"&#\1; is no character that XML allows",
        "",
    ),
    (
        r"Unescaped '<' not allowed in attributes values",
        "an attribute's value has a <",
        "write &lt;",
    ),
    (r"Sequence '\]\]>' not allowed in content", "there is a ]]> in a text", "write ]]&gt;"),
    (r"xmlParseEntityRef: no name", "there is an & that begins no reference", "write &amp;"),
    (
        r"EntityRef: expecting ';'",
        "there is an & that begins no reference, or its ; is missing",
        "write &amp; for the character",
    ),
    (
        r"XML declaration allowed only at the start of the document",
        "the XML declaration is not at the very beginning",
        "remove what is before it, white space too",
    ),
    (
        r"Excessive depth in document: .*",
        DEFAULTS.passed("depth"),
        "libxml2 goes no deeper, whatever it is told",
    ),
    (r"AttValue: \" or ' expected", "an attribute's value is not in quotes", ""),
    (r"Specification mandates value for attribute (\S+)", r"the attribute \1 has no value", ""),
    (
        r"Detected an entity reference loop",
        "an entity refers to itself",
        "",
    ),
    (
        r"(Couldn't find end of Start Tag|expected '>'|Comment not terminated|AttValue: ' expected"
        r"|CDATA section not finished|Unterminated|\S*ParsePI: PI|EndTag: '</' not).*",
        r"a tag, comment or the like does not end (\1)",
        "",
    ),
)


def error_parts(error: etree.XMLSyntaxError) -> tuple[int, str, int, int]:
    """Returns code, message, line and column of an error of libxml2."""
    message = (error.msg or "").rsplit(", line ", 1)[0]
    line, column = error.position or (0, 0)
    return error.code, message, line, column


def rejection_of(code: int, message: str, line: int, column: int) -> ParserRejection:
    """Translates libxml2's message into plain words."""
    message = message.strip()
    for pattern, reason, hint in _WORDS:
        if match := re.fullmatch(pattern, message, re.DOTALL):
            return ParserRejection(match.expand(reason).strip(), match.expand(hint), line, column)
    return ParserRejection(message or f"libxml2 rejects it (error {code})", "", line, column)
