"""Writes requirements-dev.lock: every package of the developers' environment, with its digest.

    python .ci/lock.py > requirements-dev.lock            (or: make lock)
    pip install --require-hashes -r requirements-dev.lock

pip says what it would install, and from what; no name of a server gets into the file. The digests
are those of the files for this kind of machine and this version of Python.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from typing import Any


def resolved() -> list[dict[str, Any]]:
    """What pip would install into an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    done = subprocess.run(
        [*command, "--report", "-", ".[dev]"], check=True, capture_output=True, text=True
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return [one for one in found if "archive_info" in one["download_info"]]


def lines() -> list[str]:
    """The lines of the file."""
    version = ".".join(platform.python_version_tuple()[:2])
    head = f"# Made by `make lock` for Python {version} on {sys.platform} {platform.machine()}."
    packages = []
    for one in resolved():
        name, digests = one["metadata"], one["download_info"]["archive_info"]["hashes"]
        packages.append(
            f"{name['name'].lower()}=={name['version']} --hash=sha256:{digests['sha256']}"
        )
    return [head, *sorted(packages)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
