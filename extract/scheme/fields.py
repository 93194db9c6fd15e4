"""JSON objects whose fields are asked for by name and type, with errors that say which is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from extract.errors import SchemeError

_HINT = "the file is damaged; prepare the queries again with `extract prep`"
_NONE: Any = object()


class Fields:
    """One JSON object of a scheme file.

    Args:
        value: The object.
        path: Where it stands, as in ``chunks[2]``; empty for the whole file.
        file: The file.
    """

    __slots__ = ("_file", "_path", "_value")

    def __init__(self, value: Any, path: str, file: str) -> None:
        self._value = value
        self._path = path
        self._file = file
        if type(value) is not dict:
            raise SchemeError(f"{path or 'the file'} is not a JSON object", _HINT, file)

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def wrong(self, key: str, what: str) -> NoReturn:
        """Raises the error about one field."""
        where = f"{self._path}.{key}" if self._path else key
        raise SchemeError(f"{where}: {what}", _HINT, self._file)

    def _get(self, key: str, default: Any, kind: type, name: str) -> Any:
        value = self._value.get(key, default)
        if type(value) is not kind:  # not isinstance: true is no number
            self.wrong(key, "is missing" if value is _NONE else f"is not {name}")
        return value

    def text(self, key: str, default: Any = _NONE) -> str:
        """A string."""
        value = self._value.get(key, default)
        return value if type(value) is str else self._get(key, default, str, "a string")

    def truth(self, key: str, default: Any = _NONE) -> bool:
        """True or false."""
        value: bool = self._get(key, default, bool, "true or false")
        return value

    def whole_number(self, key: str, default: Any = _NONE) -> int:
        """An integer."""
        value: int = self._get(key, default, int, "a whole number")
        return value

    def is_object(self, key: str) -> bool:
        """Whether a field is an object."""
        return type(self._value.get(key)) is dict

    def weight(self) -> float:
        """The number above zero in the field of this name; 1 if there is none."""
        value = self._value.get("weight", 1.0)
        if type(value) not in (int, float) or not 0 < value < float("inf"):
            self.wrong("weight", "is not a number above zero")
        return float(value)

    def items(self, key: str, default: Any = _NONE) -> list[Any]:
        """A list of anything."""
        value: list[Any] = self._get(key, default, list, "a list")
        return value

    def texts(self, key: str, default: Any = _NONE) -> tuple[str, ...]:
        """A list of strings."""
        value = self.items(key, default)
        if value and set(map(type, value)) != {str}:
            wrong = next(n for n, item in enumerate(value) if type(item) is not str)
            self.wrong(f"{key}[{wrong}]", "is not a string")
        return tuple(value)

    def indices(self, key: str, count: int, table: str, default: Any = _NONE) -> tuple[int, ...]:
        """A list of row numbers of a table that has so many rows."""
        value = self.items(key, default)
        # The common case in a few calls: these lists hold millions of numbers.
        if value and (set(map(type, value)) != {int} or not 0 <= min(value) <= max(value) < count):
            for number, item in enumerate(value):
                if type(item) is not int:
                    self.wrong(f"{key}[{number}]", "is not a whole number")
                if not 0 <= item < count:
                    self.wrong(f"{key}[{number}]", f"there is no {table}[{item}]")
        return tuple(value)

    def object(self, key: str) -> Fields:
        """An object inside this one."""
        value = self._get(key, _NONE, dict, "a JSON object")
        return Fields(value, f"{self._path}.{key}" if self._path else key, self._file)

    def objects(self, key: str, default: Any = _NONE) -> Iterator[Fields]:
        """A list of objects."""
        path = f"{self._path}.{key}" if self._path else key
        for number, value in enumerate(self.items(key, default)):
            yield Fields(value, f"{path}[{number}]", self._file)

    def mapping(self, key: str) -> dict[str, Any]:
        """An object with any values."""
        value: dict[str, Any] = self._get(key, _NONE, dict, "a JSON object")
        return value

    def table(self, key: str, kind: type, name: str) -> dict[str, Any]:
        """An object with values of one type."""
        value: dict[str, Any] = self._get(key, _NONE, dict, "a JSON object")
        for word, item in value.items():
            if type(item) is not kind:
                self.wrong(f"{key}.{word}", f"is not {name}")
        return value
