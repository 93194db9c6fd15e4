"""Finds the template of a query and, for the first of its members, normalises it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from extract.subscriptions.wording_index import literal_order
from extract.subscriptions.wordings import Resolution
from extract.transtool.constant_order import ParameterClasses, parameter_classes
from extract.transtool.normalise import NormalForm
from extract.transtool.prefixes import Prefixes
from extract.transtool.rules.make_absolute import make_absolute
from extract.transtool.rules.split_union import split_union
from extract.xpath.ast import Expr, Union
from extract.xpath.parameters import QueryShape, divided, remember_shape, with_values
from extract.xpath.tokens import NUMBER, STRING, Literal

Normalise = Callable[[Expr, Sequence[str]], tuple[NormalForm, Sequence[Expr]]]


def _operands(expr: Expr) -> list[str]:
    """The operands of a union as texts."""
    split = split_union(expr)
    return list(map(str, split.parts)) if isinstance(split, Union) else []


class TemplateResolver:
    """Numbers templates by their canonical text, from the document node and in common prefixes.

    Queries of one text have one normal form, with their own constants, unless the order of their
    constants decides on it (`constant_order`): then each order is a template of its own.

    Args:
        prefixes: The common prefixes.
        normalise: Normalises a template, whose parameters know these constants or none; returns its
            form, and the branches with parameters as expressions.
        add: Takes in a new template, its text and its normal form, and returns its number.
    """

    def __init__(
        self, prefixes: Prefixes, normalise: Normalise, add: Callable[[str, NormalForm], int]
    ) -> None:
        self._prefixes = prefixes
        self._normalise = normalise
        self._add = add
        self._numbers: dict[str, int] = {}
        self._unsure: set[str] = set()  # known texts of which it is not known if order matters
        self._classes: dict[str, ParameterClasses] = {}  # of texts of which order matters
        self._ordered: dict[tuple[str, tuple[int, ...]], int] = {}

    def know(self, xpaths: Iterable[str]) -> None:
        """Takes in templates that were added before, in the order of their numbers."""
        for number, xpath in enumerate(xpaths):
            self._numbers[xpath] = number
            if "$" in xpath:
                self._unsure.add(xpath)

    def __call__(self, shape: QueryShape, namespaces: Mapping[str, str]) -> Resolution:
        """Returns the template of a query.

        Args:
            shape: The query.
            namespaces: What its prefixes stand for.

        Raises:
            ShapedByConstants: The query has to be a template of its own, without parameters.
        """
        bound = self._prefixes.bind(shape.expression, namespaces)
        absolute = make_absolute(bound)
        xpath = str(absolute)
        number, classes = self._number(absolute, xpath)
        if number is None:
            number = self._by_order(shape, absolute, xpath, classes)
        return Resolution(number, xpath, classes, absolute is not bound)

    def _number(self, absolute: Expr, xpath: str) -> tuple[int | None, ParameterClasses]:
        """The number of a template, or the classes of constants whose order decides on it."""
        classes = self._classes.get(xpath)
        if classes is not None:
            return None, classes
        number = self._numbers.get(xpath)
        if number is not None and xpath not in self._unsure:
            return number, ()
        form, exprs = self._normalise(absolute, ())
        remember_shape(xpath, absolute)
        classes = ()
        if "$" in xpath:
            branches = [branch.xpath for branch in form.branches]
            classes = parameter_classes(branches, exprs, _operands(absolute))
        self._unsure.discard(xpath)
        if classes:
            self._classes[xpath] = classes
            return None, classes
        if number is None:
            number = self._numbers[xpath] = self._add(xpath, form)
        return number, ()

    def _by_order(
        self, shape: QueryShape, absolute: Expr, xpath: str, classes: ParameterClasses
    ) -> int:
        """The number of a template whose normal form depends on the order of constants."""
        pairs = zip(shape.values, shape.roles, strict=True)
        constants = [value for value, role in pairs if role]
        kinds = [STRING if place.type == "string" else NUMBER for place in divided(xpath)[1]]
        literals = [Literal(kind, one, 0) for kind, one in zip(kinds, constants, strict=True)]
        key = (xpath, literal_order(literals, classes))
        number = self._ordered.get(key)
        if number is None:
            form, _ = self._normalise(with_values(absolute, constants), constants)
            number = self._add(xpath, form)
            self._ordered[key] = number
        return number
