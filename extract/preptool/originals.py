"""Where the queries look as they were written, before the schema had its say.

Normal forms look only where the schema lets something be. A document that breaks the schema may
have something elsewhere, and if the query as written would find it, the document must be noticed
and evaluated whole (TRAPS 8). Where no query as written can look, that does not matter, and a scan
need not check.

What is found here errs on the safe side: anything but a plain path counts as looking everywhere
below its last plain step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EVERYWHERE = ("/",)

_NAME = r"[^/\[\]()@*:'\" |=<>,.+$-][^/\[\]()@*:'\" |=<>,+$]*"
_PLAIN = re.compile(rf"(?:/{_NAME}(?::{_NAME})?(?![^/\[]))+")
# What leads out of the subtree that a filter or tail stands in, or into it from elsewhere.
_ELSEWHERE = re.compile(r"\.\.|parent::|ancestor|preceding|following|id\(|[\[(|,\s-]/|^[^/]|\|")


def originals(absolutes: Iterable[str]) -> tuple[str, ...]:
    """The paths below which queries, in canonical form from the document node, may look.

    >>> originals(["/db/student/name", "/db/student[email]/url", "/db/book//title", "/db/book"])
    ('/db/book', '/db/student')
    >>> originals(["/db/student", "//name"])
    ('/',)
    """
    found: set[str] = set()
    for xpath in absolutes:
        plain = None if _ELSEWHERE.search(xpath) else _PLAIN.match(xpath)
        if plain is None:
            return EVERYWHERE
        found.add(plain[0])
    return tuple([path for path in sorted(found) if not _is_below_another(path, found)])


def _is_below_another(path: str, paths: set[str]) -> bool:
    end = path.rfind("/")
    while end > 0:
        if path[:end] in paths:
            return True
        end = path.rfind("/", 0, end)
    return False
