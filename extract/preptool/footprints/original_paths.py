"""The paths below which queries as written look, before they are normalised by the schema.

A normal form looks only where the schema allows a node. A document that breaks the schema may have
a node elsewhere, and if a query as written would select it, the scan must notice the violation and
the document is evaluated whole (TRAPS 8). Where no query as written looks, a violation does not
matter, and the scan need not check.

The paths err on the safe side: anything but a plain path counts as looking everywhere below its
last plain step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EVERYWHERE = ("/",)

_NAME = r"[^/\[\]()@*:'\" |=<>,.+$-][^/\[\]()@*:'\" |=<>,+$]*"
_PLAIN = re.compile(rf"(?:/{_NAME}(?::{_NAME})?(?![^/\[]))+")
# Constructs that leave the subtree of a filter or tail, or enter it from elsewhere.
_ELSEWHERE = re.compile(r"\.\.|parent::|ancestor|preceding|following|id\(|[\[(|,\s-]/|^[^/]|\|")


def original_paths(absolutes: Iterable[str]) -> tuple[str, ...]:
    """Returns the paths below which queries, in canonical form from the document node, may look.

    >>> original_paths(["/db/student/name", "/db/student[email]/url", "/db/book//title", "/db/x"])
    ('/db/book', '/db/student', '/db/x')
    >>> original_paths(["/db/student", "//name"])
    ('/',)
    """
    paths: set[str] = set()
    for xpath in absolutes:
        plain = None if _ELSEWHERE.search(xpath) else _PLAIN.match(xpath)
        if plain is None:
            return EVERYWHERE
        paths.add(plain[0])
    return tuple([path for path in sorted(paths) if not _is_below_another(path, paths)])


def _is_below_another(path: str, paths: set[str]) -> bool:
    end = path.rfind("/")
    while end > 0:
        if path[:end] in paths:
            return True
        end = path.rfind("/", 0, end)
    return False
