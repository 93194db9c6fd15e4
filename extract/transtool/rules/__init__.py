"""The rewrite rules of TRANSTOOL, in the order they are tried.

When each kind runs:
    `FOLD` rules need no schema. Each takes a location path and gives the paths whose union selects
    the same nodes, or None if it does not apply. They run to a fixed point.

    `EXPAND` rules follow the schema. Each takes a branch (a spine whose place in the schema is
    known, and a tail of steps), moves the first step of the tail to the spine, and gives the
    branches that result: none if the schema has no such edge, or None if the rule does not apply to
    this step. The order only matters for speed: no two rules take one step.

    `simplify_filter` runs for every predicate of a step that `EXPAND` moves, `tidy_residual` for
    the steps that stay in the tail.

Always holds:
    A rule keeps a query's answer on *every* document with the schema's edges, or returns None.
    Positions are where this is hard (``//a[1]``, ``*[2]``).

To add a rule:
    One file here with one function named like the file, its place in a tuple below, and a fixture
    file ``tests/fixtures/rules/<name>.txt`` with pairs of before and after.
"""

from __future__ import annotations

from extract.transtool.rules.climb_spine import climb_spine
from extract.transtool.rules.end_leaf import end_leaf
from extract.transtool.rules.enter_child import enter_child
from extract.transtool.rules.expand_descendant import expand_descendant
from extract.transtool.rules.expand_wildcard import expand_wildcard
from extract.transtool.rules.fold_ancestor import fold_ancestor
from extract.transtool.rules.fold_descendant import fold_descendant
from extract.transtool.rules.fold_parent import fold_parent
from extract.transtool.rules.fold_self import fold_self
from extract.transtool.rules.keep_elsewhere import keep_elsewhere
from extract.transtool.rules.keep_self import keep_self

# `fold_self` first: it joins steps that the other rules expect side by side.
FOLD = (fold_self, fold_descendant, fold_parent, fold_ancestor)

# The axes without which no rule of `FOLD` applies.
FOLDED_AXES = frozenset({"self", "descendant-or-self", "parent", "ancestor", "ancestor-or-self"})

EXPAND = (
    enter_child,
    expand_descendant,
    expand_wildcard,
    end_leaf,
    climb_spine,
    keep_self,
    keep_elsewhere,
)

__all__ = ["EXPAND", "FOLD", "FOLDED_AXES"]
