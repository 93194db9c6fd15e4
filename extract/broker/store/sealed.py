"""Contents of rows with a checksum: what the disk gave back is what was written, or is refused.

SQLite sees when pages contradict each other, not when the bytes of a value are others than before.
The checksum is that of the row's numbers, too, so that contents belong to their row.
"""

from __future__ import annotations

from struct import pack
from typing import Final
from zlib import crc32

from extract.broker.store.tables import DamagedStore

_SEAL: Final = b"\xc1"  # begins neither JSON nor MessagePack
_HEAD: Final = 5  # bytes of the seal and the checksum


def sealed(data: bytes, *numbers: int) -> bytes:
    """Contents as they are stored.

    >>> unsealed(sealed(b"[1]", 7, 8), "row", 7, 8)
    b'[1]'
    """
    return b"".join((_SEAL, _checksum(data, numbers), data))


def unsealed(data: bytes, row: str, *numbers: int) -> bytes:
    """Contents as they were before; those that were stored without a checksum, as they are.

    Args:
        data: What is stored.
        row: The row, as messages call it.
        numbers: Those that it was sealed with.

    Raises:
        DamagedStore: Contents or numbers are others than were written.
    """
    if data[:1] != _SEAL:
        return data
    content = data[_HEAD:]
    if data[1:_HEAD] != _checksum(content, numbers):
        reason = f"the {row} is damaged: its checksum is another one"
        raise DamagedStore(reason, "restore a copy that `extract serve --backup` made")
    return content


def _checksum(data: bytes, numbers: tuple[int, ...]) -> bytes:
    return crc32(data, crc32(pack(f"<{len(numbers)}q", *numbers))).to_bytes(4, "little")
