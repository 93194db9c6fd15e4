"""Sends a job to the workers once, however often it is used."""

from __future__ import annotations

import pickle
import uuid
import weakref
from typing import Any, Final, NamedTuple

from pyspark import SparkContext

from extract.filtertool.job import Job
from extract.scheme.model import Scheme

_KEPT: Final = 8  # jobs that are broadcast once, however often they run


class BroadcastJob(NamedTuple):
    """A job that workers can have.

    Attributes:
        key: Tells jobs apart; the same job has the same key again.
        job: The job, by broadcast.
    """

    key: str
    job: Any


class _Sent(NamedTuple):
    context: weakref.ref[SparkContext]
    scheme: weakref.ref[Scheme]
    settings: bytes
    job: BroadcastJob


_sent: list[_Sent] = []


def broadcast_job(context: SparkContext, job: Job) -> BroadcastJob:
    """Broadcasts a job, unless that was done before."""
    settings = pickle.dumps((job.factory, job.options))  # a stranger's factory may know no equality
    for one in _sent:
        if one.context() is context and one.scheme() is job.scheme and one.settings == settings:
            return one.job
    sent = BroadcastJob(uuid.uuid4().hex, context.broadcast(job))
    alive = [one for one in _sent if one.context() is not None and one.scheme() is not None]
    _sent[:] = alive[-_KEPT + 1 :]
    _sent.append(_Sent(weakref.ref(context), weakref.ref(job.scheme), settings, sent))
    return sent
