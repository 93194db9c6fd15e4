"""Which files hold many documents, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from extract.chunktool.input.packed import PACKINGS

Kind = Literal["xml", "ndjson", "parquet", "arrow"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

DOCUMENT: Final = "document"  # the usual names of the two columns
NAME: Final = "name"

_SUFFIXES: Final[dict[str, Kind]] = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
}
_PACKED: Final = tuple([one.suffix for one in PACKINGS])
_ENDS: Final = (*_SUFFIXES, *[f"{one}{packed}" for one in _SUFFIXES for packed in _PACKED])


@dataclass(frozen=True, slots=True)
class MessageForm:
    """How the messages of a file are told apart.

    Attributes:
        kind: XML, lines of JSON, or a column of a Parquet or Arrow file.
        tag: For XML, the name of the elements that are messages, as it is written in the file;
            empty if the file holds documents one after the other.
        column: For all but XML, the key or column with the documents.
        names: The same for their names; None for ``name``, if there is such a column.
    """

    kind: Kind
    tag: str = ""
    column: str = DOCUMENT
    names: str | None = None

    def __str__(self) -> str:
        """The form in words."""
        if self.kind == "xml":
            return f"elements {self.tag}" if self.tag else "XML documents one after the other"
        return {"ndjson": "lines of JSON", "parquet": "rows of Parquet", "arrow": "rows of Arrow"}[
            self.kind
        ]


class Messages(NamedTuple):
    """The messages of a file, or a share of them.

    Attributes:
        form: How they are told apart.
        share: Which share of the blocks, from 0.
        shares: Of how many.
    """

    form: MessageForm
    share: int = 0
    shares: int = 1


@dataclass(frozen=True, slots=True)
class MessageOptions:
    """What a user says of files with many documents; nothing, if there is nothing to say.

    Attributes:
        kind: The form of all files; None to go by their names.
        records: The elements of XML files that are messages.
        column, names: As for `MessageForm`; None for the usual names.
    """

    kind: Kind | None = None
    records: str | None = None
    column: str | None = None
    names: str | None = None

    def form_of(self, name: str) -> MessageForm | None:
        """The form of a file; None if it is one document.

        >>> MessageOptions().form_of("a.xml"), str(MessageOptions().form_of("b.jsonl.gz"))
        (None, 'lines of JSON')
        >>> str(MessageOptions(records="item").form_of("a.xml"))
        'elements item'
        """
        kind = self.kind or _kind_of(name)
        if self.records is not None:
            kind = kind or "xml"
        elif kind is None and self.column is not None:
            kind = "parquet"
        if kind is None:
            return None
        if kind == "xml":
            return MessageForm("xml", self.records or "")
        return MessageForm(kind, column=self.column or DOCUMENT, names=self.names)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The ends of names for which directories are searched; none for those of XML."""
        kind = self.kind or ("parquet" if self.column is not None else None)
        if kind is None or kind == "xml":
            return ()
        plain = [suffix for suffix, own in _SUFFIXES.items() if own == kind or self.kind is None]
        return (*plain, *[f"{suffix}{packed}" for suffix in plain for packed in _PACKED])


AS_NAMED: Final = MessageOptions()  # what names of files say


def _kind_of(name: str) -> Kind | None:
    """The kind that the name of a file says; None for any other name."""
    lower = name.lower()
    if not lower.endswith(_ENDS):
        return None
    for packed in _PACKED:
        lower = lower.removesuffix(packed)
    return next(kind for suffix, kind in _SUFFIXES.items() if lower.endswith(suffix))
