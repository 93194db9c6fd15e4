"""Checks whether a Spark master answers: Spark itself takes a minute to give up."""

from __future__ import annotations

import socket
from typing import Final

from extract.errors import ExtractError

_SECONDS: Final = 5.0  # for the answer
_PORT: Final = 7077


def require_master(master: str | None) -> None:
    """Checks that a standalone master answers; other masters are left to Spark.

    Args:
        master: Such as ``spark://host:7077`` or ``spark://one:7077,two:7077``.

    Raises:
        ExtractError: No master answers.
    """
    if master is None or not master.startswith("spark://"):
        return
    why = "it names no host"
    for place in filter(None, master.removeprefix("spark://").split(",")):
        host, _, port = place.rpartition(":") if ":" in place else (place, ":", str(_PORT))
        try:
            socket.create_connection((host, int(port)), _SECONDS).close()
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", None) or error)
        else:
            return
    hint = "check host and port, and that the master runs; without --master it runs on this machine"
    raise ExtractError(f"no Spark master answers at {master}: {why}", hint)
