"""Snapshots: the state of joins in a directory, whole or not there.

A snapshot has the documents that later ones may join, not their witnesses: these are found again
when it is restored, so that a snapshot of one version can be read by the next.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from extract.errors import JoinError
from extract.files import check_written, whole_directory
from extract.filtertool.joins.documents import JoinDocument

FORMAT: Final = 2
_READ: Final = (1, FORMAT)  # the first had one lateness for all queries
_STATE: Final = "joins.json"
_DOCUMENTS: Final = "documents.parquet"
_QUERIES: Final = "queries.parquet"
_HINT: Final = "give a directory that Joins.save() wrote"
_QUERY_COLUMNS: Final = pa.schema(
    [
        ("id", pa.string()),
        ("xscl", pa.string()),
        ("namespaces", pa.string()),
        ("since", pa.int64()),
        ("order", pa.int64()),
        ("timeline", pa.int64()),
    ]
)
_DOCUMENT_COLUMNS: Final = pa.schema(
    [
        ("stream", pa.string()),
        ("name", pa.string()),
        ("time", pa.int64()),
        ("seq", pa.int64()),
        ("place", pa.int64()),
        ("clock", pa.int64()),
        ("published", pa.bool_()),
        ("data", pa.large_binary()),
        ("late", pa.list_(pa.int64())),
    ]
)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query of a snapshot.

    Attributes:
        id: Its id.
        xscl: Its text.
        namespaces: Prefix to namespace URI.
        since: The clock of the first document that it sees.
        order: Its number among all queries that there ever were.
        timeline: The number of its timeline, see `Lateness`; below 0 if it has none yet.
    """

    id: str
    xscl: str
    namespaces: Mapping[str, str]
    since: int
    order: int
    timeline: int = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that joins need to go on.

    Attributes:
        queries: The queries.
        documents: The documents that are kept.
        facts: Counters, times and options, as JSON values.
    """

    queries: Sequence[SavedQuery]
    documents: Sequence[JoinDocument]
    facts: Mapping[str, Any]

    def save(self, directory: str | Path) -> None:
        """Writes the snapshot; one that is there is replaced in one step.

        Raises:
            JoinError: The directory has something else in it.
            FileExistsError: Something else is beside a snapshot there.
            OSError: It cannot be written.
        """
        target = Path(directory)
        if target.exists() and any(target.iterdir()) and not (target / _STATE).is_file():
            reason = "exists and has no snapshot of joins"
            raise JoinError(reason, "choose another directory", str(directory))
        check_written(target, _written)
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_directory(target, _written, given=directory) as partial:
            facts = {"format": FORMAT, **self.facts}
            (partial / _STATE).write_text(json.dumps(facts, indent=1), encoding="utf-8")
            _write(partial / _QUERIES, _QUERY_COLUMNS, [_query_row(one) for one in self.queries])
            rows = [
                {name: getattr(one, name) for name in _DOCUMENT_COLUMNS.names}
                | {"late": sorted(one.late)}
                for one in self.documents
            ]
            _write(partial / _DOCUMENTS, _DOCUMENT_COLUMNS, rows)

    @classmethod
    def load(cls, directory: str | Path) -> Snapshot:
        """Reads a snapshot.

        Raises:
            JoinError: There is none, or it is damaged or of another version.
        """
        place = Path(directory)
        try:
            facts = json.loads((place / _STATE).read_text(encoding="utf-8"))
            queries = pq.read_table(place / _QUERIES).to_pylist()
            rows = pq.read_table(place / _DOCUMENTS).to_pylist()
        except FileNotFoundError as error:
            raise JoinError("there is no snapshot of joins", _HINT, str(directory)) from error
        except (OSError, ValueError, pa.ArrowException) as error:
            reason = f"the snapshot cannot be read: {error}"
            raise JoinError(reason, _HINT, str(directory)) from error
        if facts.get("format") not in _READ:
            reason = f"the snapshot has the format {facts.get('format')!r}, not {FORMAT}"
            raise JoinError(reason, "restore it with the version that wrote it", str(directory))
        saved = [
            SavedQuery(**{**row, "namespaces": json.loads(row["namespaces"])}) for row in queries
        ]
        late = [frozenset(row.pop("late", ())) for row in rows]
        documents = [JoinDocument(**row, late=one) for row, one in zip(rows, late, strict=True)]
        return cls(saved, documents, facts)


def _written(_: Path) -> Collection[str]:
    return _STATE, _DOCUMENTS, _QUERIES


def _query_row(query: SavedQuery) -> dict[str, Any]:
    return {
        "id": query.id,
        "xscl": query.xscl,
        "namespaces": json.dumps(dict(query.namespaces)),
        "since": query.since,
        "order": query.order,
        "timeline": query.timeline,
    }


def _write(path: Path, schema: Any, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")
