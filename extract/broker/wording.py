"""What the library says, in the words of HTTP: a field of the body where it names an option.

Errors of queries, schemas and documents come from the library, whose hints are for the command
line: ``--ns p=URI``. Who sends JSON has no options. So what a broker answers goes through
`over_http`. A test finds the options in the library's hints and sees that none is left.
"""

from __future__ import annotations

import re
from typing import Final

# The limits of the engine that who runs a broker can set, by their names in the library.
_LIMITS: Final = {
    "document-bytes": "document_bytes",
    "whole-bytes": "document_bytes",
    "query-bytes": "answer_bytes",
    "query-seconds": "query_seconds",
    "state": "join_bytes",
}
_NAMESPACES: Final = r'"namespaces": {"\1": "\2"}'

# In this order: whole sentences first, then what any sentence may have.
_WORDS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"(--ns \S+=URI),? or (?:with )?a line '#! ns [^']*'", r"\1"),
        (r"raise the limit if you trust the input", "who runs the broker sets the limit"),
        (r", or expand them with xmllint --noent", ", or expand them before you send it"),
        (
            r"raise the limit, make windows or the lateness smaller, or have the oldest dropped "
            r"\(--when-full drop\)",
            "make windows smaller",
        ),
        (
            r"use --on-nonconforming fallback to evaluate such documents whole",
            'a feed with "on_nonconforming": "fallback" takes such documents',
        ),
        (r"use --matcher sql, with the URL of .*", "a broker has no tables"),
        (r"(;? ?)only --matcher sql can", r"\1which a broker cannot do"),
        (r"with --select nodes", 'with "select": "nodes"'),
        (r"say --root\b", 'name it with "root"'),
        (r"(; )?`extract infer` writes (?:one|a schema) from documents", r"\1" "without one, the "
         "feed's schema is inferred"),
        (r"are for `extract join`", 'are for "xscl"'),
        (r"say --ns (\S+)=(\S+)", r"bind it in the schema"),
        (r"--ns ([^\s=]+)=([^\s,;]+)", _NAMESPACES),
        (r" of --max-state\b", " of the broker's limit join_bytes"),
    )
)  # fmt: skip
_LIMIT: Final = re.compile(r" ?\(--max-([a-z-]+)\)")


def over_http(text: str) -> str:
    """What the library says, for who sends JSON.

    >>> over_http("bind it with --ns p=URI or a line '#! ns p=URI'")
    'bind it with "namespaces": {"p": "URI"}'
    >>> over_http("it selects more than 9 bytes (--max-query-bytes)")
    "it selects more than 9 bytes (the broker's limit answer_bytes)"
    >>> over_http("more than 100 levels (--max-depth)")
    'more than 100 levels'
    """
    if "--" not in text and "`" not in text and "limit" not in text:
        return text
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return _LIMIT.sub(_limit, text)


def _limit(found: re.Match[str]) -> str:
    name = _LIMITS.get(found[1])
    return "" if name is None else f" (the broker's limit {name})"
