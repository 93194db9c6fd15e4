"""Finds matchers by name: built-in ones, and those of other packages.

A package offers a matcher under the entry point group ``extract.matchers``:

    [project.entry-points."extract.matchers"]
    mine = "my_package:MyFactory"

The object may be a `MatcherFactory`, or a class that makes one when called without arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from extract.errors import MatcherError
from extract.filtertool.matchers.protocol import MatcherFactory

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "extract.matchers"
AUTO: Final = "auto"
PUSH: Final = "push"
SQL: Final = "sql"  # a database decides
LATER: Final = "elementpath"  # evaluates only queries in XPath 2.0 or later

# Listed here so that they exist even where the package is used without being installed.
_BUILT_IN: Final = {
    "columnar": "extract.filtertool.matchers.columnar:ColumnarFactory",
    "lxml": "extract.filtertool.matchers.lxml.matcher:LxmlFactory",
    "push": "extract.filtertool.matchers.push.factory:PushFactory",
    "sql": "extract.filtertool.matchers.sql.factory:SqlFactory",
}
_CHOOSING: Final = "extract.filtertool.matchers.auto:AutoFactory"


def matcher_names() -> list[str]:
    """Returns the names of all matchers that are installed, sorted; some may be broken."""
    return sorted({*_BUILT_IN, *(point.name for point in _installed())})


def load_matcher(name: str = AUTO) -> MatcherFactory:
    """Loads the factory of a matcher.

    Args:
        name: The name of the matcher; ``auto`` chooses a built-in one for each batch.

    Raises:
        MatcherError: There is no matcher with that name, or it cannot be loaded; its cause says
            why.

    >>> load_matcher("lxml").consumes
    'xml'
    """
    if name == LATER:
        reason = f"the matcher {LATER!r} answers queries in XPath 2.0 and later, and only those"
        raise MatcherError(reason, "leave --matcher out: such a query says its version itself")
    if name == AUTO:
        return _made(AUTO, lambda: _resolve(_CHOOSING), "extract")
    names = matcher_names()
    if name not in names:
        raise MatcherError(
            f"there is no matcher {name!r}", f"there are: {', '.join([AUTO, *names])}"
        )
    points = [point for point in _installed() if point.name == name]
    if len({point.value for point in points}) > 1:
        owners = " and ".join(sorted({_owner(point) for point in points}))
        hint = "uninstall one of the packages"
        raise MatcherError(f"two matchers are called {name!r}: those of {owners}", hint)
    if points:
        return _made(name, points[0].load, _owner(points[0]))
    return _made(name, lambda: _resolve(_BUILT_IN[name]), "extract")


def _installed() -> Iterable[EntryPoint]:
    """The matchers of all packages that are installed."""
    from importlib.metadata import entry_points  # not needed for those that are built in

    return entry_points(group=GROUP)


def _resolve(value: str) -> Any:
    module, _, attribute = value.partition(":")
    return getattr(import_module(module), attribute)


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _made(name: str, load: Callable[[], Any], owner: str) -> MatcherFactory:
    try:
        loaded = load()
        factory = loaded() if isinstance(loaded, type) else loaded
    except MatcherError:  # which says itself why
        raise
    except Exception as error:  # another package may raise anything
        reason = f"the matcher {name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise MatcherError(reason, f"it comes with {owner}; is it installed correctly?") from error
    if not isinstance(factory, MatcherFactory):
        reason = f"the matcher {name!r} is no MatcherFactory, but {type(factory).__name__}"
        hint = f"it comes with {owner}, and has no {_missing(factory)}; see docs/matchers.md"
        raise MatcherError(reason, hint)
    if factory.consumes not in ("xml", "table"):
        reason = f"the matcher {name!r} consumes {factory.consumes!r}"
        raise MatcherError(reason, "consumes must be 'xml' or 'table'")
    return factory


def _missing(factory: object) -> str:
    """Names the members that an object lacks to be a `MatcherFactory`."""
    members = ("name", "consumes", "build", "with_limits")
    return ", ".join([member for member in members if not hasattr(factory, member)])
