"""The streams of a writer that writes lines."""

from __future__ import annotations

import contextlib
from typing import IO, NamedTuple


class RowStreams(NamedTuple):
    """Where a writer of lines writes.

    Attributes:
        matches: The stream of rows.
        rejected: The stream of rejections; None if nobody wants them.
        owned: Whether `close` closes them: standard output stays open.
    """

    matches: IO[str]
    rejected: IO[str] | None = None
    owned: bool = True

    def close(self) -> None:
        """Closes the streams, the second one also where the first one fails."""
        if not self.owned:
            return
        with contextlib.ExitStack() as both:
            if self.rejected is not None:
                both.callback(self.rejected.close)
            both.callback(self.matches.close)
