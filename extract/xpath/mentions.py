"""What a parse notes besides the expression: names whose meaning lies outside of the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from extract.xpath.ast import Expr, FunctionCall


class Mention(NamedTuple):
    """A name in the text whose meaning lies outside of it, and where it stands."""

    offset: int
    prefix: str
    local: str

    def moved(self, by: int) -> Mention:
        """The same in another place."""
        return Mention(self.offset + by, self.prefix, self.local)

    @property
    def name(self) -> str:
        """The name as written."""
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


@dataclass(slots=True)
class Parsed:
    """An expression and the names that it mentions."""

    xpath: str
    expr: Expr
    prefixes: dict[str, Mention] = field(default_factory=dict)  # where each stands first
    functions: list[tuple[Mention, FunctionCall]] = field(default_factory=list)
    variables: list[Mention] = field(default_factory=list)
    node_sets: list[tuple[int, Expr]] = field(default_factory=list)  # what stands for a node set
    unplaced: list[Mention] = field(default_factory=list)  # position(), last() in no predicate
