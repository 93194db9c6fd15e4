"""The pages of the handbook: what they show was run, and what they draw was drawn.

In README.md and docs/*.md a block below ``<!-- run -->`` is run: ``sh`` by bash, ``python`` by
Python, all blocks of a page in one directory. It has schemas, scenarios and tests as the
repository has, and nothing else. If a ``text`` block follows, that is what was printed, to standard
output and to standard error. Pictures that are left behind (``*.svg``) are those of docs/pictures.

    python -m tests.support.handbook    brings pages and pictures up to date (`make docs`)

`tests/house/test_handbook.py` compares.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

PICTURES = ROOT / "docs" / "pictures"

_RUN = re.compile(
    r"^<!-- run -->\n\n?```(?P<language>sh|python)\n(?P<code>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
# Times differ from run to run, and are no claim.
_VARIABLE = (
    (re.compile(r"\b\d+\.\d+ s\b"), "N s"),
    (re.compile(r'("seconds": )[0-9.]+'), r"\1N"),
    # Which of them ran depends on the machine: on a compiler, and on how many cores share the work.
    (re.compile(r"\(scanner [a-z ]+, matcher [a-z ]+, engine"), "(scanner S, matcher M, engine"),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A block that is run.

    Attributes:
        line: Where it begins.
        language: ``sh`` or ``python``.
        code: What is run.
        output: What the page says that it prints; None if it says nothing.
    """

    line: int
    language: str
    code: str
    output: str | None


def pages() -> list[Path]:
    """README.md and the pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(text: str) -> list[Example]:
    """The blocks of a page that are run."""
    return [
        Example(text.count("\n", 0, found.start()) + 1, *found.group("language", "code", "output"))
        for found in _RUN.finditer(text)
    ]


def alike(shown: str, printed: str) -> bool:
    """Whether two outputs are the same but for what differs from run to run."""
    return _settled(shown) == _settled(printed)


def _settled(text: str) -> str:
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def run_page(text: str, directory: Path) -> Iterator[tuple[Example, int, str]]:
    """Runs the blocks of a page; gives each with its exit status and what it printed."""
    for name in ("schemas", "scenarios", "tests"):
        (directory / name).symlink_to(ROOT / name)
    (directory / "bin").mkdir()
    command = directory / "bin" / "extract"  # that of this Python, installed or not
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m extract "$@"\n')
    command.chmod(0o755)
    (directory / "bin" / "python").symlink_to(sys.executable)
    environment = os.environ | {
        "PATH": f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    for example in examples(text):
        program = ["bash"] if example.language == "sh" else [sys.executable]
        done = subprocess.run(
            [*program, "-c", example.code],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        yield example, done.returncode, done.stdout


def pictures(directory: Path) -> dict[str, str]:
    """The pictures that a page has drawn, by name."""
    return {file.name: file.read_text(encoding="utf-8") for file in directory.glob("*.svg")}


def renewed(text: str, directory: Path) -> str:
    """A page with what its blocks print now; times that were there stay."""
    outputs = iter([printed for _, _, printed in run_page(text, directory)])

    def renew(found: re.Match[str]) -> str:
        printed = next(outputs)
        shown = found["output"]
        if shown is None or alike(shown, printed):
            return found[0]
        start, end = (at - found.start() for at in found.span("output"))
        lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        return found[0][:start] + lines + found[0][end:]

    return _RUN.sub(renew, text)


def main() -> None:
    """Brings all pages and pictures up to date, and says what has changed."""
    from tests.support import xpath_table

    PICTURES.mkdir(exist_ok=True)
    for page in pages():
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as name:
            after = xpath_table.renewed(renewed(before, Path(name)))
            drawn = pictures(Path(name))
        new = {PICTURES / name: text for name, text in drawn.items()} | {page: after}
        for file, text in new.items():
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
                print(f"new: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
