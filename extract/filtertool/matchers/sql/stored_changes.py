"""Subscriptions in a database at its present revision, at the cost of what has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.filtertool.matchers.sql.member_tables import MemberChange
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.stored_subscriptions import (
    PART,
    StoredSubscriptions,
    id_column,
    sql_plan,
)
from extract.scheme.database.changes import is_followed
from extract.scheme.database.head import HeadNumbers
from extract.scheme.database.member_rows import read_columns
from extract.scheme.database.read import StoredState, read_empty, read_state
from extract.scheme.database.store import Store
from extract.scheme.database.tables import MEMBER, REMOVAL
from extract.scheme.model import Scheme
from extract.subscriptions.columns import TextColumn

_SHARE: Final = 4  # if more than this part of members is new, all are copied, in their order
_FEW: Final = 1_000  # that many may always be new


def refreshed(stored: StoredSubscriptions, values: bool) -> StoredSubscriptions | None:
    """The subscriptions as they are now; the tables are changed, and then those of the result.

    Args:
        stored: The subscriptions at some revision.
        values: As for `SqlPlan`.

    Returns:
        None if they must be opened anew: the scheme was replaced, or much has changed.

    Raises:
        DatabaseError: The database cannot be read; then nothing has changed.
    """
    with stored.tables.transaction() as store:
        state = read_state(store)
        if not is_followed(stored.state, state):
            return None
        change = _change(stored, store, state)
        many = change.rows.num_rows + stored.appended
        if many > _FEW + len(stored.seqs) // _SHARE:
            return None
        empty, numbers = read_empty(store)
        plan = _plan(stored, empty, numbers, values)
        if plan is None:
            return None
        ids, seqs = _members(stored, change)
        if store.location.engine == "duckdb":  # where nobody notes what was removed by SQL
            ((count,),) = store.rows("SELECT COUNT(*) FROM member")
            if count != len(seqs):
                return None
        rest = _rest(stored, plan, change)
        if len(stored.left) or len(rest) > PART:
            return None
        stored.tables.change(store, plan, change)
    return replace(
        stored,
        state=state,
        empty=empty,
        numbers=numbers,
        ids=ids,
        seqs=seqs,
        plan=plan,
        rest=rest,
        appended=many,
    )


def _change(stored: StoredSubscriptions, store: Store, state: StoredState) -> MemberChange:
    known, since = stored.state.revision, "revision > :known"
    removed = store.fetch(REMOVAL.name, REMOVAL.columns, since, known=known)
    columns = read_columns()
    if store.location.engine == "duckdb":  # PostgreSQL has the rows where the tables are
        columns = columns.append(MEMBER.columns.field("numbers"))
    rows = store.fetch(MEMBER.name, columns, since, "seq", known=known)
    gone = np.zeros(len(stored.seqs), np.bool_)
    if removed.num_rows:
        names = removed["id"].cast(pa.large_string())
        gone = np.asarray(pc.is_in(_array(stored.ids), value_set=names))
    return MemberChange(known, stored.seqs[gone], rows, state)


def _plan(
    stored: StoredSubscriptions, empty: Scheme, numbers: HeadNumbers, values: bool
) -> SqlPlan | None:
    """What to match now; None if a number has become that of another template."""
    before = dict(
        zip(stored.numbers.templates.tolist(), stored.empty.templates.xpaths, strict=True)
    )
    after = dict(zip(numbers.templates.tolist(), empty.templates.xpaths, strict=True))
    if before == after and stored.empty.namespaces == empty.namespaces:
        return stored.plan
    if any(after.get(number, xpath) != xpath for number, xpath in before.items()):
        return None
    return sql_plan(empty, numbers, values)


def _members(stored: StoredSubscriptions, change: MemberChange) -> tuple[TextColumn, Any]:
    """The ids and the sequence numbers of all members."""
    ids, seqs = _array(stored.ids), stored.seqs
    if len(change.gone):
        kept = np.ones(len(seqs), np.bool_)
        kept[np.searchsorted(seqs, change.gone)] = False
        ids, seqs = ids.filter(pa.array(kept)), seqs[kept]
    if change.rows.num_rows:
        fresh = change.rows["id"].cast(pa.large_string())
        ids = pa.concat_arrays([ids, *fresh.chunks])
        seqs = np.concatenate([seqs, np.asarray(change.rows["seq"])])
        if not (seqs[1:] > seqs[:-1]).all():  # one that was changed by SQL keeps its place
            order = np.argsort(seqs)
            ids, seqs = ids.take(pa.array(order)), seqs[order]
    return id_column(ids), seqs


def _rest(stored: StoredSubscriptions, plan: SqlPlan, change: MemberChange) -> Any:
    """The rows of members that the database does not decide."""
    rest = stored.rest
    if len(change.gone):
        gone = pa.array(change.gone)
        rest = rest.filter(pc.invert(pc.is_in(rest["seq"], value_set=gone)))
    undecided = pa.array(sorted(plan.undecided), pa.int32())
    fresh = change.rows.filter(pc.is_in(change.rows["template"], value_set=undecided))
    fresh = fresh.select(read_columns().names)
    return pa.concat_tables([rest, fresh]).sort_by("seq").combine_chunks()


def _array(column: TextColumn) -> Any:
    """A column of ids as an Arrow array."""
    texts = column.packed()
    offsets = np.append(texts.starts, len(texts.buffer)).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts.buffer)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
