"""What a client did wrong, or what cannot be done now: a status, a reason, and what to do."""

from __future__ import annotations

from typing import Any

from extract.broker.wording import over_http


class Problem(Exception):
    """A request that is answered with an error.

    Args:
        status: The HTTP status.
        reason: What is wrong, one sentence without a full stop; the library's words become those
            of HTTP.
        hint: What the client can do about it; empty when there is nothing to say.
        retry_after: After how many seconds to try again; 0 for never.
        fields: What else the body says: ``line``, ``column``, ``oldest``, ...
    """

    def __init__(
        self, status: int, reason: str, hint: str = "", retry_after: float = 0, **fields: Any
    ) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = over_http(reason)
        self.hint = over_http(hint)
        self.retry_after = retry_after
        self.fields = fields

    def body(self) -> dict[str, Any]:
        """The JSON object that answers the request."""
        hint = {"hint": self.hint} if self.hint else {}
        return {"reason": self.reason, **hint, **self.fields}


def not_found(what: str) -> Problem:
    """There is no such thing, or the client may not see it: both look the same."""
    return Problem(404, f"there is no such {what}")
