"""Documents in another encoding, or with declarations that change no node, as plain UTF-8.

The kernel and the push engine take UTF-8 without an internal subset. For most other documents
there is one that has the same nodes and is plain: transcoded, with the declaration of its encoding
blanked out, and those of elements, of attributes of type CDATA without a default, and of entities
that nothing refers to. Offsets in it are mapped back (`PlainForm.originals`).

Comments in a subset stay: for libxml2 they may precede elements. So do attributes of other types,
whose values it normalises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from extract.markup.encodings import Numbers, Transcoder, Unmappable, find_encoding

_HEAD: Final = 1_024
_ENCODING: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml[ \t\r\n][^>]*?([ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*"""
    rb"""(?:"([^"]*)"|'([^']*)'))"""
)
_WIDE: Final = {"utf-16-le": b"utf-16", "utf-16-be": b"utf-16"}
_NAME: Final = rb"[A-Za-z_][A-Za-z0-9_.-]*"
_ENTITY: Final = (
    rb"<!ENTITY[ \t\r\n]+(?!(?:lt|gt|amp|apos|quot)[ \t\r\n])" + _NAME + rb"[ \t\r\n]+"
    rb"""(?:"[ !#$'-;=-~]*"|'[ -$(-;=-~]*')[ \t\r\n]*>"""
)
_QNAME: Final = _NAME + rb"(?::" + _NAME + rb")?"
_ATTRIBUTES: Final = (
    rb"<!ATTLIST[ \t\r\n]+" + _QNAME + rb"(?:[ \t\r\n]+" + _QNAME + rb"[ \t\r\n]+CDATA"
    rb"[ \t\r\n]+#(?:IMPLIED|REQUIRED))*[ \t\r\n]*>"
)


def _group(part: bytes) -> bytes:
    """Parts of a content model in brackets, all of them one after the other, or a choice."""
    space = rb"[ \t\r\n]*"
    several = [rb"(?:" + space + by + space + part + rb")*+" for by in (rb",", rb"\|")]
    return rb"\(" + space + part + rb"(?:" + rb"|".join(several) + rb")" + space + rb"\)[?*+]?"


_SINGLE: Final = _QNAME + rb"[?*+]?"
_NESTED: Final = rb"(?:" + _SINGLE + rb"|" + _group(_SINGLE) + rb")"
_MIXED: Final = (
    rb"\([ \t\r\n]*#PCDATA[ \t\r\n]*(?:\)\*?|(?:\|[ \t\r\n]*" + _QNAME + rb"[ \t\r\n]*)+\)\*)"
)
_ELEMENT: Final = (
    rb"<!ELEMENT[ \t\r\n]+"
    + _QNAME
    + rb"[ \t\r\n]+(?:EMPTY|ANY|"
    + _MIXED
    + rb"|"
    + _group(_NESTED)
    + rb")[ \t\r\n]*>"
)
_DECLARED: Final = re.compile(rb"<!ELEMENT[ \t\r\n]+([^ \t\r\n]+)")
# Of the document type, what is before the internal subset; and this, if it declares what changes no
# node: entities have plain text.
_SUBSET: Final = re.compile(
    rb"""((?:\xef\xbb\xbf)?(?:<\?xml[ \t\r\n][^<>]*\?>)?[ \t\r\n]*<!DOCTYPE[ \t\r\n]+"""
    + _QNAME
    + rb"""[ \t\r\n]*(?:[ \t\r\n](?:SYSTEM|PUBLIC)(?:[^<>\["']|"[^<>\["]*"|'[^<>\[']*')*+)?\[)"""
    + rb"((?:[ \t\r\n]*+(?:"
    + rb"|".join((_ENTITY, _ELEMENT, _ATTRIBUTES))
    + rb"""))++[ \t\r\n]*+)\]"""
)
# One that declares attributes, elements and notations, too, and entities whose text refers to no
# other; nothing outside of the document.
_LITERAL: Final = rb"""(?:"(?:[^"%&]|&#)*"|'(?:[^'%&]|&#)*')"""
_COMMENT: Final = rb"<!--(?:[^-]|-[^-])*+-->"
_TAME: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t\r\n]|<\?(?:[^?]|\?(?!>))*+\?>|"
    + _COMMENT
    + rb""")*+<!DOCTYPE[ \t\r\n]++[^<>\["']*\[(?:[ \t\r\n]|<!ENTITY[ \t\r\n]+[^ %<>"']+[ \t\r\n]+"""
    + _LITERAL
    + rb"""[ \t\r\n]*>|<!(?:ATTLIST|ELEMENT|NOTATION)[ \t\r\n]"""
    rb"""(?:[^%<>"'&]|"[^"%<&]*"|'[^'%<&]*')*+>|""" + _COMMENT + rb""")*+\][ \t\r\n]*>"""
)


@dataclass
class PlainForm:
    """A plain document with the nodes of another one.

    Attributes:
        data: The plain document.
        source: The other one.
        codec: Python's name of its encoding; empty if offsets are the same in both.
    """

    data: bytes
    source: bytes
    codec: str

    def originals(self, offsets: Numbers) -> Numbers:
        """The offsets in the other document of characters at offsets in the plain one."""
        return self._transcoder.originals(offsets) if self.codec else offsets

    @cached_property
    def _transcoder(self) -> Transcoder:
        transcoder = Transcoder(self.codec)
        transcoder.feed(self.source, True)
        return transcoder


def plain_form(source: bytes) -> PlainForm | None:
    """Returns a plain document with the same nodes; None if this one is plain, or there is none.

    Whether it is well-formed is not looked at: the plain one is, exactly if this one is.

    >>> form = plain_form('<?xml version="1.0" encoding="latin1"?><é/>'.encode("latin1"))
    >>> form.data.decode(), form.originals(__import__("numpy").array([42])).tolist()
    ('<?xml version="1.0"                  ?><é/>', [41])
    >>> plain_form(b'<!DOCTYPE a [<!ENTITY e "x">]><a/>').data
    b'<!DOCTYPE a [               ]><a/>'
    >>> plain_form(b'<!DOCTYPE a [<!ELEMENT a (b?, (c | d)*)> <!ATTLIST a x CDATA "1">]><a/>')
    >>> plain_form(b'<!DOCTYPE a [<!ELEMENT a (b?, (c | d)*)>]><a/>').data
    b'<!DOCTYPE a [                           ]><a/>'
    >>> plain_form(b"<a/>") is None
    True
    """
    encoding = find_encoding(source[:_HEAD], True)
    if encoding is None or not encoding.codec:
        return None
    data, codec = source, ""
    if encoding.codec != "utf-8":
        codec = encoding.codec
        text = _transcoded(source, codec)
        if text is None:
            return None
        data = text
    subset = _SUBSET.match(data)
    if subset is not None and _is_accepted(subset[2]):
        data = _blanked(data, *subset.span(2))
    return PlainForm(data, source, codec) if data is not source else None


def is_tame(source: bytes, most: int) -> bool:
    """Whether what a document declares can do no harm to whoever reads it at once: its entities
    refer to none, and make it no longer than some bytes.

    >>> is_tame(b'<!DOCTYPE a [<!ENTITY e "xx"> <!ATTLIST a b ID #IMPLIED>]><a>&e;</a>', 1000)
    True
    >>> is_tame(b'<!DOCTYPE a [<!ENTITY e "xx"> <!ENTITY f "&e;&e;">]><a>&f;</a>', 1000)
    False
    >>> is_tame(b'<!-- <!DOCTYPE a []> --><!DOCTYPE a [<!ENTITY % p SYSTEM "x">]><a/>', 1000)
    False
    """
    declared = _TAME.match(source, 0, 1 << 14)  # the first one: another may be in a comment
    encoding = find_encoding(source[:_HEAD], True)
    if declared is None or encoding is None or not encoding.codec:
        return False
    return len(source) + source.count(b"&") * (declared.end() - declared.start()) <= most


def _is_accepted(declarations: bytes) -> bool:
    """Whether libxml2 takes declarations that are well-formed: each element is declared once, and
    what begins with xml has its own rules."""
    elements = _DECLARED.findall(declarations)
    return len(set(elements)) == len(elements) and b"xml:" not in declarations


def _transcoded(source: bytes, codec: str) -> bytes | None:
    """The document in UTF-8, which its declaration does not deny; None if that cannot be."""
    try:
        text = source.decode(codec)
        if codec not in _WIDE and text.encode(codec) != source:
            return None  # not the usual way to write it: offsets could not be mapped
        data = text.encode("utf-8")
    except (UnicodeError, Unmappable):
        return None
    declared = _ENCODING.match(data)
    if declared is None:
        return data
    name = (declared[2] or declared[3] or b"").lower()
    if codec in _WIDE and name != _WIDE[codec]:
        return None
    return _blanked(data, *declared.span(1))


def _blanked(data: bytes, first: int, end: int) -> bytes:
    return b"".join((data[:first], b" " * (end - first), data[end:]))
