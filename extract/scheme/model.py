"""The chunking scheme as values."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

from extract.errors import SchemeError
from extract.schema.model import Schema
from extract.scheme.database.location import is_database
from extract.scheme.registered import (
    CustomOutput,
    Later,
    Query,
    Rejected,
    Subscriber,
    Unsatisfiable,
)
from extract.scheme.statistics import Statistics
from extract.scheme.templates import Form, RegisteredTemplates, WordingTable
from extract.subscriptions.members import Members

if TYPE_CHECKING:
    from extract.scheme.directory import QueryDirectory

FORMAT: Final = 2  # of scheme.json
POTPOURRI: Final = "potpourri"  # its id
DOCUMENT: Final = "document"  # id of the chunk that is the whole document


class Need(enum.IntFlag):
    """What a chunk keeps of a node.

    Attributes:
        NODE: The element with its attributes, or the document node.
        CHILDREN: That, and all children: elements as tags, texts, comments and processing
            instructions.
        STRING: The node, and all text below it. What is kept for it is what `SUBTREE` keeps: one
            range of bytes is cheaper than the many around a few comments.
        SUBTREE: The node, and everything below it.
    """

    NODE = 1
    CHILDREN = 2
    STRING = 4
    SUBTREE = 8

    @property
    def essence(self) -> Need:
        """The same need without what is included in another part of it."""
        if self & Need.SUBTREE:
            return Need.SUBTREE
        return self & (Need.CHILDREN | Need.STRING) or Need.NODE

    @property
    def word(self) -> str:
        """As it is written in a scheme.

        >>> (Need.NODE | Need.STRING).word, (Need.CHILDREN | Need.STRING).word
        ('string', 'children+string')
        """
        return _WORDS[self.essence]


_WORDS: Final = {
    Need.NODE: "node",
    Need.CHILDREN: "children",
    Need.STRING: "string",
    Need.CHILDREN | Need.STRING: "children+string",
    Need.SUBTREE: "subtree",
}
NEEDS: Final = {word: need for need, word in _WORDS.items()}


class Want(NamedTuple):
    """A path without filters, and what a chunk keeps of the nodes that it selects."""

    path: str
    need: Need


# How often node, children, string and subtree are asked for; zeros at the end are left out.
Uses: TypeAlias = tuple[int, ...]


class Branch(NamedTuple):
    """One alternative of a normal form.

    Attributes:
        xpath: The branch as XPath, from the document node; a parameter is a variable.
        steps: With how many plain child steps it begins, filters aside: its spine.
    """

    xpath: str
    steps: int


@dataclass(frozen=True, slots=True)
class Branches(Sequence[Branch]):
    """All branches of a scheme, each once. In columns, for there may be a million of them.

    Attributes:
        xpaths: `Branch.xpath` of each.
        steps: `Branch.steps` of each.
    """

    xpaths: tuple[str, ...] = field(default=(), repr=False)
    steps: tuple[int, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, branches: Iterable[Branch]) -> Branches:
        """The table of some branches, in their order."""
        rows = list(branches)
        return cls(tuple([row.xpath for row in rows]), tuple([row.steps for row in rows]))

    def __len__(self) -> int:
        return len(self.xpaths)

    def __iter__(self) -> Iterator[Branch]:
        return map(Branch, self.xpaths, self.steps)

    @overload
    def __getitem__(self, index: int) -> Branch: ...
    @overload
    def __getitem__(self, index: slice) -> Branches: ...
    def __getitem__(self, index: int | slice) -> Branch | Branches:
        if isinstance(index, slice):
            return Branches(self.xpaths[index], self.steps[index])
        return Branch(self.xpaths[index], self.steps[index])


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of every document, and what is evaluated on it.

    On a document reduced to `wants`, and to the tags of all ancestors of what is kept, the chunk's
    branches select what they select on the whole document.

    Attributes:
        id: Names the chunk, also as a file.
        prefix: The path, in plain child steps, whose subtrees it has; empty for the potpourri,
            which has none.
        filters: What its branches look at elsewhere.
        inside: What its branches look at in these subtrees.
        projected: Whether the chunk has of these subtrees only ``inside``, instead of everything.
        branches: What is evaluated on it: indices into `Scheme.branches`.
        unsplittable: Why the subtrees cannot be evaluated apart from each other; empty if they can.
        whole: Why nothing may be left out of the document, for whatever reasons there are; empty if
            ``filters`` say what is needed.
        uses: How often the branches ask for each of ``filters``, then of ``inside``, so that some
            of them can go again; empty if that is not known.
    """

    id: str
    prefix: str
    filters: tuple[Want, ...] = ()
    branches: tuple[int, ...] = ()
    unsplittable: str = ""
    whole: tuple[str, ...] = ()
    inside: tuple[Want, ...] = ()
    projected: bool = False
    uses: tuple[Uses, ...] = field(default=(), repr=False)

    @property
    def wants(self) -> tuple[Want, ...]:
        """What the chunk keeps of a document, besides the ancestors of that."""
        if not self.prefix:
            return self.filters
        inside = self.inside if self.projected else (Want(self.prefix, Need.SUBTREE),)
        return (*self.filters, *inside)

    @property
    def splittable(self) -> bool:
        """Whether the subtrees at the prefix can be evaluated apart from each other."""
        return not self.unsplittable


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for, so that a revised scheme can be made the same way.

    Attributes:
        chunks: How many chunks; if that was left open, how many were found to be best.
        weights: How queries were weighed: ``"one"``, ``"subscribers"`` or ``"custom"``.
        limits: The limits of normal forms, by name.
        auto: Whether the number of chunks was left open.
        workers: For how many workers the best number was sought.
    """

    chunks: int
    weights: str = "one"
    limits: Mapping[str, int] = field(default_factory=dict)
    auto: bool = False
    workers: int = 1


class Cut(NamedTuple):
    """How documents are cut: the part of a scheme that only CHUNKTOOL and its readers ask for.

    The attributes are those of `Scheme`.
    """

    settings: Settings
    chunks: tuple[Chunk, ...]
    potpourri: Chunk
    document: Chunk
    originals: tuple[str, ...]
    notes: tuple[str, ...]
    statistics: Statistics


_CUT: Final = frozenset(Cut.__annotations__)


@dataclass(frozen=True)
class Scheme:
    """How documents of one schema are cut for a set of queries. Make one with `extract.prepare`.

    Queries that differ in their constants alone are members of one template; what is computed from
    the template is here once.

    Attributes:
        schema: The schema's edges; order and cardinality are left out.
        namespaces: Prefix to namespace URI, for all paths here.
        settings: What was asked for.
        branches: The branches of all forms, each once.
        forms: The normal forms of templates, each once.
        templates: The templates of the queries, in the order of their first members.
        wordings: How templates are written, where that is not their canonical form.
        members: The queries, in the order of their registration.
        chunks: The chunks, by prefix.
        potpourri: The chunk for all branches that belong to no other; it may be empty.
        document: The chunk for branches that may look anywhere, the whole document; it may be
            empty.
        originals: Paths in plain child steps outside of whose subtrees no query, as it was written,
            can look at anything but the elements on the way there; ``/`` if they may look anywhere.
            There, even what breaks the schema cannot matter.
        later: Queries in XPath 2.0 or later, which are evaluated on the whole document.
        outputs: What FLWR subscriptions make of their bindings, by id.
        rejected: Queries that cannot be evaluated.
        notes: What the user should know about how the scheme was made.
        statistics: What is known about the sizes of documents, for estimates.
    """

    schema: Schema
    namespaces: Mapping[str, str]
    settings: Settings
    branches: Branches = field(repr=False)
    forms: tuple[Form, ...] = field(repr=False)
    templates: RegisteredTemplates = field(repr=False)
    wordings: WordingTable = field(repr=False)
    members: Members = field(repr=False)
    chunks: tuple[Chunk, ...] = field(repr=False)
    potpourri: Chunk = field(repr=False)
    document: Chunk = field(repr=False)
    # No value of the class, where `uncut` leaves one open: it would be found in its place.
    originals: tuple[str, ...] = field(default_factory=lambda: ("/",), repr=False)
    rejected: tuple[Rejected, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default_factory=tuple)
    statistics: Statistics = field(default_factory=Statistics, repr=False)
    later: tuple[Later, ...] = field(default=(), repr=False)
    outputs: Mapping[str, CustomOutput] = field(default_factory=dict, repr=False)

    @classmethod
    def uncut(cls, cut: Callable[[], Cut], **others: Any) -> Scheme:
        """A scheme whose chunks are chosen when somebody asks for them; filters often never do.

        Args:
            cut: Chooses the chunks. Two threads that ask at once may each call it.
            others: The fields of a scheme that are not those of `Cut`.
        """
        scheme = object.__new__(cls)
        scheme.__dict__.update({"later": (), "rejected": (), "outputs": {}, **others, "_cut": cut})
        return scheme

    if not TYPE_CHECKING:  # for which every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__
            if name in _CUT:
                cut = own.get("_cut")
                if cut is not None:
                    own.update(cut()._asdict())
                    own.pop("_cut", None)
                if name in own:  # perhaps by another thread
                    return own[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def load(cls, path: str | Path) -> Scheme:
        """Reads a ``scheme.json``, and the file of members beside it if there is one; or the scheme
        in a database, by its URL.

        Raises:
            SchemeError: It cannot be read, is no scheme, is damaged, or of another version.
        """
        if is_database(path):
            from extract.scheme.database.read import load_scheme

            return load_scheme(str(path))
        from extract.scheme.reader import read_scheme

        return read_scheme(path)

    def save(self, path: str | Path) -> None:
        """Writes the scheme. A file of that name is replaced as a whole, or not at all.

        Many members are in a file of their own beside it, which the scheme names. The URL of a
        database is taken, too.

        Raises:
            OSError: The file cannot be written.
            SchemeError: The database cannot be written.
        """
        if is_database(path):
            from extract.scheme.database.write import save_scheme as save_in_database

            save_in_database(self, str(path))
            return
        from extract.scheme.writer import save_scheme

        save_scheme(self, path)

    def lines(self) -> Iterator[str]:
        """The text of ``scheme.json`` with all members, line by line, each with its line end."""
        from extract.scheme.writer import scheme_lines

        return scheme_lines(self)

    def __repr__(self) -> str:
        queries, chunks = self.registered, len(self.chunks)
        return (
            f"<Scheme: {queries:,} quer{'y' if queries == 1 else 'ies'}, "
            f"{chunks:,} chunk{'s' * (chunks != 1)}, schema {self.schema.source}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # nothing cached

    # -- chunks

    @property
    def every_chunk(self) -> tuple[Chunk, ...]:
        """The chunks, then the potpourri and the whole document unless nothing is in them."""
        others = [self.potpourri] if self.potpourri.branches else []
        if self.document.branches or self.later:
            others.append(self.whole_document)
        return (*self.chunks, *others)

    @property
    def whole_document(self) -> Chunk:
        """The chunk `document`, also for the queries in later versions of XPath."""
        document = self.document
        if not self.later:
            return document
        reasons = [*document.whole, *[one.reason for one in self.later]]
        return replace(document, whole=tuple(dict.fromkeys(reasons)))

    @cached_property
    def directory(self) -> QueryDirectory:
        """The queries one by one: found by id, by chunk, or by normal form."""
        from extract.scheme.directory import QueryDirectory  # which needs this module

        return QueryDirectory(self)

    # -- queries

    @property
    def registered(self) -> int:
        """The number of queries, rejected ones included."""
        return len(self.members) + len(self.later) + len(self.rejected)

    @property
    def subscribers(self) -> Sequence[Subscriber]:
        """All whose queries can be evaluated: the members, then those in later versions of XPath.
        Rows of results refer to them by position."""
        return self.directory.subscribers

    @property
    def queries(self) -> Sequence[Query]:
        """The canonical queries, in the order of their first subscribers."""
        return self.directory.queries

    @property
    def unsatisfiable(self) -> Sequence[Unsatisfiable]:
        """Queries that can match no conforming document."""
        return self.directory.unsatisfiable

    @cached_property
    def metadata(self) -> Mapping[str, Mapping[str, Any]]:
        """The metadata of all subscriptions that have any, by id; rejected ones included."""
        return self.directory.metadata()

    def queries_in(self, chunk: Chunk) -> Sequence[str]:
        """The ids of the queries that have a branch in a chunk."""
        return self.directory.ids_in(chunk)

    def counts(self) -> dict[str, int]:
        """How many queries there are of each kind.

        ``registered`` is the sum of ``satisfiable``, ``unsatisfiable`` and ``rejected``. The
        satisfiable ones are ``canonical`` different ones, of ``templates`` templates; ``potpourri``
        have a branch there or need the whole ``document``. Of the satisfiable, ``later`` are in
        XPath 2.0 or later.
        """
        return self.directory.counts((*self.potpourri.branches, *self.document.branches))

    def check_schema(self, schema: Schema) -> None:
        """Makes sure that the scheme was prepared for this schema, in this version.

        Raises:
            SchemeError: It was not.
        """
        hint = "prepare the queries again with `extract prep`"
        ours, theirs = self.schema.source, schema.source
        if self.schema.digest != schema.digest:
            if ours == theirs:
                raise SchemeError("the schema has changed since the scheme was made", hint, theirs)
            reason = f"the scheme was made for another schema, {ours}, or for another version"
            raise SchemeError(reason, hint, theirs)
        if _root_names(self.schema) != _root_names(schema):
            reason = (
                f"the scheme was made for documents that start with {_root_names(self.schema)}, "
                f"not with {_root_names(schema)}"
            )
            raise SchemeError(reason, hint, theirs)


def _root_names(schema: Schema) -> str:
    return " or ".join(sorted({schema.declarations[key].name for key in schema.roots}))


def empty_scheme(schema: Schema) -> Scheme:
    """A scheme without queries."""
    empty = Chunk(POTPOURRI, ""), Chunk(DOCUMENT, "")
    queries = (), RegisteredTemplates.of([]), WordingTable(), Members.none()
    return Scheme(schema, {}, Settings(1), Branches.of([]), *queries, (), *empty)
