"""A scheme, the text of its file, and a scheme from any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extract import Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme import Scheme
from tests.support.schemes import UNIVERSITY

QUERIES = Subscriptions.of(
    [
        Subscription("names", "//student/name"),
        Subscription("mail", "/db/*[email]", weight=2.5),
        Subscription("same", " db / student / name"),
        Subscription("number", "count(//url)"),
        Subscription("third", "/db[professor]/student[3]"),
        Subscription("none", "/db/zzz"),
        Subscription("bad", "//a[", line=7, column=3),
        Subscription("ann", "/db/student[name = 'Ann']"),
        Subscription("bo", '/db/student[name="Bo"]'),
    ]
)
SCHEME = prepare(UNIVERSITY, QUERIES, 2)
TEXT = "".join(SCHEME.lines())


def load(folder: Path, content: str | bytes | dict[str, Any]) -> Scheme:
    """A scheme from the content of a file."""
    path = folder / "scheme.json"
    if isinstance(content, dict):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Scheme.load(path)
