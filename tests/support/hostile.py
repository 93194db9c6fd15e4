"""Documents that mean harm, each with what must become of it.

They are made here, not kept as files: a bomb is a few lines to make and megabytes to keep. Every
engine must give the same verdict on each: `tests.pipeline.test_hostile` asks the kernel, the
reference scanner, the local engine and Spark.
"""

from __future__ import annotations

import gzip
from typing import NamedTuple

from extract.limits import Limits

DTD = "<!ELEMENT a (#PCDATA | b)*><!ATTLIST a c CDATA #IMPLIED><!ELEMENT b (#PCDATA)>"
QUERIES = {"b": "//b", "text": "/a/text()", "c": "/a/@c", "all": "//*"}
SECRET = "the secret of another file"

_LIMITS = Limits()


class Hostile(NamedTuple):
    """A document and its expected row.

    Attributes:
        data: The document.
        rejected: A part of the reason for which it is rejected; empty if it is not, because it
            does no harm.
        rows: How many rows there are if it is not.
    """

    data: bytes
    rejected: str
    rows: int = 0


def passes(limit: str) -> str:
    """The reason of a document that passes a limit."""
    return _LIMITS.passed(limit)


def refused(data: str | bytes, reason: str) -> Hostile:
    """A document that is rejected."""
    return Hostile(data.encode() if isinstance(data, str) else data, reason)


def printable(data: str | bytes, rows: int) -> Hostile:
    """A document that looks bad, and is taken."""
    return Hostile(data.encode() if isinstance(data, str) else data, "", rows)


def doctype(subset: str, body: str) -> str:
    """A document with an internal subset."""
    return f"<!DOCTYPE a [{subset}]>{body}"


def laughs(levels: int, inner: str) -> str:
    """Entities that stand for ten times the one before: a billion laughs with ten levels."""
    declared = [f'<!ENTITY e0 "{inner}">']
    declared += [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels)]
    return "".join(declared)


def corpus(secret: str) -> dict[str, Hostile]:
    """All of them by name.

    Args:
        secret: The path of a file whose content, `SECRET`, must appear nowhere.
    """
    return {
        **_external(secret),
        **_entities(),
        **_sizes(),
        **_encodings(),
        **_packed(),
    }


def _external(secret: str) -> dict[str, Hostile]:
    undeclared = "the entity &x; is not declared in the document"
    external = "the entity &x; is external, and such entities are never read"
    parameter = "the internal subset refers to a parameter entity, %p;"
    nowhere = "http://127.0.0.1:9/x"
    include = "http://www.w3.org/2001/XInclude"
    return {
        "entity-of-a-file": refused(
            doctype(f'<!ENTITY x SYSTEM "{secret}">', "<a>&x;</a>"), external
        ),
        "entity-of-a-file-uri": refused(
            doctype(f'<!ENTITY x SYSTEM "file://{secret}">', "<a>&x;</a>"), external
        ),
        "public-entity": refused(
            doctype(f'<!ENTITY x PUBLIC "p" "{secret}">', "<a>&x;</a>"), external
        ),
        "entity-of-the-network": refused(
            doctype(f'<!ENTITY x SYSTEM "{nowhere}">', "<a>&x;</a>"), external
        ),
        "entity-in-an-attribute": refused(
            doctype(f'<!ENTITY x SYSTEM "{secret}">', '<a c="&x;"/>'), external
        ),
        "entity-that-nobody-uses": printable(
            doctype(f'<!ENTITY x SYSTEM "{secret}">', "<a>1</a>"), 2
        ),
        "unparsed-entity": printable(
            doctype(f'<!NOTATION n SYSTEM "n"><!ENTITY x SYSTEM "{secret}" NDATA n>', "<a>1</a>"), 2
        ),
        "dtd-of-a-file": printable(f'<!DOCTYPE a SYSTEM "{secret}"><a>1</a>', 2),
        "dtd-of-the-network": printable(f'<!DOCTYPE a PUBLIC "p" "{nowhere}"><a>1</a>', 2),
        "entity-of-another-dtd": refused(f'<!DOCTYPE a SYSTEM "{secret}"><a>&x;</a>', undeclared),
        "parameter-entity-of-a-file": refused(
            doctype(f'<!ENTITY % p SYSTEM "{secret}"> %p;', "<a>1</a>"), parameter
        ),
        "parameter-entity-that-declares": refused(
            doctype("<!ENTITY % p \"<!ENTITY x '1'>\"> %p;", "<a>&x;</a>"), parameter
        ),
        "parameter-entity-that-nobody-uses": printable(
            doctype(f'<!ENTITY % p SYSTEM "{secret}">', "<a>1</a>"), 2
        ),
        "include": printable(
            f'<a xmlns:i="{include}"><i:include href="{secret}" parse="text"/></a>', 2
        ),
        "stylesheet": printable(f'<?xml-stylesheet href="{secret}"?><a/>', 1),
        "schema-location": printable(
            '<a xmlns:x="http://www.w3.org/2001/XMLSchema-instance" '
            f'x:schemaLocation="u {nowhere}"/>',
            1,
        ),
    }


def _entities() -> dict[str, Hostile]:
    loop = '<!ENTITY x "&y;"><!ENTITY y "&x;">'
    laughing = laughs(5, "ha") + '<!ATTLIST b c CDATA "&e4;&e4;">'
    default = f'<!ATTLIST b c CDATA "{"x" * 100_000}">'
    names = "".join([f'<!ENTITY n{n} "x">' for n in range(20_000)])
    bomb = laughs(10, "ha")
    return {
        "laughs-in-a-text": refused(doctype(bomb, "<a>&e9;</a>"), passes("entity_bytes")),
        "laughs-in-an-attribute": refused(doctype(bomb, '<a c="&e9;"/>'), passes("entity_bytes")),
        "laughs-of-markup": refused(
            doctype(laughs(10, "<b/>"), "<a>&e9;</a>"), passes("entity_bytes")
        ),
        "laughs-in-an-attribute-in-an-entity": refused(
            doctype(bomb + "<!ENTITY m \"<b c='&e9;'/>\">", "<a>&m;</a>"), passes("entity_bytes")
        ),
        "laughs-in-a-default": refused(
            doctype(laughing, f"<a>{'<b/>' * 2_000}</a>"), "its entities expand to more than"
        ),
        "a-long-default-many-times": refused(
            doctype(default, f"<a>{'<b/>' * 10_000}</a>"), "its entities expand to more than"
        ),
        "a-long-entity-many-times": refused(
            doctype(f'<!ENTITY e "{"x" * 50_000}">', f"<a>{'&e;' * 1_000}</a>"),
            passes("entity_ratio"),
        ),
        "laughs-where-only-libxml2-reads": refused(
            doctype(bomb, "<a><\U00010000>&e9;</\U00010000></a>"),
            "it declares entities, and has characters that only libxml2 reads",
        ),
        "a-loop": refused(
            doctype(loop, "<a>&x;</a>"),
            "an entity refers to itself",
        ),
        "a-loop-that-nobody-enters": printable(doctype(loop, "<a/>"), 1),
        "many-entities": printable(doctype(names, "<a>&n1;</a>"), 2),
        "character-zero": refused("<a>&#0;</a>", "character"),
        "a-character-beyond-all": refused(f"<a>&#{'9' * 1_000};</a>", "character"),
    }


def _sizes() -> dict[str, Hostile]:
    long = b"x" * (_LIMITS.token_bytes + 1)
    entity = f'<!ENTITY m "{"<b>" * 3_000}{"</b>" * 3_000}">'
    tag = " ".join([f"x{n}=''" for n in range(_LIMITS.attributes + 1)])
    spaces = " ".join([f"xmlns:x{n}='u'" for n in range(_LIMITS.attributes + 1)])
    return {
        "deep": refused(b"<a>" * 3_000 + b"</a>" * 3_000, passes("depth")),
        "deep-and-never-closed": refused(b"<a>" * 100_000, passes("depth")),
        "deep-in-an-entity": refused(doctype(entity, "<a>&m;</a>"), passes("depth")),
        "deep-after-the-schema-is-broken": refused(b"<a><z/>" + b"<z>" * 3_000, passes("depth")),
        "a-long-text": refused(b"<a>" + long + b"</a>", passes("token_bytes")),
        "a-long-comment": refused(b"<a><!--" + long + b"--></a>", passes("token_bytes")),
        "a-long-instruction": refused(b"<a><?p " + long + b"?></a>", passes("token_bytes")),
        "a-long-section": refused(b"<a><![CDATA[" + long + b"]]></a>", passes("token_bytes")),
        "a-long-attribute": refused(b'<a c="' + long + b'"/>', passes("token_bytes")),
        "a-long-name": refused(b"<" + long[: _LIMITS.name_bytes + 1] + b"/>", passes("name_bytes")),
        "a-tag-without-end": refused(b"<a c='" + 2 * long, passes("token_bytes")),
        "many-attributes": refused(f"<a {tag}/>", passes("attributes")),
        "many-namespaces": refused(f"<a {spaces}/>", passes("attributes")),
        "many-names": printable(
            "<a>" + "".join([f"<n{n}/>" for n in range(20_000)]) + "</a>", 20_001
        ),
        "nothing": refused(b"", "the document is empty"),
    }


def _encodings() -> dict[str, Hostile]:
    declared = '<?xml version="1.0" encoding="{}"?>'
    found = {
        # A filter that looks for < sees none; a parser that believes the declaration does.
        "utf-7": refused(
            declared.format("UTF-7") + "<a>+ADw-b/+AD4-</a>", "the encoding UTF-7 is not supported"
        ),
        "utf-16-without-a-mark": printable(
            (declared.format("UTF-16") + "<a><b/></a>").encode("utf-16-le"), 3
        ),
        "utf-16-without-a-mark-or-declaration": refused("<a><b/></a>".encode("utf-16-le"), "char"),
        "big-utf-16-without-a-mark-or-declaration": refused("<a><b/></a>".encode("utf-16-be"), ""),
        "utf-16-that-says-utf-8": printable(
            (declared.format("UTF-8") + "<a><b/></a>").encode("utf-16"), 3
        ),
        "utf-8-that-says-utf-16": refused(
            declared.format("UTF-16") + "<a/>", "the encoding UTF-16 is not supported"
        ),
        "a-mark-against-the-declaration": printable(
            b"\xef\xbb\xbf" + (declared.format("ISO-8859-1") + "<a>\xe4</a>").encode(), 2
        ),
        "overlong-markup": refused(b"<a>\xc0\xbcb/\xc0\xbe</a>", "character"),
        "overlong-three-bytes": refused(b"<a>\xe0\x80\xbcb/></a>", "character"),
        "a-surrogate": refused(b"<a>\xed\xa0\x80</a>", "character"),
        "beyond-unicode": refused(b"<a>\xf4\x90\x80\x80</a>", "character"),
        "half-a-character": refused(b"<a>\xe2\x82</a>", "character"),
        "a-zero": refused(b"<a>\0</a>", "character"),
        "ebcdic": refused(
            (declared.format("cp037") + "<a/>").encode("cp037"), "the encoding EBCDIC"
        ),
    }
    # Python knows these as codecs; a document must not choose them.
    for codec in ("zlib", "rot13", "unicode_escape", "idna", "undefined", "hz", "utf_8_sig_x"):
        found[f"codec-{codec}"] = refused(
            declared.format(codec) + "<a/>", f"the encoding {codec} is not supported"
        )
    return found


def _packed() -> dict[str, Hostile]:
    small = gzip.compress(b"<a><b/></a>")
    return {
        "a-gzip-bomb": refused(
            gzip.compress(b"<a>" + b" " * 80_000_000 + b"</a>"), passes("gzip_ratio")
        ),
        "gzip-cut-off": refused(small[:-5], "the gzip data ends too early"),
        "gzip-in-two-members": printable(gzip.compress(b"<a><b/>") + gzip.compress(b"</a>"), 3),
        "gzip-and-garbage": refused(small + b"garbage", "the gzip data is followed by"),
        "gzip-with-a-wrong-sum": refused(small[:-8] + b"\0" * 8, "the gzip data is damaged"),
        "gzip-in-gzip": refused(gzip.compress(small), ""),
        "gzip-of-nothing": refused(gzip.compress(b""), "the document is empty"),
    }
