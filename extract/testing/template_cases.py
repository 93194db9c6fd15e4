"""Questions with constants, for the contract of matchers."""

from __future__ import annotations

from random import Random
from typing import Final

from extract.filtertool.matchers.protocol import Question
from extract.subscriptions.constants import Constants
from extract.xpath.ast import ParameterType
from extract.xpath.functions import Type
from extract.xpath.parameters import parameter_types, parse_shape

STRINGS: Final = ("", "1", "2.5", "Ann", "a & b", "a", "<x", "n", "1e0", " 1 ", "Ben & co", "x")
NUMBERS: Final = ("1", "2.5", "0", "3", ".5", "1e0", "1e", "0.00", "9007199254740993", "1e999")

# Each has parameters where the documents of the contract have values: strings, numbers, NaN, none.
_CONDITIONS: Final = (
    "name = $string1",
    "name != $string1",
    "not(name = $string1)",
    "@id = $string1",
    "@id = $number1",
    "@id != $number1",
    "@id < $number1",
    "@id >= $number1",
    "$number1 > @id",
    "-$number1 < @id",
    "* = $number1",
    "* > $number1 and * < $number2",
    "* = $string1 and * = $string2",
    "name = $string1 or email = $string2",
    "@id = $number1 and name = $string2 and * <= $number3",
    "name = $string1 and not(email = $string2)",
    "name/text() = $string1",
    ". = $string1",
    "contains(name, $string1)",
    "contains(., $string1)",
    "contains($string1, name)",
    "starts-with(name, $string1) and @id = $number2",
    "contains(name, $number1)",
    "substring-after(name, $string1) = $string2",
    "substring-before(., $string1)",
    "count(*) = $number1",
    "count(*[. = $string1]) > $number2",
    "string-length(name) >= $number1",
    "number(name) != $number1",
    "string(@id) = $string1",
    "name < $string1",
    "*[. = $string1][1]",
    "*[. > $number1][last()]/preceding-sibling::*",
    "../*[@id = $number1]",
    "/db/*/name = $string1",
    "boolean(name = $string1) = (email = $string2)",
    "position() = last() and name = $string1",
    "name[. = $string1] | email[. = $string2]",
    "sum(*) > $number1",
    "following-sibling::*[1]/@id = $number1",
)
_PATHS: Final = (
    "/db/student[{0}]",
    "/db/*[{0}]",
    "/db/*[{0}]/name",
    "/db/*[name][{0}]/@id",
    "//*[{0}]",
    "/db/student[{0}][1]",
    "/db/student[1][{0}]",
    "/db/*[{0}]/text()",
    "/db[*[{0}]]/student",
    "/db/*/*[../self::*[{0}]]",
    "(/db/*[{0}])[1]",
)
_VALUES: Final = (
    ("boolean(/db/*[{0}])", Type.BOOLEAN),
    ("count(/db/*[{0}])", Type.NUMBER),
    ("string(/db/*[{0}]/name)", Type.STRING),
)


def random_template(rng: Random, queries: int = 6) -> Question:
    """Makes a question with constants, of one or two branches."""
    condition = rng.choice(_CONDITIONS)
    if rng.random() < 0.15:
        path, kind = rng.choice(_VALUES)
        return template(path.format(condition), kind=kind, rng=rng, queries=queries)
    paths = rng.sample(_PATHS, rng.choice([1, 1, 2]))
    return template(*[path.format(condition) for path in paths], rng=rng, queries=queries)


def template(*branches: str, rng: Random, queries: int, kind: Type = Type.NODES) -> Question:
    """Makes a question with random constants."""
    types: list[ParameterType] = list(parameter_types(parse_shape(branches[0])))
    choices = {"string": STRINGS, "number": NUMBERS}
    rows = [tuple([rng.choice(choices[one]) for one in types]) for _ in range(queries)]
    return Question(branches, kind, constants=Constants.of(types, rows))
