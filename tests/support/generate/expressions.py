"""Random XPath expressions of each type: node sets, booleans, numbers, strings, and predicates."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.generate.draw import between, chance, pick, weighted
from tests.support.generate.paths import START, Paths, Tokens, Where
from tests.support.generate.vocabulary import LANGUAGES, VALUES

_NUMBERS = ("1", "2", "3", "10", "1.5", ".5", "0", "2.", "100")
_COMPARISONS = ("=", "=", "!=", "!=", "<", "<=", ">", ">=")

Writer = Callable[[Where, int], Tokens]


class Expressions(Paths):
    """Writes expressions; ``depth`` is how much deeper they may nest."""

    def top(self) -> Tokens:
        """A whole query."""
        if chance(self.rng, self.profile.values):
            return self._value(START, 2)
        if chance(self.rng, self.profile.operators):
            return self._combined(2)
        return self._path(2)

    def _path(self, depth: int) -> Tokens:
        if chance(self.rng, self.profile.relative):
            return self.relative(START, depth, longest=4)[0]
        return self.absolute(depth)[0]

    def _combined(self, depth: int) -> Tokens:
        kind = weighted(self.rng, ((4, "union"), (4, "filter"), (1, "group"), (2, "id")))
        if kind == "union":
            branches = [self._path(depth)]
            for _ in range(between(self.rng, 1, 2)):
                branches.append(self._path(depth))
            return _joined(branches, " | ")
        if kind == "group":
            return self._call("", [self._combined(depth - 1) if depth else self._path(0)])
        if kind == "id":
            steps = self.steps_after(Where("element", self.walk.everywhere), 0)[0]
            return [*self._id(START, 0), *(steps if chance(self.rng, 40) else [])]
        inner, where = self.absolute(depth - 1)
        tokens = ["(", *inner]
        if chance(self.rng, 30):
            tokens += [" | ", *self._path(0)]
        tokens += [")", "[", *self.predicate(where, depth - 1), "]"]
        return tokens + (self.steps_after(where, 0)[0] if chance(self.rng, 50) else [])

    # Predicates

    def predicate(self, where: Where, depth: int) -> Tokens:
        """A condition on, or the position of, a node that may be at these places."""
        return self._one_of(
            where,
            depth,
            (7, self._existence),
            (4, self._comparison),
            (4, self._position),
            (2, self._naming),
            (2, self._boolean),
            (1, self._number),
            (1, self._string),
        )

    def _existence(self, where: Where, depth: int) -> Tokens:
        if chance(self.rng, 6):
            return self.absolute(depth - 1)[0]
        return self.relative(where, depth - 1, longest=weighted(self.rng, ((3, 1), (1, 2))))[0]

    def _naming(self, where: Where, depth: int) -> Tokens:
        """A question about the name of the node itself."""
        nearby = where.kind == "element" and chance(self.rng, 60)
        keys = self.walk.elements(where.keys if nearby else self.walk.everywhere)
        name = self.walk.name(pick(self.rng, keys)) if keys else "a"
        asked = weighted(self.rng, ((5, "local-name"), (3, "name"), (1, "namespace-uri")))
        local = name.rpartition(":")[2]
        text = local if asked == "local-name" else name
        if asked == "namespace-uri":
            text = pick(self.rng, ("", *self.walk.prefixes))
        call = self._call(asked, [["."]] if chance(self.rng, 20) else [])
        if chance(self.rng, 15):
            function = pick(self.rng, ("contains", "starts-with"))
            return self._call(function, [call, [f"'{text[:1]}'"]])
        sides = [call, [f"'{text}'"]]
        left, right = sides if chance(self.rng, 80) else sides[::-1]
        return [*left, "=" if chance(self.rng, 75) else "!=", *right]

    def _position(self, where: Where, depth: int) -> Tokens:
        position, last = ["position", "(", ")"], ["last", "(", ")"]
        return weighted(
            self.rng,
            (
                (6, ["1"]),
                (3, ["2"]),
                (4, last),
                (3, [*position, pick(self.rng, _COMPARISONS), pick(self.rng, "123")]),
                (1, [*position, "=", *last]),
                (1, [*last, " - ", "1"]),
                (1, [*position, " mod ", "2", "=", "1"]),
                (1, [*last, ">", "1"]),
            ),
        )

    def _comparison(self, where: Where, depth: int) -> Tokens:
        left, right = self._compared(where, depth), self._constant()
        if chance(self.rng, 15):
            right = self._compared(where, depth - 1)
        if chance(self.rng, 15):
            left, right = right, left
        return [*left, pick(self.rng, _COMPARISONS), *right]

    def _compared(self, where: Where, depth: int) -> Tokens:
        if where.kind != "element" or chance(self.rng, 25):
            return ["."]
        names = self.walk.attributes(where.keys)
        if names and chance(self.rng, 45):
            return ["@", pick(self.rng, names)]
        return self._existence(where, depth)

    def _constant(self) -> Tokens:
        if chance(self.rng, 35):
            return [pick(self.rng, _NUMBERS)]
        value = pick(self.rng, VALUES)
        quote = "'" if '"' in value or ("'" not in value and chance(self.rng, 50)) else '"'
        return [f"{quote}{value}{quote}"]

    # Expressions by type

    def _value(self, where: Where, depth: int) -> Tokens:
        return self._one_of(
            where, depth, (3, self._number), (3, self._string), (3, self._boolean),
            (2, self._comparison),
        )  # fmt: skip

    def _one_of(self, where: Where, depth: int, *writers: tuple[int, Writer]) -> Tokens:
        return weighted(self.rng, writers)(where, depth)

    def _nodes(self, where: Where, depth: int) -> Tokens:
        if chance(self.rng, 8):
            return _joined([self._existence(where, depth), self._existence(where, depth)], " | ")
        if where == START:
            return self._path(depth)
        return self._existence(where, depth)

    def _boolean(self, where: Where, depth: int) -> Tokens:
        if depth <= 0 or self.steps_left <= 0:
            return pick(self.rng, (["true", "(", ")"], ["false", "(", ")"]))
        inner = depth - 1
        kind = weighted(
            self.rng,
            ((4, "not"), (3, "and"), (3, "or"), (3, "contains"), (2, "starts-with"), (1, "boolean"),
             (1, "lang"), (1, "true"), (1, "chain")),
        )  # fmt: skip
        if kind == "not":
            return self._call("not", [self._condition(where, inner)])
        if kind in ("and", "or"):
            return [*self._condition(where, inner), f" {kind} ", *self._condition(where, inner)]
        if kind in ("contains", "starts-with"):
            return self._call(kind, [self._string(where, inner), self._constant()])
        if kind == "boolean":
            return self._call("boolean", [self._value(where, inner)])
        if kind == "lang":
            return self._call("lang", [[f"'{pick(self.rng, LANGUAGES)}'"]])
        if kind == "chain":  # comparisons associate to the left: (1 < 2) < 3
            return [*self._number(where, 0), "<", *self._number(where, 0), "<", *self._constant()]
        return ["true", "(", ")"]

    def _condition(self, where: Where, depth: int) -> Tokens:
        return self._one_of(
            where, depth, (6, self._existence), (6, self._comparison), (2, self._boolean),
            (1, self._naming),
        )  # fmt: skip

    def _number(self, where: Where, depth: int) -> Tokens:
        if depth <= 0 or self.steps_left <= 0:
            return [pick(self.rng, _NUMBERS)]
        inner = depth - 1
        kind = weighted(
            self.rng,
            ((6, "count"), (2, "sum"), (2, "number"), (2, "string-length"), (1, "floor"),
             (1, "ceiling"), (1, "round"), (2, "arithmetic"), (1, "minus")),
        )  # fmt: skip
        if kind in ("count", "sum"):
            return self._call(kind, [self._nodes(where, inner)])
        if kind == "number":
            return self._call(kind, [self._string(where, inner)] if chance(self.rng, 70) else [])
        if kind == "string-length":
            return self._call(kind, [self._string(where, inner)] if chance(self.rng, 70) else [])
        if kind == "minus":
            return ["-", *self._call("", [self._number(where, inner)])]
        if kind == "arithmetic":
            sign = pick(self.rng, (" + ", " - ", " * ", " div ", " mod "))
            return [*self._number(where, inner), sign, *self._number(where, 0)]
        return self._call(kind, [self._number(where, inner)])

    def _string(self, where: Where, depth: int) -> Tokens:
        if depth <= 0 or self.steps_left <= 0:
            return weighted(self.rng, ((3, ["."]), (1, self._constant())))
        inner = depth - 1
        kind = weighted(
            self.rng,
            ((4, "string"), (2, "name"), (2, "local-name"), (1, "namespace-uri"), (2, "concat"),
             (1, "substring-before"), (1, "substring-after"), (2, "substring"),
             (2, "normalize-space"), (1, "translate"), (2, "nodes")),
        )  # fmt: skip
        if kind == "nodes":
            return self._nodes(where, inner)
        if kind in ("string", "name", "local-name", "namespace-uri", "normalize-space"):
            return self._call(kind, [self._nodes(where, inner)] if chance(self.rng, 60) else [])
        arguments = [self._string(where, inner)]
        if kind == "substring":
            arguments += [self._number(where, 0) for _ in range(between(self.rng, 1, 2))]
        else:
            arguments += [self._constant() for _ in range(2 if kind == "translate" else 1)]
        return self._call(kind, arguments)

    def _id(self, where: Where, depth: int) -> Tokens:
        constant = [f"'{pick(self.rng, ('i1', 'i2', 'i1 i3', 'i9', ''))}'"]
        return self._call("id", [self._nodes(where, depth) if chance(self.rng, 30) else constant])

    def _call(self, function: str, arguments: list[Tokens]) -> Tokens:
        return [*([function] if function else []), "(", *_joined(arguments, ","), ")"]


def _joined(parts: list[Tokens], between_them: str) -> Tokens:
    tokens = list(parts[0]) if parts else []
    for part in parts[1:]:
        tokens += [between_them, *part]
    return tokens
