"""Random documents and FLWR queries in which XPath 1.0 and XQuery agree.

They agree where expressions are paths, ``count()``, ``string()`` of at most one node and
``name()``, where comparisons are with strings, and keys of an order are strings and numbers.
"""

from __future__ import annotations

from random import Random

_NAMES = "abcd"


def random_document(draw: Random, prefixed: bool = False, depth: int = 0) -> str:
    """A document of nested elements; with names of a namespace if ``prefixed``."""
    name = draw.choice(_NAMES)
    if prefixed and draw.random() < 0.3:
        name = f"p:{name}"
    keys = draw.sample(["id", "k", "p:q"] if prefixed else ["id", "k"], draw.randint(0, 2))
    tag = name + "".join(f' {key}="{draw.choice(["1", "2", "x", "y z"])}"' for key in keys)
    if prefixed and depth == 0:
        tag += ' xmlns:p="urn:p"'
    if prefixed and draw.random() < 0.2:
        tag += draw.choice([' xmlns="urn:d"', ' xmlns:z="urn:z"'])
    content = ""
    for _ in range(draw.randint(0, 3) if depth < 4 else 0):
        content += draw.choice(["", "t", "1", "2 ", "&amp;x", "<!--c-->", "<?pi x?>"])
        content += random_document(draw, prefixed, depth + 1)
    content += draw.choice(["", "t", "3", "<![CDATA[<]]>", "a\r\nb"])
    return f"<{tag}>{content}</{name}>"


def _name(draw: Random, prefixed: bool) -> str:
    return ("p:" if prefixed and draw.random() < 0.2 else "") + draw.choice(_NAMES)


def _path(draw: Random, prefixed: bool, leaf: bool) -> str:
    name = _name(draw, prefixed)
    steps = [name, "*", f"{name}[@id]", f"{name}[{_name(draw, prefixed)}]"]
    if leaf:
        steps += ["@id", "@k", "text()", "node()", f"{name}[1]", f"{name}[last()]"]
        steps.append(f"{name}[@k='1']")
    path = draw.choice(["/", "//"]) + draw.choice(steps)
    return path if leaf or draw.random() < 0.4 else path + _path(draw, prefixed, True)


def random_flwr(draw: Random, prefixed: bool = False) -> str:
    """A FLWR query; its constructors declare no namespaces."""

    def path(leaf: bool) -> str:
        return _path(draw, prefixed, leaf)

    clauses, variables = "", ["$s"]
    if draw.random() < 0.4:
        clauses += f" let $t := $s{path(draw.random() < 0.5)}"
        variables.append("$t")
    if draw.random() < 0.5:
        clauses += " where " + draw.choice(
            [
                f"$s{path(True)} = '1'",
                f"count($s{path(False)}) > 0",
                f"$s{path(True)}",
                f"not($s{path(True)})",
                "$s/@id = $s//@k",
                "$s/*[@id = $s/@id]",
            ]
        )
    if draw.random() < 0.4:
        keys = ["string($s/@id)", "count($s/*)", "string-length(string($s))", "$s/@k"]
        directions = ["", " ascending", " descending"]
        some = [draw.choice(keys) + draw.choice(directions) for _ in range(draw.randint(1, 2))]
        clauses += f" order by {', '.join(some)}"

    def braces() -> str:
        values = [f"$s{path(True)}", f"$s{path(False)}", "$s/@id", draw.choice(variables)]
        values += ["count($s/*)", "string($s/@k)", "name($s)", "$s/*[@id = $s/@id]"]
        return f"{{{draw.choice(values)}}}"

    def element(depth: int) -> str:
        tag = "r"
        for key in draw.sample(["id", "m", "n"], draw.randint(0, 2)):
            inside = draw.choice(["", "x", "&lt;"]) + (braces() if draw.random() < 0.6 else "")
            tag += f' {key}="{inside}{draw.choice(["", "y"])}"'
        text = ["", "", " ", "text", "&#32;", "<![CDATA[ ]]>", "<!--k-->"]
        parts = [
            draw.choice(text)
            + (braces() if draw.random() < 0.8 or depth > 1 else element(depth + 1))
            for _ in range(draw.randint(0, 3))
        ]
        return f"<{tag}>{''.join(parts)}{draw.choice(['', ' ', chr(10)])}</r>"

    query = f"for $s in {path(False)}{clauses} return {element(0)}"
    return (
        f"<out>{draw.choice(['', ' ', 'h'])}{{ {query} }}</out>" if draw.random() < 0.5 else query
    )
