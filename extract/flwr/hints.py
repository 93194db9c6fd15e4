"""Words for constructs of XQuery that are outside of the subset."""

from __future__ import annotations

import re
from typing import Final

CLAUSES: Final = (
    "for", "let", "where", "order", "stable", "return", "ascending", "descending", "empty",
    "collation", "group", "window", "count", "at", "in", "satisfies", "then", "else",
)  # fmt: skip

_TAKEN: Final = "a query is: for $x in path let … where … order by … return <element/>"
_XPATH: Final = "expressions are XPath 1.0"
# Patterns of what is outside, and what to say of it.
_OUTSIDE: Final = (
    (r"declare[ \t\r\n]+function", "XQuery functions are not taken", "write out what it does"),
    (
        r"declare[ \t\r\n]+namespace",
        "namespaces are not declared here",
        "bind prefixes with --ns p=URI, or with a line '#! ns p=URI'",
    ),
    (r"declare[ \t\r\n]|xquery[ \t\r\n]|import[ \t\r\n]", "a prolog is not taken", _TAKEN),
    (r"if[ \t\r\n]*\(", "'if … then … else' is not taken", "use 'where', or two subscriptions"),
    (
        r"(?:some|every)[ \t\r\n]+\$",
        "'some' and 'every' are not taken",
        "use a predicate: $x[a = 1]",
    ),
    (r"typeswitch[ \t\r\n]*\(", "'typeswitch' is not taken", _TAKEN),
    (r"(?:try|validate|ordered|unordered)[ \t\r\n]*\{", "this block is not taken", _TAKEN),
    (
        r"(?:element|attribute|text|comment|document|processing-instruction|namespace)"
        r"[ \t\r\n]*(?:[\w.:-]+[ \t\r\n]*)?\{",
        "computed constructors are not taken",
        "write the element itself: <name>{ … }</name>",
    ),
    (r"(?:map|array)[ \t\r\n]*\{|\[", "maps and arrays are not taken", _XPATH),
    (r"function[ \t\r\n]*\(", "XQuery functions are not taken", "write out what it does"),
    (r"for[ \t\r\n]*\$", "a second 'for' is not taken", "make two subscriptions, or go up: $x/.."),
    (r"let[ \t\r\n]*\$", "'let' comes after 'for'", _TAKEN),
    (r"<[^\W\d]", "an element in an expression is not taken", "write it outside of the braces"),
    (r"group[ \t\r\n]+by", "'group by' is not taken", _TAKEN),
    (r"(?:count|window)[ \t\r\n]+\$", "this clause is not taken", _TAKEN),
)
# The same behind an expression; where one begins these are names of elements.
_BEHIND: Final = (
    (r",", "sequences are not taken", "write two pairs of braces: { $a }{ $b }"),
    (
        r"(?:eq|ne|lt|le|gt|ge)(?![\w.\-])",
        "comparisons of values ('eq') are not taken",
        "write =, !=, <, <=, > or >=",
    ),
    (r"is(?![\w.\-])", "comparisons of nodes ('is') are not taken", _XPATH),
    (r"(?:idiv|to)(?![\w.\-])", "'idiv' and 'to' are not taken", _XPATH),
    (
        r"(?:union|intersect|except)(?![\w.\-])",
        "'union', 'intersect' and 'except' are not taken",
        "unite nodes with '|'; for others use a predicate",
    ),
    (
        r"(?:instance|treat|castable|cast)[ \t\r\n]+(?:of|as)(?![\w.\-])",
        "types are not taken",
        "write number($x) or string($x)",
    ),
    (r"!(?!=)", "the operator '!' is not taken", "write a path: $x/a"),
    (r":", "names like *:a are not taken", "write *[local-name() = 'a']"),
    (r"(?<=[\"'])[\"']", "doubled quotes in a string are not taken", "write &quot; or &apos;"),
)


def _compiled(rows: tuple[tuple[str, str, str], ...]) -> list[tuple[re.Pattern[str], str, str]]:
    return [(re.compile(pattern), reason, hint) for pattern, reason, hint in rows]


_ANY: Final = re.compile("|".join(f"(?:{pattern})" for pattern, _, _ in _OUTSIDE))
_BEFORE_PATTERNS: Final = _compiled(_OUTSIDE)
_PATTERNS: Final = _compiled((*_OUTSIDE, *_BEHIND))


def not_taken(text: str, at: int, before: bool = False) -> tuple[str, str]:
    """The reason and the hint for a construct that is outside of the subset; empty for another.

    Args:
        text: The query.
        at: Where the construct starts.
        before: Whether an expression is expected here, so that a comma is no sequence.
    """
    if before and not _ANY.match(text, at):
        return "", ""
    for pattern, reason, hint in _BEFORE_PATTERNS if before else _PATTERNS:
        if pattern.match(text, at):
            return reason, hint
    return "", ""
