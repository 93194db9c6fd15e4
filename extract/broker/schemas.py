"""The schemas of feeds: uploaded files, compiled; and which queries can match under them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from extract.broker.bodies import FeedBody, SubscriptionBody
from extract.broker.feed_filters import as_subscription, refusals
from extract.broker.problems import Problem
from extract.broker.wording import over_http
from extract.errors import ExtractError, SchemaError
from extract.filtertool.processes.sandbox import ChildDied, MemoryLimit, Sandbox, TimeLimit
from extract.limits import Limits
from extract.pipeline import prepare
from extract.schema.load import load_schema
from extract.schema.model import Schema
from extract.scheme.registered import Rejected
from extract.subscriptions import Subscriptions

# Never a path out of the folder, and never one that means something to a system.
_FILE_NAME: Final = re.compile(
    r"[A-Za-z0-9_][\w.-]{0,99}(/[A-Za-z0-9_][\w.-]{0,99}){0,9}", re.ASCII
)


class SchemaFilesBody(msgspec.Struct, omit_defaults=True):
    """A schema as the store keeps it.

    Attributes:
        kind: ``"dtd"`` or ``"xsd"``.
        text: The main file.
        files: The others, by the names that refer to them.
        root: The document element, if it was named.
    """

    kind: Literal["dtd", "xsd"]
    text: str
    files: dict[str, str] = {}
    root: str = ""


def schema_files(body: FeedBody) -> SchemaFilesBody | None:
    """The schema in the body of a feed; None if it has none.

    Raises:
        Problem: It has two, or files without a main one.
    """
    texts: dict[Literal["dtd", "xsd"], Any] = {"dtd": body.dtd, "xsd": body.xsd}
    given = {kind: text for kind, text in texts.items() if isinstance(text, str)}
    files = body.files if isinstance(body.files, dict) else {}
    root = body.root if isinstance(body.root, str) else ""
    if len(given) > 1:
        raise Problem(422, "a feed has a dtd or an xsd, not both")
    if not given:
        if files or root:
            raise Problem(422, "files and root belong to a dtd or an xsd", "give one of them")
        return None
    if isinstance(body.schema, str):
        raise Problem(422, "schema says what holds without a dtd or xsd", "leave one of them out")
    for name in files:
        if not _FILE_NAME.fullmatch(name) or ".." in name.split("/"):
            hint = "letters, digits and _ . - , with / between folders"
            raise Problem(422, f"{name[:80]!r} cannot be the name of a file of a schema", hint)
    ((kind, text),) = given.items()
    return SchemaFilesBody(kind, text, files, root)


def compile_schema(files: SchemaFilesBody) -> Schema:
    """Compiles a schema from its files, in a directory of its own.

    Raises:
        SchemaError: It cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="extract-schema-") as folder:
        for name, text in files.files.items():
            path = Path(folder, name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            except OSError as error:  # a name is too long, or is a file and a folder
                reason = f"the file {name[:80]!r} cannot be used: {error.strerror}"
                raise SchemaError(reason, "give it another name") from None
        main = Path(folder, f"schema.{files.kind}")
        main.write_text(files.text, encoding="utf-8")
        try:
            return load_schema(main, files.root or None, alone=True)
        except SchemaError as error:  # which does not tell where the files lay
            inside = f"{folder}/"
            raise SchemaError(
                error.reason.replace(inside, ""),
                error.hint.replace(inside, ""),
                error.file.replace(inside, ""),
                error.line,
                error.column,
            ) from None


def compile_in_child(files: SchemaFilesBody, seconds: float, memory: int) -> Schema:
    """Compiles a schema in a process of its own, with limits of time and memory.

    Raises:
        Problem: It cannot be used, or takes too much.
    """
    sandbox = Sandbox()
    try:
        return sandbox.call(  # type: ignore[no-any-return]
            compile_schema, files, seconds=seconds, memory=memory
        )
    except SchemaError as error:
        fields = {"line": error.line, "column": error.column} if error.line else {}
        raise Problem(422, error.reason, error.hint, **fields) from None
    except TimeLimit:
        raise Problem(422, f"the schema took longer than {seconds:g} s to compile") from None
    except (MemoryLimit, MemoryError, ChildDied):
        raise Problem(422, "the schema takes too much memory to compile") from None
    finally:
        sandbox.close()


def check_queries(
    bodies: Sequence[SubscriptionBody], schema: Schema | None, limits: Limits
) -> tuple[dict[int, Rejected], dict[int, str]]:
    """Says of queries, by their places, which cannot be answered and which can match nothing.

    Returns:
        Why the matcher could not compile a query; and why another one matches no document that
        keeps to the schema.

    Raises:
        Problem: They cannot be looked at together, as when they have impossible bindings.
    """
    queries = [as_subscription(number, body) for number, body in enumerate(bodies)]
    try:
        scheme = prepare(schema, Subscriptions.of(queries), limits=limits)
        refused = {int(one.id): one for one in scheme.rejected}
        others = [place for place in range(len(bodies)) if place not in refused]
        more = refusals([bodies[place] for place in others], limits)
    except ExtractError as error:
        raise Problem(422, error.reason, error.hint) from None
    refused |= {others[place]: one for place, one in more.items()}
    reasons = {int(one.subscriber.id): over_http(one.reason) for one in scheme.unsatisfiable}
    return refused, reasons


def refuse_first(refused: Mapping[int, Rejected]) -> None:
    """Says what is wrong with the first query that is refused; ``index`` says which that is.

    Raises:
        Problem: One is refused.
    """
    for index in sorted(refused):
        one = refused[index]
        place: dict[str, Any] = {"index": index, "query": one.xpath, "offset": one.offset}
        if one.offset >= 0:
            place |= {"line": 1, "column": one.offset + 1}
        raise Problem(422, one.reason, one.hint, about="query", **place)
