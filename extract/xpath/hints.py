"""Words for an XPath that does not parse: the parser knows the place, here is what to say about it.

Most mistakes are habits from elsewhere: XPath 2.0, a programming language, a word processor. Each
hint says what to write instead.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

from extract.xpath.ast import AXES
from extract.xpath.functions import ELSEWHERE
from extract.xpath.names import NCNAME

_SPACE: Final = " \t\r\n"
_ENTITY: Final = re.compile(r"&(?:\w+|#[0-9]+|#x[0-9a-fA-F]+);")
_LATER: Final = "is XPath 2.0; subscriptions are XPath 1.0"
_LOOP: Final = "for, some, every and let are XPath 2.0; in XPath 1.0 write a predicate: a[b = 1]"
_DIGIT: Final = "a name cannot start with a digit; the first a is a[1]"

# Where an operator could stand: words and signs of other languages, and what to write instead.
_JOIN: Final = "JOIN and FOLLOWED BY are for `extract join`, and stand between two whole patterns"
_OPERATORS: Final = {
    "JOIN": _JOIN,
    "FOLLOWED": _JOIN,
    "eq": "'eq' is XPath 2.0; write '='",
    "ne": "'ne' is XPath 2.0; write '!='",
    "lt": "'lt' is XPath 2.0; write '<'",
    "le": "'le' is XPath 2.0; write '<='",
    "gt": "'gt' is XPath 2.0; write '>'",
    "ge": "'ge' is XPath 2.0; write '>='",
    "is": "'is' is XPath 2.0; write count(a | b) = 1 for 'a is b'",
    "to": "'to' is XPath 2.0; write position() >= 2 and position() <= 5 for '2 to 5'",
    "union": "'union' is XPath 2.0; write '|'",
    "intersect": "'intersect' is XPath 2.0; write a[count(. | b) = count(b)] for 'a intersect b'",
    "except": "'except' is XPath 2.0; write a[count(. | b) != count(b)] for 'a except b'",
    "idiv": "'idiv' is XPath 2.0; write floor(a div b)",
    "instance": f"'instance of' {_LATER}",
    "cast": "'cast as' is XPath 2.0; write number(a) or string(a)",
    "castable": "'castable as' is XPath 2.0; write number(a) = number(a) for 'is it a number?'",
    "treat": f"'treat as' {_LATER}",
    "return": _LOOP,
    "in": _LOOP,
    "satisfies": _LOOP,
    "then": ELSEWHERE["if"],
    "else": ELSEWHERE["if"],
    "OR": "operators are written in lower case: 'or'",
    "AND": "operators are written in lower case: 'and'",
    "DIV": "operators are written in lower case: 'div'",
    "MOD": "operators are written in lower case: 'mod'",
    "!": "'!' is XPath 3.0; write '/' for a step, and '!=' for 'is not equal'",
    "&": "write 'and'",
    "%": "write 'mod'",
    ",": "sequences are XPath 2.0; unite node sets with '|'",
    "{": "write a prefix for a namespace, as in p:name, and bind it with --ns p=URI",
}

# Pairs of signs of which the first was read as an operator, and the second cannot start anything.
_PAIRS: Final = {
    "||": "'||' is XPath 3.0; for strings write concat(a, b), between conditions 'or'",
    "==": "equality is a single '='",
    "=>": "'=>' is XPath 3.1; write f(a) for 'a => f()', and '>=' for 'at least'",
    "=<": "'at most' is '<='",
    "=!": "'is not equal' is '!='",
    "<>": "'is not equal' is '!='",
    "<<": f"'<<' {_LATER}",
    ">>": f"'>>' {_LATER}",
}


def missing(text: str, at: int, expected: str) -> tuple[str, str]:
    """What to say where ``expected`` should start and does not: the reason and a hint."""
    before = text[:at].rstrip(_SPACE)
    if at == len(text):
        if not before:
            return "the expression is empty", "select something, as in //a"
        hint = "a path does not end with a slash" if before[-1] == "/" else ""
        return f"expected {expected} before the end", hint
    reason = f"expected {expected}, found {_shown(text, at)}"
    pair = _PAIRS.get(text[:at][-1:] + text[at])
    return reason, _lookalike(text, at) or pair or _gap(text[at], before)


def _gap(here: str, before: str) -> str:
    """A hint about nothing between ``before`` and ``here``."""
    if here == "]" and before.endswith("["):
        return "the predicate is empty: say what should hold, or drop the brackets"
    if here == ")" and before.endswith("("):
        return "the empty sequence is XPath 2.0; there is none in XPath 1.0"
    if here in "|=<>+,])":
        return f"something is missing before '{here}'"
    if here == "(" and before.endswith("/"):
        return "a step in parentheses is XPath 2.0; write a/b | a/c for a/(b | c)"
    if here == "!":
        return "negation is a function: not(a)"
    if here in "0123456789":
        return _DIGIT
    return _OPERATORS["{"] if here == "{" else ""


def unexpected(text: str, at: int, closing: str = "") -> tuple[str, str]:
    """What to say where an operator, or else ``closing``, should follow: the reason and a hint."""
    reason = f"expected '{closing}', found" if closing else "unexpected"
    reason = f"{reason} {_shown(text, at)}"
    name = NCNAME.match(text, at)
    here = name[0] if name else text[at]
    if closing and here in ("]", ")"):
        return reason, f"there is a '{'[' if closing == ']' else '('}' still open"
    return reason, _lookalike(text, at) or _OPERATORS.get(here) or _misplaced(here, text[:at])


def _misplaced(here: str, text: str) -> str:
    """A hint about what follows the whole expression ``text``, and is no operator."""
    before = text.rstrip(_SPACE)
    if here == "[" and before.endswith("."):
        return "'.' and '..' take no predicate; write self::node()[…] or parent::node()[…]"
    if here == "(":
        return "only a function takes arguments, and a function cannot be a step"
    if here == "$" and re.search(r"(?:^|[^\w.-])(?:for|some|every|let)$", before):
        return _LOOP
    if here == ":" and before.endswith("*"):
        return "*:name is XPath 2.0; write *[local-name() = 'name']"
    if here in ("]", ")"):
        return f"there is no '{'[' if here == ']' else '('}' that it could close"
    if here in "0123456789" and before.endswith("/"):
        return _DIGIT
    if text[-1] in "'\"" and (here in "'\"" or NCNAME.match(here)):
        return "a string with a quote in it needs the other kind of quote around it"
    if here in "'\"$@.0123456789" or NCNAME.match(here):
        return "'/', '|', 'and' or another operator is missing before it"
    return ""


def no_step(name: str) -> tuple[str, str]:
    """What to say about ``a/name(…)``: the reason and a hint."""
    hint = f"write it around the path, as in {name}(a/b), or in a predicate"
    return f"the function {name}() cannot be a step", ELSEWHERE.get(name, hint)


def no_axis(name: str) -> tuple[str, str]:
    """What to say about ``name::a``: the reason and a hint."""
    close = difflib.get_close_matches(name, sorted(AXES), 1)
    hint = f"did you mean '{close[0]}::'?" if close else f"axes are {', '.join(sorted(AXES))}"
    return f"'{name}' is not an axis", hint


def _lookalike(text: str, at: int) -> str:
    """A hint about a character that looks like, or stands for, the one that was meant."""
    here = text[at]
    if here in "‘’‚‛“”„‟«»`´":
        return "strings stand in straight quotes: ' or \""
    if here == "&" and _ENTITY.match(text, at):
        return "there are no entities in an XPath; write the character itself"
    if here.isspace() or here in "\u200b\u200c\u200d\u2060\ufeff":
        return "it looks like a space, or like nothing, but is not: write an ordinary space"
    if here.isalpha() and not NCNAME.match(here):
        return f"a name in an XPath cannot have the letter '{here}'; write *[local-name() = '…']"
    return "write '-'" if here in "−–—" else ""


def _shown(text: str, at: int) -> str:
    """The word or character at this place, in quotes if it can be seen."""
    name = NCNAME.match(text, at)
    here = name[0] if name else text[at : at + 1]
    if not here.isprintable() or here.isspace():
        return f"U+{ord(here):04X}"
    return f'"{here}"' if here == "'" else f"'{here}'"
