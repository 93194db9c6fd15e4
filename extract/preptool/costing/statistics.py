"""Measures the sizes of sample documents: one pass of expat over each, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, TypeAlias
from xml.parsers import expat

from extract.errors import DocumentError
from extract.preptool.costing.paths import PathNode, PathTree
from extract.schema.model import Schema
from extract.scheme.statistics import Statistics

Sample: TypeAlias = str | Path | bytes

_BLOCK_BYTES = 1 << 20  # smaller blocks are slow in expat where an attribute is long
_HINT = "a sample must be well-formed XML, as the documents to come; it may be compressed"
# How samples may be compressed: how such data begins, and what opens it.
_PACKED: Final[dict[str, tuple[bytes, Callable[..., Any] | None]]] = {
    "gzip": (b"\x1f\x8b", gzip.open),
    "bzip2": (b"BZh", bz2.open),
    "xz": (b"\xfd7zXZ\0", lzma.open),
    "zstd": (b"\x28\xb5\x2f\xfd", None),
    "zip": (b"PK\x03\x04", None),
}


def sample_statistics(samples: Iterable[Sample], schema: Schema) -> Statistics:
    """Counts the elements and bytes of sample documents by path.

    Args:
        samples: Documents, or names of files; either may be compressed.
        schema: Gives the places of paths, which distinguish recursion from another use of a name.

    Raises:
        DocumentError: A sample cannot be read, or is not well-formed.
    """
    tree = PathTree(schema.places)
    documents, size = 0, 0
    for sample in samples:
        documents += 1
        size += _Counter(tree).count(sample)
    return tree.finish("samples", documents, size)


class _Counter:
    """Counts one document.

    Bytes between two events belong to the first of them: up to the tag's length to the tag, the
        others
    to the text after it. So all bytes are counted once, and text needs no event of its own.
    """

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self._parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.namespace_prefixes = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartNamespaceDeclHandler = self._bind
        self._names: dict[str, tuple[str, int]] = {}
        self._at = tree.document
        # For each open element: its path, its number, its offset, the length of its name.
        self._open: list[tuple[PathNode, int, int, int]] = []
        self._nested: dict[PathNode, int] = {}  # the number of open elements of a path
        self._owner: dict[PathNode, int] = {}  # the last element that owned a path
        self._elements = 0
        self._last = 0  # offset of the last event
        self._tag = 0  # length of its tag
        self._tagged = tree.document  # path of that tag
        self._bindings = 0  # length of the namespace declarations of the next tag

    def count(self, sample: Sample) -> int:
        """Adds the document to the tree, and returns its size."""
        file = "" if isinstance(sample, bytes) else str(sample)
        size = 0
        parser = self._parser
        try:
            with _opened(sample) as stream:
                while block := stream.read(_BLOCK_BYTES):
                    size += len(block)
                    parser.Parse(block, False)
            parser.Parse(b"", True)
            self._count_bytes(size, self._tree.document)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            place = (error.lineno, error.offset + 1, parser.ErrorByteIndex)
            raise DocumentError(reason, _HINT, file, *place) from None
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise DocumentError(f"the compressed data is damaged: {error}", _HINT, file) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            raise DocumentError(str(error), _HINT, file) from None
        except OSError as error:
            reason = f"cannot read the sample: {error.strerror or error}"
            raise DocumentError(reason, "check the name of the file", file) from None
        return size

    def _bind(self, prefix: str | None, uri: str | None) -> None:
        self._bindings += len(' xmlns=""') + len(uri or "") + (len(prefix) + 1 if prefix else 0)

    def _name(self, raw: str) -> tuple[str, int]:
        """Returns the expanded name, and the length of the name as written."""
        uri, _, rest = raw.partition("}")
        if not rest:
            name_and_size = (raw, len(raw))
        else:
            local, _, prefix = rest.partition("}")
            name_and_size = (f"{{{uri}}}{local}", len(local) + (len(prefix) + 1 if prefix else 0))
        self._names[raw] = name_and_size
        return name_and_size

    def _start(self, raw: str, attributes: list[str]) -> None:
        offset = self._parser.CurrentByteIndex
        above = self._at
        self._count_bytes(offset, above)
        name, length = self._names.get(raw) or self._name(raw)
        node = above.children.get(name) or self._tree.child(above, name)
        owner = self._open[-1][1] if self._open else -1
        if self._owner.get(node) != owner:
            self._owner[node] = owner
            node.owners += 1
        node.elements += 1
        self._nested[node] = self._nested.get(node, 0) + 1
        self._open.append((node, self._elements, offset, length))
        self._elements += 1
        self._at = self._tagged = node
        # Each attribute comes with a space, an equals sign and two quotes.
        self._tag = 2 + length + sum(map(len, attributes)) + 2 * len(attributes) + self._bindings
        self._bindings = 0

    def _end(self, raw: str) -> None:
        offset = self._parser.CurrentByteIndex
        node, number, start, length = self._open.pop()
        self._count_bytes(offset, node)
        self._nested[node] -= 1
        if not self._nested[node]:
            node.subtree_elements += self._elements - number
            node.subtree_bytes += offset - start + length + 3
        self._tag = length + 3
        self._tagged = node
        self._at = self._open[-1][0] if self._open else self._tree.document

    def _count_bytes(self, offset: int, text_of: PathNode) -> None:
        """Counts the bytes since the last event."""
        passed = offset - self._last
        tag = min(self._tag, passed)
        self._tagged.tag_bytes += tag
        text_of.text_bytes += passed - tag
        self._last = offset


@contextmanager
def _opened(sample: Sample) -> Iterator[IO[bytes]]:
    """Opens a sample for bytes, unpacked."""
    with BytesIO(sample) if isinstance(sample, bytes) else Path(sample).open("rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        for name, (magic, opened) in _PACKED.items():
            if start.startswith(magic):
                if opened is None:
                    raise DocumentError(f"a sample cannot be {name} data", "unpack it first")
                with opened(raw) as unpacked:
                    yield unpacked
                return
        yield raw
