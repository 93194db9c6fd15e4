"""Rules about the places of tests: beside the package that they test, and apart from each other."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tests.support.source_rules import Module, imported_names


def without_tests(packages: Set[str], tests: Set[str]) -> set[str]:
    """The packages that have no tests in the place that mirrors theirs.

    The tests of ``extract.a.b`` are in the folder ``tests/a/b``, or in ``tests/a/test_b.py``, or in
    files beside it whose names start like that: ``tests/a/test_b_files.py``.

    Args:
        packages: The dotted names of all packages.
        tests: The paths of all files of tests.
    """
    missing = set()
    for package in packages - {"extract"}:
        above, _, name = f"tests{package.removeprefix('extract')}".replace(".", "/").rpartition("/")
        starts = (f"{above}/{name}/", f"{above}/test_{name}.py", f"{above}/test_{name}_")
        if not any(test.startswith(starts) for test in tests):
            missing.add(package)
    return missing


def imports_of_tests(module: Module, names: Set[str]) -> Iterator[str]:
    """One line for each import of a file of tests, or of fixtures.

    Args:
        module: The module.
        names: The dotted names of all modules in the tests.
    """
    for target in imported_names(module, set(names)):
        top, *parts = target.split(".")
        if top == "tests" and any(p.startswith("test_") or p == "conftest" for p in parts):
            yield f"{module.name} imports {target}"
