"""Sends a job to the workers once, however often it is used."""

from __future__ import annotations

import pickle
import uuid
import weakref
from typing import Any, Final, NamedTuple

from pyspark import SparkContext

from extract.filtertool.job import Job
from extract.scheme.model import Scheme

_KEPT: Final = 8  # broadcast jobs that are cached


class BroadcastJob(NamedTuple):
    """A job that was broadcast to the workers.

    Attributes:
        key: Identifies the job; the same job has the same key again.
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
    """Broadcasts a job, unless it is cached."""
    settings = pickle.dumps((job.factory, job.options))  # a plug-in's factory may lack equality
    for entry in _sent:
        if (
            entry.context() is context
            and entry.scheme() is job.scheme
            and entry.settings == settings
        ):
            return entry.job
    sent = BroadcastJob(uuid.uuid4().hex, context.broadcast(job))
    alive = [entry for entry in _sent if entry.context() is not None and entry.scheme() is not None]
    _sent[:] = alive[-_KEPT + 1 :]
    _sent.append(_Sent(weakref.ref(context), weakref.ref(job.scheme), settings, sent))
    return sent
