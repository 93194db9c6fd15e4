"""Documents of the university schema for tests of CHUNKTOOL, and scanners that read windows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from lxml import etree

from extract.chunktool.scan import driver as scanner_module
from extract.chunktool.scan.protocol import HandOver
from tests.support.window_scanner import WindowScanner

QUERIES = {
    "names": "//student/name",
    "mail": "/db/professor[email]/name",
    "links": "/db/*/link/@manager",
    "never": "/db/zzz",
    "all": "count(//url)",
}
KINDS = ("student", "professor", "assistant", "secretary", "lecturer")


def university(people: int, seed: int = 0) -> bytes:
    """A document without anything that the scanner of these tests cannot do."""
    rng = Random(seed)
    parts = ['<?xml version="1.0"?>\n<db>\n']
    for kind in KINDS:
        for number in range(1 + people // len(KINDS)):
            parts.append(f'  <{kind} id="{kind[:2]}{number}">\n    <name>N {number}</name>')
            if rng.random() < 0.5:
                parts.append(f"<email>{'x' * rng.randrange(40)}@y</email>")
            if rng.random() < 0.3:
                parts.append(f'<url href="u{number}"/>')
            if rng.random() < 0.3:
                parts.append('<link manager="st0"> text </link>')
            parts.append(f"</{kind}>\n")
    return "".join([*parts, "</db>\n"]).encode()


def use_window_scanner(monkeypatch: pytest.MonkeyPatch, size: int = 1 << 22) -> None:
    monkeypatch.delenv(scanner_module.ENVIRONMENT, raising=False)
    monkeypatch.setattr(scanner_module, "load_kernel", lambda: WindowScanner)
    monkeypatch.setattr(scanner_module, "WINDOW", size)


WRONG = university(10).replace(b"</professor>", b"<pet>//student</pet></professor>", 1)


# -- handing over


def handing_over(reason: str) -> Callable[..., Any]:
    class Refusing(WindowScanner):
        def finish(self) -> None:  # at the very end, when everything was found already
            raise HandOver(reason)

    return Refusing


def element_starts(document: bytes) -> dict[int, Any]:
    """The elements of a document by the byte that they begin at."""
    found, at = {}, 0
    for element in etree.fromstring(document).iter("*"):
        at = document.index(b"<" + element.tag.encode(), at)
        found[at] = element
        at += 1
    return found
