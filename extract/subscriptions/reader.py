"""Reads query files; the formats are described in `extract.subscriptions`."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from extract.errors import QuerySyntaxError, SubscriptionsError
from extract.flwr.parser import is_flwr, parse_clauses
from extract.limits import RAISE, Limits
from extract.subscriptions.bindings import check_bindings, parse_binding
from extract.subscriptions.blocks import FileQueries, QueryBlock
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.metadata import (
    LISTED_KEYS,
    NO_METADATA,
    OWN_KEYS,
    Metadata,
    MetadataError,
    checked_metadata,
)
from extract.subscriptions.model import Subscription
from extract.subscriptions.native import native_lines
from extract.xpath.later import FIRST, VERSIONS, parse_later
from extract.xpath.parser import parse

# Only what XPath takes for white space: a no-break space must reach the parser.
_SPACE = " \t\r\n"

_UNIQUE = "give every query an id of its own; one without takes its line number"
_BINDING = 'write "#! ns prefix=uri", for example "#! ns po=urn:example:orders"'
_VERSION = f'write "#! xpath" and one of {", ".join(VERSIONS)}'
_COMMAS = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w.:-]+)\s*[,;]""")  # after the first field of a CSV
_STRING = re.compile("\"[^\"]*\"|'[^']*'")
# An id, spaces and an absolute path. XPath would read it as one relative path: `q1 /a` is `q1/a`.
_SPACED = re.compile(r"\s*([\w.:-]+) +(?=/)")
_TAB = "write {0}<TAB>xpath; for one XPath that starts with {0}, leave out the space"
_RECORD = 'write one object a line, for example {"id": "q1", "xpath": "//a"}'


def read_subscriptions(
    path: str | Path, source: str, namespaces: dict[str, str], limits: Limits, version: str
) -> Sequence[Subscription]:
    """The queries of a file in order.

    Args:
        path: The file.
        source: What errors call it.
        namespaces: Bindings for prefixes that it does not bind.
        limits: How large it may be.
        version: Of XPath, where it does not say it.
    """
    data = _read(path, source, limits).removeprefix(b"\xef\xbb\xbf")
    text = _decode(data, source)
    if text.lstrip(_SPACE).startswith(("<?", "<!")):
        hint = "give a file with one query a line: id<TAB>xpath, or just the XPath"
        raise SubscriptionsError("is XML or a schema, not a query file", hint, source)
    csv = _suffix(path) == ".csv"
    reader = _Reader(source, namespaces, version, limits, csv)
    if _is_json(path, text):
        return tuple(_limited(reader.read(text, reader.json_line), source, limits))
    if csv or not native_lines():
        return tuple(_limited(reader.read(text, reader.plain_line), source, limits))
    del text  # as large as the file
    return FileQueries(tuple(reader.read_blocks(data, limits)))


def _limited(
    queries: Iterable[Subscription], source: str, limits: Limits
) -> Iterator[Subscription]:
    for number, one in enumerate(queries):
        if number >= limits.subscriptions:
            raise SubscriptionsError(limits.passed("subscriptions"), RAISE, source, one.line)
        yield one


def _read(path: str | Path, source: str, limits: Limits) -> bytes:
    """The bytes of the file, unzipped if need be."""
    most = limits.queries_bytes
    try:
        with contextlib.ExitStack() as stack:
            stream = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
            data = _some(stream, most)
    except OSError as error:
        reason = f"cannot read the query file: {error.strerror or error}"
        hint = "check the name of the file"
        if re.search(r"//|[\[(@*]", source):  # somebody has given the query itself
            hint = f"write the XPath into a file, or pipe it: echo '{source}' | … --queries -"
        raise SubscriptionsError(reason, hint, source) from error
    try:
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = _some(cast(IO[bytes], packed), most)
    except (OSError, EOFError, zlib.error) as error:
        reason = f"cannot unzip the query file: {error}"
        raise SubscriptionsError(reason, "the file is damaged or truncated", source) from error
    if len(data) > most:
        raise SubscriptionsError(limits.passed("queries_bytes"), RAISE, source)
    return data


def _some(stream: IO[bytes], most: int) -> bytes:
    """The bytes of a stream, or one more than so many."""
    parts = io.BytesIO()
    while parts.tell() <= most and (part := stream.read(min(1 << 20, most + 1 - parts.tell()))):
        parts.write(part)
    return parts.getvalue()


def _decode(data: bytes, source: str) -> str:
    """The text of the file."""
    try:
        text, bad = data.decode(), data.find(b"\0")
        reason = "there is a NUL byte in the file"
    except UnicodeDecodeError as error:
        text, bad = "", error.start
        reason = f"the byte 0x{data[bad]:02x} is not valid UTF-8 here"
    if bad < 0:
        return text
    line = data.count(b"\n", 0, bad) + 1
    column = len(data[data.rfind(b"\n", 0, bad) + 1 : bad].decode()) + 1
    raise SubscriptionsError(reason, "save the file as UTF-8", source, line, column)


def _is_json(path: str | Path, text: str) -> bool:
    """Whether these are JSON lines: by the file's suffix, or where it has none, by their look."""
    suffix = _suffix(path)
    if suffix:
        return suffix == ".jsonl"
    lines = (line.lstrip(_SPACE) for line in text.split("\n"))
    return next((line[0] == "{" for line in lines if line and line[0] != "#"), False)


def _suffix(path: str | Path) -> str:
    """That of a file as it is when it is unzipped; empty if it has none."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), "")


class _Reader:
    """Goes through one file and remembers what the lines so far have bound and named."""

    def __init__(
        self,
        source: str,
        namespaces: dict[str, str],
        version: str,
        limits: Limits,
        csv: bool = False,
    ) -> None:
        self.source = source
        self.namespaces = namespaces
        self.version = version
        self.limits = limits
        self.csv = csv  # is it called so? The comma is an operator in later versions of XPath
        self.bound_at: dict[str, int] = {}
        # Thousands of queries with the same few bindings share one dictionary.
        self.shared: dict[frozenset[tuple[str, str]], dict[str, str]] = {}

    def read(self, text: str, parse: Callable[[str, int], Subscription]) -> Iterator[Subscription]:
        named_at: dict[str, int] = {}
        # Not splitlines(): that also cuts at U+2028 and others, which a string literal may hold.
        for number, line in enumerate(text.split("\n"), 1):
            content = line.strip(_SPACE)
            if not content:
                continue
            if content[0] == "#":
                self.comment(content, number)
                continue
            entry = parse(line, number)
            first = named_at.setdefault(entry.id, number)
            if first != number:
                raise self.taken(entry, first)
            yield entry

    def read_blocks(self, data: bytes, limits: Limits) -> Iterator[QueryBlock]:
        """What `read` gives for lines of text, as columns."""
        lines = native_lines()
        scanner = lines.LineScanner(data)
        most, total = limits.subscriptions, 0
        while True:
            reason = scanner.read()
            line = data[scanner.start : scanner.stop].decode()
            if reason in (lines.END, lines.DIRECTIVE) or scanner.count > most:
                block = self.block(data, *scanner.rows_since())
                if scanner.count > most:
                    at = int(block.lines[most - total])
                    raise SubscriptionsError(limits.passed("subscriptions"), RAISE, self.source, at)
                total = scanner.count
                if len(block):
                    yield block
            if reason == lines.END:
                return
            if reason == lines.DIRECTIVE:
                self.comment(line.strip(_SPACE), scanner.line)
                continue
            entry = self.plain_line(line, scanner.line)
            is_query = entry.xpath == line.strip(_SPACE)
            if reason == lines.TAKEN or not scanner.resume(is_query):
                raise self.taken(entry, scanner.first)

    def block(self, data: bytes, names: bytes, rows: bytes) -> QueryBlock:
        """The columns of some rows of a `LineScanner`."""
        id_stops, starts, stops, lines = np.frombuffer(rows, np.int64).reshape(-1, 4).T.copy()
        id_starts = np.zeros_like(id_stops)
        id_starts[1:] = id_stops[:-1]
        ids, xpaths = TextColumn(names, id_starts, id_stops), TextColumn(data, starts, stops)
        return QueryBlock(ids, xpaths, self.namespaces, self.version, lines)

    def taken(self, entry: Subscription, first: int) -> SubscriptionsError:
        """The error for an id that another line has."""
        reason = f"the id {entry.id!r} is already taken by line {first}"
        return self.error(reason, _UNIQUE, entry.line, 1)

    def comment(self, content: str, number: int) -> None:
        """Skips a comment; but ``#! ns prefix=uri`` binds a prefix for the lines below, and
        ``#! xpath 3.1`` says their version."""
        if not content.startswith("#!") or content.startswith("#!/"):  # the latter starts scripts
            return
        word, *rest = content[2:].split(maxsplit=1) or [""]
        if word == "xpath":
            self.version = "".join(rest)
            if self.version not in VERSIONS:
                raise self.error(f"there is no XPath {self.version!r} here", _VERSION, number, 1)
            return
        if word != "ns":
            hint = f"{_BINDING}; or {_VERSION}"
            raise self.error(f"unknown directive {content!r}", hint, number, 1)
        try:
            prefix, uri = parse_binding("".join(rest))
        except ValueError as error:
            raise self.error(str(error), _BINDING, number, 1) from None
        first = self.bound_at.setdefault(prefix, number)
        if first != number and self.namespaces[prefix] != uri:
            reason = f"line {first} already binds {prefix!r} to {self.namespaces[prefix]!r}"
            raise self.error(reason, "use another prefix for the other URI", number, 1)
        # A new dictionary, because the queries above share the old one.
        self.namespaces = {**self.namespaces, prefix: uri}

    def plain_line(self, line: str, number: int) -> Subscription:
        """``id<TAB>xpath``, split at the first tab only, or ``xpath``."""
        name, tab, xpath = line.partition("\t")
        if not tab or self.is_query(line):
            if self.csv and _COMMAS.match(line):
                hint = "write id<TAB>xpath, one query a line, or JSON lines in a file *.jsonl"
                raise self.error("queries are not separated by commas", hint, number, 1)
            if spaced := _SPACED.match(line):
                reason = f"there is a space between {spaced[1]} and the XPath, and no tab"
                raise self.error(reason, _TAB.format(spaced[1]), number, len(spaced[0]))
            name, xpath = str(number), line
        name = name.strip(_SPACE)
        if not name:
            hint = "write id<TAB>xpath, or the XPath alone without a tab before it"
            raise self.error("there is no id before the tab", hint, number, 1)
        xpath = xpath.lstrip(_SPACE)
        column = len(line) - len(xpath) + 1
        xpath = xpath.rstrip(_SPACE)
        return Subscription(name, xpath, self.namespaces, 1.0, number, column, self.version)

    def is_query(self, line: str) -> bool:
        """Whether a line with a tab has no id: the tab is in a string of its query.

        That is so if the line parses, and what follows the tab does not: an id, too, may have
        quotes.
        """
        tab = line.index("\t")
        if not any(one.start() < tab < one.end() for one in _STRING.finditer(line)):
            return False
        return self.parses(line.strip(_SPACE)) and not self.parses(line[tab:].strip(_SPACE))

    def parses(self, xpath: str) -> bool:
        try:
            if self.version == FIRST and is_flwr(xpath):
                parse_clauses(xpath)
            elif self.version == FIRST:
                parse(xpath)
            else:
                parse_later(xpath, self.version, self.namespaces)
        except QuerySyntaxError:
            return False
        return True

    def json_line(self, line: str, number: int) -> Subscription:
        """``{"id": …, "xpath": …, "namespaces": {…}, "weight": …, "version": …}``, and metadata.

        In place of ``xpath`` there may be ``flwr`` or ``xscl``.
        """

        def wrong(key: str, reason: str, hint: str = _RECORD) -> SubscriptionsError:
            return self.error(reason, hint, number, line.find(f'"{key}"') + 1 or 1)

        record = self.json_object(line, number)
        key = next((one for one in ("flwr", "xscl") if one in record), "xpath")
        name, xpath = record.get("id", number), record.get(key)
        weight, namespaces = record.get("weight", 1.0), record.get("namespaces", {})
        if not isinstance(xpath, str):
            problem = f'"{key}" is not a string' if key in record else 'there is no "xpath"'
            raise wrong(key, problem)
        others = [one for one in ("xpath", "flwr", "xscl") if one in record and one != key]
        if others:
            reason = f'there are both "{others[0]}" and "{key}"'
            raise wrong(key, reason, "leave one of them out")
        if key == "flwr" and not is_flwr(xpath):
            hint = 'write for $x in //a return <b/>; the key for an XPath is "xpath"'
            raise wrong(key, '"flwr" is no FLWR query', hint)
        if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
            raise wrong("id", '"id" is neither a non-empty string nor an integer')
        if not _is_weight(weight):
            raise wrong("weight", '"weight" is not a positive number', "leave it out, or write 1")
        version = record.get("version", self.version if key == "xpath" else FIRST)
        if not isinstance(version, str | int | float):
            hint = f"leave it out, or write one of {', '.join(VERSIONS)}"
            raise wrong("version", '"version" is no string', hint)
        if key != "xpath" and str(version) != FIRST:
            reason = f'"{key}" is in XPath {FIRST}, and "version" is {version!r}'
            raise wrong("version", reason, "leave the version out")
        if not isinstance(namespaces, dict) or not all(
            isinstance(uri, str) for uri in namespaces.values()
        ):
            hint = 'write "namespaces": {"po": "urn:example:orders"}'
            raise wrong("namespaces", '"namespaces" does not map prefixes to strings', hint)
        try:
            check_bindings(namespaces)
        except ValueError as error:
            raise wrong("namespaces", str(error), "correct the binding") from None
        # Such a string cannot be written as UTF-8, not even to report it.
        if "\\u" in line and any(map(_SURROGATE.search, [str(name), xpath, *namespaces.values()])):
            raise wrong("", "a \\u escape stands for half a character", "write both halves")
        try:
            metadata = self.metadata(record)
        except MetadataError as error:
            raise wrong(error.key, error.reason, error.hint) from None
        return Subscription(
            str(name),
            xpath.strip(_SPACE),
            self.merged(namespaces),
            float(weight),
            number,
            _column_in_json(line, key, xpath),
            str(version),
            metadata,
        )

    def metadata(self, record: dict[str, Any]) -> Metadata:
        """The values of the keys that are not ours."""
        if record.keys() <= OWN_KEYS:
            return NO_METADATA
        ours = OWN_KEYS
        if isinstance(record.get("status"), str) and isinstance(record.get("chunks"), list):
            ours = OWN_KEYS | LISTED_KEYS  # a line of `extract subs list --json`
        others = {key: value for key, value in record.items() if key not in ours}
        return checked_metadata(others, self.limits)

    def json_object(self, line: str, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise self.error(f"not JSON: {error.msg}", _RECORD, number, error.colno) from error
        except (ValueError, RecursionError) as error:  # 5,000 digits in a number; 10,000 brackets
            raise self.error(f"cannot read this JSON: {error}", _RECORD, number, 1) from error
        if not isinstance(record, dict):
            raise self.error("this is JSON, but no object", _RECORD, number, 1)
        return record

    def merged(self, own: dict[str, str]) -> dict[str, str]:
        """The bindings in force, the query's own on top."""
        if not own:
            return self.namespaces
        together = {**self.namespaces, **own}
        return self.shared.setdefault(frozenset(together.items()), together)

    def error(self, reason: str, hint: str, line: int, column: int) -> SubscriptionsError:
        return SubscriptionsError(reason, hint, self.source, line, column)


def _is_weight(value: object) -> bool:
    """Whether this is a positive number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return value > 0 and math.isfinite(value)
    except OverflowError:  # an integer past 1e308
        return False


_SURROGATE = re.compile("[\ud800-\udfff]")


def _column_in_json(line: str, key: str, xpath: str) -> int:
    """Where the query starts in the line; 0 if escapes in it would put every column wrong."""
    found = re.search(rf'"{key}"\s*:\s*"', line)
    if found is None or not line.startswith(f'{xpath}"', found.end()):
        return 0
    return found.end() + len(xpath) - len(xpath.lstrip(_SPACE)) + 1
