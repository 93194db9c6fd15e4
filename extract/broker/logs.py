"""Structured logs: one line for each event, as text or as JSON, to standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

_CONTROL: Final = dict.fromkeys((*range(32), *range(127, 160)), "�")


class JsonLines(logging.Formatter):
    """A JSON object for each line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class TextLines(logging.Formatter):
    """A readable line; what strangers wrote cannot speak to the terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without control characters."""
        return super().formatMessage(record).translate(_CONTROL)


def start_logs(as_json: bool) -> None:
    """Lets the broker's loggers write to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else TextLines())
    for name in ("extract.broker", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
