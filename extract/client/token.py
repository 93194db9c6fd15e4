"""Where a token comes from: an argument, a file, or the environment; never a URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from extract.errors import BrokerError

TOKEN: Final = "EXTRACT_TOKEN"
TOKEN_FILE: Final = "EXTRACT_TOKEN_FILE"


def find_token(token: str | None = None, file: str | Path | None = None) -> str:
    """The token to send; empty if there is none.

    Args:
        token: The token itself.
        file: A file that has it, on its first line.

    Raises:
        BrokerError: The file cannot be read, or what it has is no token.
    """
    if token is not None and file is not None:
        raise BrokerError("a token and a file with a token are given", "give one of them")
    if token is None and file is None:
        token, file = os.environ.get(TOKEN), os.environ.get(TOKEN_FILE)
    if token is None and file:
        token = _first_line(Path(file))
    token = (token or "").strip()
    if not all("!" <= letter <= "~" for letter in token):
        hint = "a token is one word of letters, digits and punctuation"
        raise BrokerError("the token has characters that cannot be sent", hint)
    return token


def _first_line(file: Path) -> str:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise BrokerError(f"the token cannot be read: {reason}", "", str(file)) from None
    if not lines or not lines[0].strip():
        raise BrokerError("the file has no token", "write it on the first line", str(file))
    return lines[0]
