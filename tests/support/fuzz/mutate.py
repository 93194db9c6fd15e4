"""Makes documents out of documents, at random but always the same for the same seed."""

from __future__ import annotations

from random import Random

from tests.support.fuzz.documents import DOCUMENTS

SEEDS = [document for document in DOCUMENTS if len(document) < 200]

TOKENS = [
    *(bytes([b]) for b in b"<>/=\"'&;![]-?:# \t\r\nax1.\0\x01\x80\xbf\xc3\xe2\xf0\xff"),
    *b"<a>|</a>|<a/>|<b>|</b>|<b/>|<p:b>|</p:b>|<p:b/>|<b x='1'>|<b x=\"1\" y='2'/>".split(b"|"),
    *b"<!--|-->|--|<!-- c -->|<![CDATA[|]]>|<![CDATA[x]]>|<?|?>|<?p x?>|<?xml-x?>".split(b"|"),
    *b" x=''| x=\"\"| p:x=''| q:x=''| xml:lang=''| xml:id='i'| xml:id='j'|=|=''".split(b"|"),
    *b" xmlns=''| xmlns='urn:x'| xmlns:p='urn:x'| xmlns:q='urn:x'| xmlns:p='urn:y'".split(b"|"),
    *b" xmlns='rel'| xmlns:p=''|xmlns|xml|xmlns:|xml:|p:|:|a:b:c".split(b"|"),
    *b"&lt;|&amp;|&#65;|&#x41;|&#0;|&#xD800;|&#x10FFFF;|&foo;|&#|&#x|&".split(b"|"),
    *b"<?xml version='1.0'?>| encoding='UTF-8'| encoding='ISO-8859-1'| standalone='yes'".split(
        b"|"
    ),
    *b"<!DOCTYPE a>|<!DOCTYPE a [|]>|<!DOCTYPE a SYSTEM 's'>|<!ELEMENT a ANY>".split(b"|"),
    *(c.encode() for c in "é€\U0001f600·×\u037eⰀ\U00010000\ufffd\ufeff"),
    *(b"\xef\xbf\xbe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\r\n"),
    *(b"abcdefghijklmnop", b"abcdefghijklmnopq", b"x" * 15, b" " * 16, b"-" * 17, b"]" * 16),
]


_NAMES = [*b"a b c a.b x-1 p:a p:b q:a xml:a e\xcc\x81".split(), "é".encode(), b"n" * 16, b"m" * 17]
_ATTRIBUTES = [
    *b"x=''|x=\"1\"|y = 'a b'|z=\t\"&lt;&#9;&quot;'\"|p:x=''|q:x='>'|xml:lang='en'|x1='\r\n'".split(
        b"|"
    ),
    *b"xmlns:p='urn:p'|xmlns:q='urn:q'|xmlns='urn:d'|xmlns=''|xmlns:q='urn:p'|xml:id='i'".split(
        b"|"
    ),
    *(b"w='" + b"v" * 40 + b"'", "ü='é'".encode()),
]
_LEAVES = [
    *b"x|text |\n  |&amp;|&#x41;|&#233;|]|]]|]>|\r\n|<!-- c -->|<!---->|<?p?>|<?p x ??>".split(
        b"|"
    ),
    *(b"<![CDATA[]]>", b"<![CDATA[<&]]]]>", b"t" * 33, "é€\U0001f600".encode(), b" " * 20 + b">"),
]


def generated(random: Random) -> bytes:
    """A document that is mostly well-formed, with a bit of everything."""
    bits = random.getrandbits
    parts: list[bytes] = []
    if not bits(2):
        parts.append(b"<?xml version='1.0' encoding=\"UTF-8\"?>\n")
    if not bits(4):
        parts.append([b"<!DOCTYPE a>", b"<!DOCTYPE a SYSTEM 's' [<!--x-->]>\n"][bits(1)])
    if not bits(2):
        parts.append([b"<!-- x -->", b"<?p x?>", b"\n", b" "][bits(2)])
    _element(random, parts, 3, b" xmlns:p='urn:p'" if bits(2) else b"")
    if not bits(2):
        parts.append([b"<!-- x -->", b"<?p x?>", b"\n", b" "][bits(2)])
    return b"".join(parts)


def _element(random: Random, parts: list[bytes], depth: int, declared: bytes = b"") -> None:
    bits = random.getrandbits
    name = _NAMES[bits(16) % (len(_NAMES) if bits(1) else 5)]
    parts += (b"<", name, declared)
    while not bits(1):
        parts += ((b" ", b"\n ")[bits(1)], _ATTRIBUTES[bits(16) % len(_ATTRIBUTES)])
    if not bits(2):
        parts.append(b" ")
    if not bits(2):
        parts.append(b"/>")
        return
    parts.append(b">")
    while bits(2):
        if depth and bits(1):
            _element(random, parts, depth - 1)
        else:
            parts.append(_LEAVES[bits(16) % len(_LEAVES)])
    parts += (b"</", name, b">" if bits(2) else b"\t>")


def mutated(random: Random) -> bytes:
    """A document that is near a handwritten or generated one; often near the edge of XML."""
    bits = random.getrandbits
    if bits(1):
        document = generated(random)
        return document if bits(1) else _changed(random, document)
    document = _crossed(random)
    for _ in range(1 + (bits(4) > 8) + (bits(4) > 12)):
        document = _changed(random, document)
    return document


def _crossed(random: Random) -> bytes:
    """A handwritten document, or something of two of them."""
    bits = random.getrandbits
    document = SEEDS[bits(16) % len(SEEDS)]
    other = SEEDS[bits(16) % len(SEEDS)]
    kind = bits(3)
    if kind == 0:
        at = bits(16) % (len(document) + 1)
        return document[:at] + other + document[at:]
    if kind == 1:
        return b"<r xmlns:p='urn:p'>" + document + b" " + other + b"</r>"
    if kind == 2:
        return document[: bits(16) % (len(document) + 1)] + other[bits(16) % (len(other) + 1) :]
    return document


def _changed(random: Random, document: bytes) -> bytes:
    bits = random.getrandbits
    at = bits(16) % (len(document) + 1)
    kind = bits(3)
    if kind < 3:
        return document[:at] + TOKENS[bits(16) % len(TOKENS)] + document[at:]
    if kind == 3:
        return document[:at] + TOKENS[bits(16) % len(TOKENS)] + document[at + 1 :]
    if kind == 4:
        return document[:at] + document[at + 1 + bits(2) :]
    if kind == 5:
        end = at + 1 + bits(4)
        return document[:end] + document[at:end] + document[end:]
    if kind == 6:
        return document[:at] + bytes([bits(8)]) + document[at + 1 :]
    other = bits(16) % (len(document) + 1)
    first, last = min(at, other), max(at, other)
    return document[:first] + document[first:last][::-1] + document[last:]
