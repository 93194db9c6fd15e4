"""Taking the text of a branch apart: the names of its spine, their filters, and the tail.

Parsing would do it as well, but a hundred times slower, and a scheme may have a million branches.
It relies on the text being canonical XPath, as ``str`` of a syntax tree is.
"""

from __future__ import annotations

import re
from sys import intern
from typing import NamedTuple

from extract.errors import SchemeError
from extract.scheme.model import Branch, Branches

_AGAIN = "the scheme is damaged; prepare the queries again with `extract prep`"
_NAME = re.compile(r"/([^/\[]+)")
# A filter without brackets inside; a quote may hide a bracket, so that there must be none either.
_SIMPLE = re.compile(r"""\[[^\[\]'"]*\]""")
_BRACKET = re.compile(r"""[\[\]]|'[^']*'|"[^"]*\"""")


class BranchParts(NamedTuple):
    """A branch taken apart.

    Attributes:
        names: The names of its plain child steps.
        filters: The filters of these steps: for each the number of the step, from 1, and the text.
        tail: What follows these steps.
    """

    names: tuple[str, ...]
    filters: tuple[tuple[int, str], ...]
    tail: str


def take_apart(branch: Branch) -> BranchParts:
    """The names, filters and tail of a branch.

    Raises:
        SchemeError: It does not begin with so many child steps.

    >>> take_apart(Branch("/a/b[x]/c[d[1]][2]//e", 3))
    BranchParts(names=('a', 'b', 'c'), filters=((2, '[x]'), (3, '[d[1]]'), (3, '[2]')), tail='//e')
    """
    text, at = branch.xpath, 0
    if "[" not in text:
        plain = text.split("/", branch.steps + 1)[1 : branch.steps + 1]
        if len(plain) == branch.steps and all(plain):
            names = tuple(map(intern, plain))
            return BranchParts(names, (), text[sum(map(len, plain)) + branch.steps :])
    path: list[str] = []
    filters: list[tuple[int, str]] = []
    for number in range(1, branch.steps + 1):
        name = _NAME.match(text, at)
        if name is None:
            raise SchemeError(f"{text} does not begin with {branch.steps} child steps", _AGAIN)
        path.append(intern(name[1]))  # a few names make up the paths of many branches
        at = name.end()
        while text.startswith("[", at):
            end = end_of_filter(text, at)
            filters.append((number, text[at:end]))
            at = end
    return BranchParts(tuple(path), tuple(filters), text[at:])


def all_names(branches: Branches) -> list[tuple[str, ...]]:
    """For each branch the names of its spine, as `take_apart` has them; equal ones are one object.

    Filters are cut out, not looked at, and what is left is the same for many branches: this takes a
    third of the time.

    >>> all_names(Branches(("/a/b[x[1]]//e", "/a/b"), (2, 2)))
    [('a', 'b'), ('a', 'b')]
    """
    names_of: dict[tuple[str, int], tuple[str, ...]] = {}
    paths: dict[tuple[str, ...], tuple[str, ...]] = {}
    out: list[tuple[str, ...]] = []
    for xpath, steps in zip(branches.xpaths, branches.steps, strict=True):
        bare = xpath
        if "[" in xpath and "'" not in xpath and '"' not in xpath:
            bare, cut = _SIMPLE.subn("", xpath)
            while cut and "[" in bare:
                bare, cut = _SIMPLE.subn("", bare)
        names = names_of.get((bare, steps))
        if names is None:
            path = take_apart(Branch(bare, steps)).names
            names = names_of[bare, steps] = paths.setdefault(path, path)
        out.append(names)
    return out


def end_of_filter(text: str, start: int) -> int:
    """Where the filter ends that begins here.

    Raises:
        SchemeError: It does not end.
    """
    simple = _SIMPLE.match(text, start)
    if simple is not None:
        return simple.end()
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += {"[": 1, "]": -1}.get(bracket[0], 0)
        if not depth:
            return bracket.end()
    raise SchemeError(f"a bracket is not closed in {text}", _AGAIN)
