"""Sends a job to the workers once, however often it is used."""

from __future__ import annotations

import pickle
import uuid
import weakref
from typing import Any, Final, NamedTuple

from pyspark import SparkContext

from extract.filtertool.job import Job
from extract.scheme.model import Scheme

_KEPT: Final = 8


class Shipped(NamedTuple):
    """A job that workers can have.

    Attributes:
        key: Tells jobs apart; the same job has the same key again.
        job: The job, by broadcast.
    """

    key: str
    job: Any


class _Known(NamedTuple):
    context: weakref.ref[SparkContext]
    scheme: weakref.ref[Scheme]
    rest: bytes
    shipped: Shipped


_known: list[_Known] = []


def ship(context: SparkContext, job: Job) -> Shipped:
    """Broadcasts a job, unless that was done before."""
    rest = pickle.dumps((job.factory, job.options))  # a stranger's factory may know no equality
    for one in _known:
        if one.context() is context and one.scheme() is job.scheme and one.rest == rest:
            return one.shipped
    shipped = Shipped(uuid.uuid4().hex, context.broadcast(job))
    alive = [one for one in _known if one.context() is not None and one.scheme() is not None]
    _known[:] = alive[-_KEPT + 1 :]
    _known.append(_Known(weakref.ref(context), weakref.ref(job.scheme), rest, shipped))
    return shipped
