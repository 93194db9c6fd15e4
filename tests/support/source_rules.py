"""Rules about the sources of a package: directions of imports, private names, repeated names.

Each function takes sources and gives one line for each place that breaks the rule, so that tests
can try it on sources of their own.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

REST: Final = "*"  # the members of a package that have no row of their own
_PRIVATE: Final = re.compile(r"_(?!_)\w+")
_SELF: Final = ("self", "cls")

# For each package, and for each module or sub-package of it, which others of them it may import.
Rooms = Mapping[str, Mapping[str, tuple[str, ...]]]


class Module(NamedTuple):
    """A module of the package, or a test.

    Attributes:
        name: Its dotted name; that of a package ends with ``__init__``.
        tree: Its syntax tree.
    """

    name: str
    tree: ast.Module

    @classmethod
    def of(cls, name: str, source: str) -> Module:
        """Parses a module."""
        return cls(name, ast.parse(source))


def modules_in(root: Path, *folders: str) -> list[Module]:
    """Every module of some folders; scripts that are in no package are left out."""
    files = {file for folder in folders for file in (root / folder).rglob("*.py")}
    return [
        Module.of(".".join(file.relative_to(root).with_suffix("").parts), file.read_text("utf-8"))
        for file in sorted(files)
        if (file.parent / "__init__.py").exists()
    ]


def imported_names(module: Module, names: set[str]) -> Iterator[str]:
    """The dotted names that a module imports: anywhere in it, also for type checking only.

    Args:
        module: The module.
        names: The dotted names of all modules, to tell a module from a name in it.
    """
    package = module.name.split(".")[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in names or f"{inner}.__init__" in names else base


def wrong_directions(module: Module, names: set[str], rooms: Rooms) -> Iterator[str]:
    """The imports of a module that `rooms` does not allow.

    Args:
        module: The module.
        names: The dotted names of all modules.
        rooms: The directions.
    """
    for target in imported_names(module, names):
        for package, rows in rooms.items():
            start, end = _member(module.name, package, rows), _member(target, package, rows)
            if start is None or end is None or start == end or end in rows[start]:
                continue
            yield f"{module.name} imports {target}: in {package}, {start} may not import {end}"


def unplaced(names: set[str], rooms: Rooms) -> set[str]:
    """The sub-packages of packages in `rooms` that have no row there."""
    packages = {name.removesuffix(".__init__") for name in names if name.endswith(".__init__")}
    return {
        inner
        for inner in packages
        for package, rows in rooms.items()
        if inner.rpartition(".")[0] == package and inner.rpartition(".")[2] not in rows
    }


def _member(name: str, package: str, rows: Mapping[str, tuple[str, ...]]) -> str | None:
    """The row of a package that a module belongs to; None if it is not in the package."""
    if name != package and not name.startswith(f"{package}."):
        return None
    first = name.removeprefix(package).split(".")[1:2]
    member = first[0] if first else "__init__"
    return member if member in rows else REST


def foreign_imports(
    module: Module, names: set[str], only: Mapping[str, tuple[str, ...]], without: Mapping[str, str]
) -> Iterator[str]:
    """Imports of libraries that only one part of the package may see.

    Args:
        module: The module.
        names: The dotted names of all modules.
        only: For a library the beginnings of the names of the modules that may import it.
        without: For a library the beginning of the names of those among them that may not.
    """
    for target in imported_names(module, names):
        library = target.split(".")[0]
        if library in only and not module.name.startswith(only[library]):
            yield f"{module.name} imports {target}: only {', '.join(only[library])} may"
        if library in without and module.name.startswith(without[library]):
            yield f"{module.name} imports {target}: {without[library]} may not"


def private_names(module: Module) -> set[str]:
    """The private names that a module defines: functions, classes, values, methods, attributes.

    A name with an underscore at both ends is none: such are the methods that IPython calls.
    """
    private: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            private.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            private.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            private.add(node.attr)
    return {name for name in private if _PRIVATE.fullmatch(name) and not name.endswith("_")}


class PrivateUse(NamedTuple):
    """A place where a module uses a private name of another."""

    module: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} uses {self.name}, which is private elsewhere"


def private_uses(module: Module, owners: Mapping[str, set[str]]) -> Iterator[PrivateUse]:
    """The places where a module uses a private name of another.

    Seen are ``from a import _x``, ``something._x``, and how tests replace something:
    ``"package.a._x"`` and ``setattr(a, "_x", ...)``. A private module may be imported inside its
    package.

    Args:
        module: The module.
        owners: For each private name the modules that define it.
    """
    own = private_names(module)
    package = module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            base = _base(node, module.name.split(".")[:-1])
            for alias in node.names:
                if alias.name in owners and base != package:
                    yield PrivateUse(module.name, node.lineno, alias.name)
        elif isinstance(node, ast.Attribute):
            is_self = isinstance(node.value, ast.Name) and node.value.id in _SELF
            if node.attr in owners and node.attr not in own and not is_self:
                yield PrivateUse(module.name, node.lineno, node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            owner, _, name = node.value.rpartition(".")
            if name not in own and owner in owners.get(name, ()):
                yield PrivateUse(module.name, node.lineno, name)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            text = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
            if isinstance(text, str) and text in owners and ast.unparse(node.func).endswith("attr"):
                yield PrivateUse(module.name, node.lineno, text)


def owners_of_private_names(modules: list[Module]) -> dict[str, set[str]]:
    """For each private name the modules that define it."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in private_names(module):
            owners[name].add(module.name.removesuffix(".__init__"))
    return dict(owners)


def repeated_classes(modules: list[Module]) -> dict[str, list[str]]:
    """The public names that more than one module has a class of, with these modules."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    return {name: where for name, where in places.items() if len(where) > 1}


def _base(node: ast.ImportFrom, package: list[str]) -> str:
    """The module that an import names, from the top."""
    start = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*start, *filter(None, [node.module])])
