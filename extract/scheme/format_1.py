"""Reads the queries of schemes of format 1, which have no templates.

Each query becomes a template of its own, without parameters: answers are the same. Queries that are
added later share templates among each other.
"""

from __future__ import annotations

from extract.scheme.fields import Fields
from extract.scheme.members_builder import MembersBuilder, QueryTables, form_of
from extract.scheme.templates import Form, RegisteredTemplate, RegisteredTemplates


def read_format_1(fields: Fields, branches: int) -> QueryTables:
    """The queries of a scheme of format 1.

    Args:
        fields: The scheme.
        branches: The number of its branches.
    """
    forms: dict[Form, int] = {}
    templates: dict[RegisteredTemplate, int] = {}
    builder = MembersBuilder()

    def add(row: Fields, form: int, reason: str = "") -> None:
        xpath = row.text("xpath")
        absolute = row.text("absolute") if "absolute" in row else xpath
        template = RegisteredTemplate(absolute, form, (), reason)
        number = templates.setdefault(template, len(templates))
        builder.add(row, number, absolute, xpath, ())

    by_id: dict[str, int] = {}
    for row in fields.objects("queries"):
        if "same_as" in row:
            form = by_id.get(row.text("same_as"), -1)
            if form < 0:
                row.wrong("same_as", f"there is no query {row.text('same_as')!r} above")
        else:
            own = form_of(row, branches)
            form = by_id[row.text("id")] = forms.setdefault(own, len(forms))
        add(row, form)
    for row in fields.objects("unsatisfiable"):
        add(row, -1, row.text("reason"))
    members, wordings = builder.members()
    return QueryTables(tuple(forms), RegisteredTemplates.of(templates), wordings, members)
