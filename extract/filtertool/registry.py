"""Matchers by name: those that are built in, and those of other packages.

A package offers a matcher under the entry point group ``extract.matchers``:

    [project.entry-points."extract.matchers"]
    mine = "my_package:MyFactory"

The object named may be a `MatcherFactory`, or a class that makes one when called without arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from extract.errors import MatcherError
from extract.filtertool.matcher import MatcherFactory
from extract.limits import Limits

GROUP: Final = "extract.matchers"
AUTO: Final = "auto"
LATER: Final = "elementpath"  # is asked what is in XPath 2.0 or later, and nothing else

# So that they are there also where the package is used without being installed.
_BUILT_IN: Final = {
    "columnar": "extract.filtertool.columnar:ColumnarFactory",
    "lxml": "extract.filtertool.lxml_matcher:LxmlFactory",
}
_CHOOSING: Final = "extract.filtertool.auto:AutoFactory"


def matcher_names() -> list[str]:
    """The names of all matchers that are there, in alphabetical order; some may be broken."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def load_matcher(name: str = AUTO, seconds: float | None = None) -> MatcherFactory:
    """The factory of a matcher.

    Args:
        name: What the matcher is called; ``auto`` for the cheaper one of those that are built in,
            batch by batch.
        seconds: How long a question that may take very long can take on a unit. Whoever gives the
            factory to a `DocumentFilter` need not say it: that brings its own limits.

    Raises:
        MatcherError: There is none of that name, or it cannot be loaded; its cause says why.

    >>> load_matcher("lxml").consumes
    'xml'
    """
    known = matcher_names()
    if name == LATER:
        reason = f"the matcher {LATER!r} answers queries in XPath 2.0 and later, and only those"
        raise MatcherError(reason, "leave --matcher out: such a query says its version itself")
    if name == AUTO:
        chosen = _made(AUTO, lambda: _resolve(_CHOOSING), "extract")
        return chosen if seconds is None else within(chosen, Limits(query_seconds=seconds))
    if name not in known:
        raise MatcherError(
            f"there is no matcher {name!r}", f"there are: {', '.join([AUTO, *known])}"
        )
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if len({point.value for point in points}) > 1:
        owners = " and ".join(sorted({_owner(point) for point in points}))
        hint = "uninstall one of the packages"
        raise MatcherError(f"two matchers are called {name!r}: those of {owners}", hint)
    if points:
        factory = _made(name, points[0].load, _owner(points[0]))
    else:
        factory = _made(name, lambda: _resolve(_BUILT_IN[name]), "extract")
    return factory if seconds is None else within(factory, Limits(query_seconds=seconds))


def within(factory: Any, limits: Limits) -> Any:
    """The factory, with limits for one question where it takes them.

    That are those whose factory is a dataclass with a field ``seconds`` or ``memory``, or one
    ``fallback`` of which the same is true.
    """
    if not is_dataclass(factory) or isinstance(factory, type):
        return factory
    names = {each.name for each in fields(factory)}
    changes: dict[str, Any] = {}
    if "seconds" in names:
        changes["seconds"] = limits.query_seconds
    if "memory" in names:
        changes["memory"] = limits.query_memory
    if "fallback" in names:
        changes["fallback"] = within(getattr(factory, "fallback", None), limits)
    return replace(factory, **changes)


def _resolve(value: str) -> Any:
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _made(name: str, load: Callable[[], Any], owner: str) -> MatcherFactory:
    try:
        found = load()
        factory = found() if isinstance(found, type) else found
    except Exception as error:  # whatever a stranger's package may raise
        reason = f"the matcher {name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise MatcherError(reason, f"it comes with {owner}; is that installed well?") from error
    if not isinstance(factory, MatcherFactory):
        reason = f"the matcher {name!r} is no MatcherFactory, but {type(factory).__name__}"
        hint = f"it comes with {owner}; see extract.filtertool.matcher for what it must have"
        raise MatcherError(reason, hint)
    if factory.consumes not in ("xml", "table"):
        reason = f"the matcher {name!r} consumes {factory.consumes!r}"
        raise MatcherError(reason, "consumes must be 'xml' or 'table'")
    return factory
