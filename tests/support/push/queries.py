"""Random templates of queries: what the push engine takes, and now and then something else."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from extract.filtertool.matchers.protocol import Question
from extract.subscriptions.constants import Constants
from extract.xpath.ast import ParameterType
from extract.xpath.functions import Type
from tests.support.push.general_queries import GeneralParts
from tests.support.push.vocabulary import ATTRIBUTES, ELEMENTS, NUMBERS, STRINGS

_OPERATORS: Final = ("=", "=", "=", "!=", "<", "<=", ">", ">=")
_ODD: Final = (
    *("following::a", "following-sibling::*[2]", "..", "ancestor::a", "comment()"),
    *("sum(b | a) > 1", "self::a", "preceding-sibling::text()", "name() = 'a'", "(b)[1]"),
    *("(b | a) = c", "descendant::a[2]", "name(a) = 'y'", "id(b)", "node()"),
)
_AXES: Final = (
    *("following-sibling", "preceding-sibling", "following", "preceding"),
    *("ancestor", "ancestor-or-self", "parent"),
)
_WRITTEN: Final = (
    "'urn:u'",
    "'urn:v'",
    "namespace-uri(*)",
    "'a'",
    "'p:a'",
    "'b'",
    "''",
    "name(*)",
    "local-name()",
    "name(@*)",
)
_PLACES: Final = (
    *("1", "2", "last()", "position() > 1", "position() = last()", "not(position() = 1)"),
    *("position() mod 2 = 1", "last() - 1", "last() > 2", "count(*)", "position() = count(a)"),
)


class RandomTemplate(NamedTuple):
    """A query with parameters, its type, and the types of the parameters."""

    text: str
    type: Type
    parameters: tuple[ParameterType, ...]

    def question(self, rows: list[tuple[str, ...]]) -> Question:
        """The question of queries with these constants."""
        constants = Constants.of(self.parameters, rows) if self.parameters else None
        return Question((self.text,), self.type, constants=constants)

    def constants(self, random: Random) -> tuple[str, ...]:
        """Constants of one query."""
        return tuple(
            [random.choice(STRINGS if one == "string" else NUMBERS) for one in self.parameters]
        )


class TemplateWriter(GeneralParts):
    """Writes one template.

    Args:
        random: Where choices come from.
        odd: Of a hundred conditions, how many are such that the engine does not take them.
    """

    def __init__(self, random: Random, odd: int = 0) -> None:
        super().__init__(random)
        self._odd = odd
        self._parameters: list[ParameterType] = []

    def template(self) -> RandomTemplate:
        """A template: mostly a path, at times several, or a condition on the document."""
        random, kind = self._random, self._random.randrange(23)
        if kind > 20:
            text = self.general_nodes(True, 2)
        elif kind == 20:
            text = f"boolean(//*[{self.general_condition(2)}])"
            return RandomTemplate(text, Type.BOOLEAN, tuple(self._parameters))
        elif kind < 12:
            text = self._path(True, 2)
        elif kind == 12:
            text = self._elsewhere(2)
        elif kind < 15:
            text = self._listed(1)
        elif kind < 17:
            text = " | ".join([self._path(True, 1) for _ in range(random.randint(2, 3))])
        else:
            return RandomTemplate(self._truth(), Type.BOOLEAN, tuple(self._parameters))
        return RandomTemplate(text, Type.NODES, tuple(self._parameters))

    def _truth(self) -> str:
        """A condition on the document."""
        path = self._path(True, 1)
        match self._random.randrange(9):
            case 7 | 8:
                parts = (f"count({path})", f"sum({self._path(True, 1)})", self._path(True, 0))
                return " ".join(
                    [parts[0], "-", parts[1], self._random.choice(_OPERATORS), parts[2]]
                )
            case 0:
                return f"boolean({path})"
            case 1:
                return f"not({path})"
            case 2:
                return self._comparison(path)
            case 3:
                return f"{path} and not({self._path(True, 1)})"
            case 4:
                return f"count({path}) > {self._number()}"
            case 5:
                return f"contains({path}, {self._string()})"
            case _:
                return f"{path} or string({self._path(True, 1)}) = {self._string()}"

    # -- paths

    def _path(self, absolute: bool, depth: int) -> str:
        random = self._random
        steps = random.choice((1, 2, 2, 3, 3, 4)) if absolute else random.choice((1, 1, 1, 2, 3))
        out = []
        for number in range(steps):
            if number or absolute:
                out.append(random.choice(("/", "/", "//")))
            elif random.randrange(6) == 0:
                out.append(".//")
            last = number == steps - 1
            # Conditions on several steps at once seldom hold.
            few = depth if last or random.randrange(3) == 0 else 0
            out.append(self._step(last, few, number == 0 and not absolute))
        return "".join(out)

    def _elsewhere(self, depth: int) -> str:
        """A path that turns, up or to what is beside it."""
        random = self._random
        path = f"{self._path(True, depth)}/{random.choice(_AXES)}::{self._name(ELEMENTS)}"
        if random.randrange(3) == 0:
            path = f"{path}[{self._condition(depth - 1)}]"
        if random.randrange(3) == 0:
            path = f"{path}/{random.choice(_AXES)}::{self._name(ELEMENTS)}"
        return f"{path}/{self._path(False, 0)}" if random.randrange(3) == 0 else path

    def _listed(self, depth: int) -> str:
        """Nodes of paths by their positions among all of them."""
        random, kind = self._random, self._random.randrange(4)
        inner = self._elsewhere(0) if kind == 0 else self._path(True, depth)
        if kind == 1:
            inner = f"{inner} | {self._path(True, 0)}"
        listed = f"({inner})[{random.choice(_PLACES)}]"
        if random.randrange(4) == 0:
            listed += f"[{self._condition(depth)}]"
        return f"{listed}/{self._path(False, 0)}" if random.randrange(4) == 0 else listed

    def _step(self, last: bool, depth: int, first: bool) -> str:
        random = self._random
        kind = random.randrange(24)
        if last and kind < 4:
            step = f"@{self._name(ATTRIBUTES)}"
        elif last and kind < 6:
            step = "text()"
        elif kind == 6 and not first:
            return "."
        elif kind == 7:
            step = f"descendant::{self._name(ELEMENTS)}"
        elif kind == 8:
            step = f"descendant-or-self::{self._name(ELEMENTS)}"
        elif kind == 9 and last:
            step = f"{random.choice(('descendant', 'descendant-or-self'))}::text()"
        elif kind == 10 and last:
            step = "attribute::node()"
        else:
            step = self._name(ELEMENTS)
        if depth <= 0:
            return step
        for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
            step += f"[{self._condition(depth - 1)}]"
        return step

    def _name(self, names: tuple[str, ...]) -> str:
        kind = self._random.randrange(16)
        if kind < 3:
            return "*"
        if kind == 3:
            return self._random.choice(("p:*", "q:*"))
        name = self._random.choice(names)
        return f"{self._random.choice('pq')}:{name}" if kind < 6 else name

    # -- conditions

    def _condition(self, depth: int) -> str:
        random = self._random
        if random.randrange(100) < self._odd:
            return random.choice(_ODD)
        kind = random.randrange(11)
        if kind == 10:
            return self.general_condition(depth)
        if depth > 0 and kind < 2:
            inner = [self._condition(depth - 1) for _ in range(random.randint(2, 3))]
            return f"({random.choice((' and ', ' or ')).join(inner)})"
        if kind == 2:
            return f"not({self._condition(depth - 1)})"
        if kind == 3:
            return self._operand(depth)
        if kind == 4 and random.randrange(3) == 0:
            return f"{self._text(depth)} = {self._text(depth)}"
        if kind == 4:
            function = random.choice(("contains", "starts-with"))
            return f"{function}({self._one(depth)}, {self._string()})"
        if kind == 5:
            return self._value_condition(depth)
        if kind == 6:
            return self._place_condition(depth)
        return self._comparison(self._operand(depth))

    def _place_condition(self, depth: int) -> str:
        """A position, a condition on siblings or nodes above, or one on two node sets."""
        random, kind = self._random, self._random.randrange(11)
        if kind > 7:
            return self._above_condition(depth)
        if kind < 3:
            return random.choice(_PLACES)
        if kind < 6:
            axis = random.choice(_AXES)
            inner = f"[{self._condition(depth - 1)}]" if depth > 0 and random.randrange(2) else ""
            first = random.choice(("", "", "[1]"))
            path = f"{axis}::{self._name(ELEMENTS)}{first}{inner}"
            path = f"{self._path(False, 0)}/{path}" if random.randrange(4) == 0 else path
            path = f"{path}/{self._path(False, depth)}" if random.randrange(3) == 0 else path
            if "@" in path.split(axis)[0] or "text()" in path or "attribute" in path:
                return "*"
            kinds = (path, f"count({path}) > {self._number()}", f"{self._one(depth)} = {path}")
            return random.choice(kinds)
        return f"{self._one(depth)} {random.choice(_OPERATORS)} {self._one(depth)}"

    def _above_condition(self, depth: int) -> str:
        random = self._random
        if random.randrange(5) == 0:
            function = random.choice(("name", "local-name", "namespace-uri"))
            of = random.choice(("", "*", "@*", "..", self._path(False, 0), self._listed(0)))
            return f"{function}({of}) = {random.choice(_WRITTEN)}"
        if random.randrange(6) == 0:
            return self._comparison(self._listed(0))
        above = random.choice(("..", "..", f"ancestor::{self._name(ELEMENTS)}"))
        if depth > 0 and above != ".." and random.randrange(3) == 0:
            above = f"{above}[{self._condition(depth - 1)}]"
        if random.randrange(3):
            above = f"{above}/{self._path(False, depth)}"
        kinds = (above, f"not({above})", f"count({above}) > {self._number()}")
        return random.choice((*kinds, self._comparison(above)))

    def _value_condition(self, depth: int) -> str:
        kind = self._random.randrange(10)
        if kind > 5:
            return self._number_condition(depth)
        if kind < 2:
            return self._comparison(f"count({self._one(depth)})")
        if kind == 2:
            return self._comparison(f"string({self._one(depth)})")
        if kind == 3:
            return self._comparison(f"number({self._one(depth)})")
        truth = self._random.choice(("true()", "false()"))
        if kind == 4:
            return f"{self._operand(depth)} {self._random.choice(('=', '!='))} {truth}"
        return f"{truth} = {self._operand(depth)}"

    def _number_condition(self, depth: int) -> str:
        """A comparison of numbers, one of which is calculated."""
        random, operator = self._random, self._random.choice(_OPERATORS)
        left = self._calculation(depth, 2)
        right = random.choice((self._one, self._text))(depth) if random.randrange(2) else ""
        right = right or self._calculation(depth, 1)
        if random.randrange(3) == 0:
            return self._comparison(f"({left})")
        left, right = (left, right) if random.randrange(2) else (right, left)
        return f"{left} {operator} {right}"

    def _calculation(self, depth: int, nested: int) -> str:
        random, kind = self._random, self._random.randrange(12)
        if nested and kind < 6:
            parts = [self._calculation(depth, nested - 1) for _ in range(2)]
            operator = random.choice(("+", "-", "*", "div", "mod"))
            return f"({parts[0]} {operator} {parts[1]})"
        match kind:
            case 0 | 1 | 2:
                return f"sum({self._one(depth)})"
            case 3 | 6:
                return f"count({self._path(random.randrange(3) == 0, depth)})"
            case 4:
                return f"string-length({self._text(depth)})"
            case 5 | 7:
                return f"number({self._text(depth)})"
            case 8:
                return f"{random.choice(('floor', 'ceiling', 'round'))}({self._one(depth)})"
            case 9:
                return f"-({self._one(depth)})"
            case _:
                return random.choice(("0", "1", "0.5", "2", "1e3", "10 div 0"))

    def _text(self, depth: int) -> str:
        one = self._one(depth)
        functions = (
            *(f"normalize-space({one})", f"concat({one}, '1')", f"string({one})", one),
            *(f"translate({one}, '1ä.x', '2ö')", f"translate({one}, 'xy', {one})"),
            *(
                f"substring({one}, 2)",
                f"substring({one}, count(*), 1.5)",
                f"substring({one}, {one})",
            ),
        )
        return self._random.choice(functions)

    def _operand(self, depth: int) -> str:
        if self._random.randrange(8) == 0:
            return f"{self._one(depth)} | {self._one(depth)}"
        return self._one(depth)

    def _one(self, depth: int) -> str:
        kind = self._random.randrange(12)
        if kind < 2:
            return "."
        return self._path(True, 0) if kind == 2 else self._path(False, depth)

    def _comparison(self, operand: str) -> str:
        random, operator = self._random, self._random.choice(_OPERATORS)
        constant = self._string() if random.randrange(2) else self._number()
        if random.randrange(4) == 0:
            return f"{constant} {operator} ({operand})"
        return (
            f"({operand}) {operator} {constant}"
            if "|" in operand
            else f"{operand} {operator} {constant}"
        )

    def _string(self) -> str:
        self._parameters.append("string")
        return f"$string{len(self._parameters)}"

    def _number(self) -> str:
        self._parameters.append("number")
        minus = self._random.choice(("", "", "", "-", "--"))
        return f"{minus}$number{len(self._parameters)}"
