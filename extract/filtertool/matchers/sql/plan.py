"""Which templates a database decides, and with which statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from extract.errors import MatcherError
from extract.filtertool.matchers.push.automaton import EngineNames
from extract.filtertool.matchers.sql.formulas import InTable, MatchShape, tables_in
from extract.filtertool.matchers.sql.frames import Constant, frames_of, selects_nodes
from extract.filtertool.matchers.sql.nested import Undecided
from extract.filtertool.matchers.sql.value_scan import TemplateFrame, ValueScan
from extract.limits import Limits
from extract.schema.model import Schema
from extract.xpath.parameters import parse_shape
from extract.xpath.reference_tables import TABLE, table_columns


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Templates whose members have the constants of a shape at the same places.

    Attributes:
        shape: The shape.
        constants: The constants.
        alternative: Which of the alternatives of these templates it is.
        templates: The numbers of the templates.
    """

    shape: MatchShape
    constants: tuple[Constant, ...]
    alternative: int
    templates: tuple[int, ...]


class SqlPlan:
    """How a database matches: frames that read values, and shapes of statements.

    Args:
        templates: For each number of a template its text.
        namespaces: Prefix to namespace URI, for all templates.
        schema: The schema of documents.
        values: Whether values of queries that are no node sets are asked for; then a database does
            not decide these.

    Attributes:
        frames: The frames of all templates that the database decides.
        decided: The numbers of these templates.
        undecided: The numbers of the others.
        shapes: The shapes, each once.
        single: Those that only one frame has.
    """

    def __init__(
        self,
        templates: Mapping[int, str],
        namespaces: Mapping[str, str],
        schema: Schema,
        values: bool = False,
    ) -> None:
        self._schema = schema
        self._names = EngineNames(schema, dict(namespaces))
        self.frames: list[TemplateFrame] = []
        self.decided: set[int] = set()
        self.undecided: set[int] = set()
        for number, xpath in templates.items():
            try:
                if "namespace::" in xpath or (values and not selects_nodes(xpath)):
                    raise Undecided
                frames = frames_of(xpath, self._names)
            except Undecided:
                _refuse_tables(xpath)
                self.undecided.add(number)
                continue
            self.decided.add(number)
            self.frames += [TemplateFrame(number, *one) for one in enumerate(frames)]
        counts = Counter([one.frame.shape for one in self.frames])
        self.shapes: tuple[MatchShape, ...] = tuple(counts)
        self.single: frozenset[MatchShape] = frozenset(
            [shape for shape, count in counts.items() if count == 1]
        )

    def scan(self, limits: Limits, templates: Iterable[int]) -> ValueScan:
        """What reads the values of documents that keep to the schema.

        Args:
            limits: How large documents may be.
            templates: The templates that may match such a document.
        """
        chosen = set(templates)
        frames = [one for one in self.frames if one.template in chosen]
        return ValueScan(self._schema, self._names, frames, limits)

    def open_scan(self, limits: Limits) -> ValueScan:
        """What reads the values of any document."""
        return ValueScan(Schema.none(), self._names, self.frames, limits)

    def sources(self) -> Sequence[MemberSource]:
        """Where the constants of each shape's members are."""
        found: dict[tuple[MatchShape, tuple[Constant, ...], int], list[int]] = {}
        for one in self.frames:
            key = (one.frame.shape, one.frame.constants, one.alternative)
            found.setdefault(key, []).append(one.template)
        return [MemberSource(*key, tuple(numbers)) for key, numbers in found.items()]

    def references(self) -> set[InTable]:
        """The tables of owners that templates mention; their sources mean nothing."""
        return {one._replace(source=0) for shape in self.shapes for one in tables_in(shape.formula)}


def _refuse_tables(xpath: str) -> None:
    """Makes sure that a query that values do not decide joins no table."""
    if f"{TABLE}(" in xpath:
        for column in table_columns(parse_shape(xpath)):
            reason = f"the query {xpath} joins the table {column.table!r} in a way that has no SQL"
            hint = "table() goes with comparisons, and, or, not(), contains() and starts-with()"
            raise MatcherError(reason, hint)
