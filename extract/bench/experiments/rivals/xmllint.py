"""xmllint: libxml2 at the shell, a process for each query."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extract.bench.experiments.rivals.rival import Absent, Rival


class Xmllint(Rival):
    """What one types at a shell: each query reads the document anew."""

    name = "xmllint"
    how = "one process a query, which reads the document each time"

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        super().__init__(namespaces)
        program = shutil.which("xmllint")
        if program is None:
            raise Absent("apt install libxml2-utils")
        self._program = program
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        number = re.search(r"version (\d+)(\d\d)(\d\d)\b", said.stderr + said.stdout)
        dotted = ".".join(str(int(part)) for part in number.groups()) if number else "unknown"
        self.version = f"libxml2 {dotted}"
        folder = tempfile.TemporaryDirectory(prefix="extract-bench-")
        self._folder = Path(self._left.enter_context(folder))
        self._files = 0
        self._bound = "".join(f"setns {p}={uri}\n" for p, uri in self.namespaces.items())

    def clock(self) -> float:
        """That of its processes, which have ended."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def parse(self, document: bytes) -> Any:
        """A file."""
        self._files += 1
        file = self._folder / f"{self._files}.xml"
        file.write_bytes(document)
        return file

    def compile(self, xpath: str) -> Any:
        """What is typed at its prompt: only there can prefixes be bound."""
        return f"{self._bound}xpath count({xpath})\nbye\n"

    def count(self, document: Any, query: Any) -> int:
        """How many nodes it selects."""
        done = subprocess.run(
            [self._program, "--huge", "--nonet", "--shell", str(document)],
            input=query,
            capture_output=True,
            text=True,
            check=True,
        )
        number = done.stdout.rpartition("Object is a number : ")[2].split()
        return int(float(number[0])) if number else -1
