"""Writes a software bill of materials: what is installed with extract, as CycloneDX 1.5 JSON.

    python .ci/sbom.py > sbom.json            (or: make sbom)

Only what extract needs to run, found by following its requirements through what is installed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def needed(name: str) -> Iterator[str]:
    """What a package requires to run, extras left out."""
    for line in distribution(name).requires or ():
        requirement, _, condition = line.partition(";")
        found = _NAME.match(requirement)
        if found and "extra" not in condition:
            yield _normal(found[0])


def closure(top: str) -> dict[str, list[str]]:
    """All packages that are needed and installed, each with those it needs itself."""
    found: dict[str, list[str]] = {}
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = [one for one in needed(name) if _installed(one)]
            waiting += found[name]
    return dict(sorted(found.items()))


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:  # for another system or version of Python
        return False
    return True


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def component(name: str, kind: str = "library") -> dict[str, Any]:
    """One package."""
    facts = distribution(name).metadata
    reference = f"pkg:pypi/{name}@{facts['Version']}"
    found: dict[str, Any] = {
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": facts["Version"],
        "purl": reference,
    }
    licence = facts.get("License-Expression") or facts.get("License") or ""
    if licence and "\n" not in licence and len(licence) < 100:
        found["licenses"] = [{"license": {"name": licence}}]
    return found


def bill(top: str = "extract-xpath") -> dict[str, Any]:
    """The bill; the same for the same packages."""
    packages = closure(top)
    components = {name: component(name) for name in packages}
    references = {name: one["bom-ref"] for name, one in components.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(top, "application")},
        "components": [one for name, one in components.items() if name != top],
        "dependencies": [
            {"ref": references[name], "dependsOn": sorted(references[one] for one in inner)}
            for name, inner in packages.items()
        ],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(bill(), indent=1) + "\n")
