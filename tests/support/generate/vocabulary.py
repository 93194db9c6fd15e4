"""The few names and values that schemas, documents and queries share, so that queries hit."""

from __future__ import annotations

ELEMENT_NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
ATTRIBUTE_NAMES = ("k", "n", "v", "w")
UNKNOWN_NAMES = ("zz", "y1", "Z-", "u.v", "ü")  # in no generated schema
PI_TARGETS = ("t", "xslt", "php")
PREFIXES = ("p", "q", "ns0", "x-y", "r")
LANGUAGES = ("en", "en-GB", "de", "")

OTHER_NAMESPACES = ("urn:other", "http://example.org/o?x=1&y=2", "urn:p")  # under wildcards

NUMBERS = ("1", "2", "10", "1.5", "007", "1e3", " 2 ", "-0", "NaN", "3", "-1", ".5", "2.0")
WORDS = ("x", "y", "xy", "", " x ", "x y", "it's", 'a"b', "a<b", "R&D", "é", "x\ty", "]]>", "true")
VALUES = ("x", "1", "2", "y", *NUMBERS, *WORDS)

ENTITIES = {"e": "x", "num": "2", "two": "x y", "nil": "", "nest": "x&e;y", "amp1": "&#38;amp;"}
MARKUP_ENTITIES = {"cmt": "x<!--in entity-->y", "pi": "<?t in entity?>"}
