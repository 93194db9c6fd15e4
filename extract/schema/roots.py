"""Which element a document may start with, when the user does not say."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from extract.errors import SchemaError
from extract.schema.graph import strong_components


def first_of_sources(order: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """The first name, in the given order, of every group of names that no other group contains.

    Names that contain each other form a group (a strongly connected component). In figure 4 of the
    paper ``a``, ``b`` and ``m`` do, so the first declared stands for them:

    >>> first_of_sources("abmc", ["ab", "bm", "ma", "mc"])
    ['a']
    """
    inside: dict[str, list[str]] = {name: [] for name in order}
    for outer, inner in edges:
        inside.setdefault(outer, []).append(inner)
        inside.setdefault(inner, [])
    groups = strong_components(inside)
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    contained = {
        group_of[inner]
        for outer, inners in inside.items()
        for inner in inners
        if group_of[inner] != group_of[outer]
    }
    rank = {name: position for position, name in enumerate(order)}
    firsts = [
        min(group, key=rank.__getitem__)
        for number, group in enumerate(groups)
        if number not in contained
    ]
    return sorted(firsts, key=rank.__getitem__)


def without_loose_ends(roots: list[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """Only the roots that lead to something to which no other root leads; all, if none does.

    Large DTDs declare elements that no content model uses. They are not meant as document elements:

    >>> without_loose_ends(["article", "unused"], [("article", "p"), ("p", "b"), ("unused", "b")])
    ['article']
    >>> without_loose_ends(["x", "y"], [("x", "a"), ("y", "a")])
    ['x', 'y']
    """
    if len(roots) == 1:
        return roots
    import networkx as nx  # takes a tenth of a second

    graph = nx.DiGraph(edges)
    graph.add_nodes_from(roots)
    reached = {root: nx.descendants(graph, root) for root in roots}
    counts = Counter(name for names in reached.values() for name in names)
    kept = [root for root in roots if any(counts[name] == 1 for name in reached[root])]
    return kept or roots


# A processing instruction of ours in a schema file, which says what a document may start with.
_INSTRUCTION = re.compile(r"<\?extract-root\s+(.*?)\s*\?>", re.DOTALL)


def root_instruction(root: str) -> str:
    """The line of a schema file that names a document element; `stated_roots` reads it.

    >>> root_instruction("{urn:x}a")
    '<?extract-root {urn:x}a?>\\n'
    """
    return "" if "?>" in root else f"<?extract-root {root}?>\n"


def stated_roots(text: str, declared: Container[str]) -> list[str]:
    """The document elements that a schema file names by `root_instruction`.

    Args:
        text: The file.
        declared: The names of elements there are; if one is missing, nothing is said.
    """
    roots = list(dict.fromkeys(_INSTRUCTION.findall(text)))
    return roots if all(root in declared for root in roots) else []


def assumed_note(roots: Sequence[str], unused: Sequence[str] = ()) -> str:
    """Says which document elements were assumed, and which others nothing contains."""
    instead = f", not {_listed(unused)}" if unused else ""
    return (
        f"root not given: taking {_listed(roots)}{instead}; documents that start with another "
        "element are evaluated whole; say --root"
    )


def _listed(names: Sequence[str], last: str = "and") -> str:
    """The first names of a list.

    >>> _listed(["a", "b"]), _listed(["a", "b"], "or"), _listed(list("abcdefg"))
    ('a, b', 'a or b', 'a, b, c, d, e and 2 more')
    """
    if last == "or" and 1 < len(names) <= 5:
        return f"{', '.join(names[:-1])} or {names[-1]}"
    return ", ".join(names[:5]) + (f" {last} {len(names) - 5} more" if len(names) > 5 else "")


def expanded_root(root: str, bindings: Mapping[str, str]) -> str:
    """``{uri}local`` for ``prefix:local`` with a bound prefix; any other spelling as it is.

    >>> expanded_root("dc:title", {"dc": "urn:dc"}), expanded_root("{urn:x}a", {})
    ('{urn:dc}title', '{urn:x}a')
    """
    prefix, _, local = root.rpartition(":")
    if root.startswith("{") or prefix not in bindings:
        return root
    return f"{{{bindings[prefix]}}}{local}"


def unknown_root(
    root: str, declared: Iterable[str], roots: Sequence[str], file: str
) -> SchemaError:
    """The error for a document element that the schema does not declare.

    Args:
        root: The name that the user gave.
        declared: The elements that the schema declares; near matches are suggested.
        roots: The document elements that would be assumed without a name.
        file: The schema.

    >>> print(unknown_root("students", ["db", "student"], ["db"], "s.dtd"))
    s.dtd: declares no element students
    Hint: did you mean student? Documents of this schema start with db
    """
    names = sorted(set(declared))
    near = difflib.get_close_matches(root, names, n=3, cutoff=0.5)
    if not near:
        local = root.rpartition("}")[2].rpartition(":")[2]
        by_local = {name.rpartition("}")[2].rpartition(":")[2]: name for name in reversed(names)}
        near = [by_local[n] for n in difflib.get_close_matches(local, by_local, n=3, cutoff=0.5)]
    hint = f"documents of this schema start with {_listed(roots, 'or')}"
    if near:
        hint = f"did you mean {' or '.join(near)}? {hint[0].upper()}{hint[1:]}"
    return SchemaError(f"declares no element {root}", hint, file)


def ambiguous_root(root: str, candidates: Sequence[str], file: str) -> SchemaError:
    """The error for a local name that several namespaces declare."""
    return SchemaError(
        f"root {root} could be {' or '.join(candidates)}", "give one of these in full", file
    )
