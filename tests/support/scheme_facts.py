"""What two schemes of the same subscriptions have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from extract.scheme import Chunk, Scheme, Subscriber, Want

Facts = dict[str, Any]


def facts(scheme: Scheme) -> Facts:
    """A scheme without what may differ: order, numbers of branches, names of prefixes."""
    names = {prefix: f"{{{uri}}}" for prefix, uri in scheme.namespaces.items()}
    prefixes = "|".join(map(re.escape, names)) or "(?!)"
    token = re.compile(rf"""'[^']*'|"[^"]*"|(?<![\w.-])({prefixes}):(?!:)""")

    def plain(text: str) -> str:
        return token.sub(lambda found: names[found[1]] if found[1] else found[0], text)

    def wants(some: Iterable[Want], uses: Iterable[tuple[int, ...]]) -> list[Any]:
        return sorted(
            (plain(path), need, use) for (path, need), use in zip(some, uses, strict=False)
        )

    def chunk(one: Chunk) -> Facts:
        assert len(one.uses) == len(one.filters) + len(one.inside)
        return {
            "prefix": plain(one.prefix),
            "filters": wants(one.filters, one.uses),
            "inside": wants(one.inside, one.uses[len(one.filters) :]),
            "projected": one.projected,
            "whole": sorted(map(plain, one.whole)),
            "splittable": one.splittable,
            "queries": sorted(scheme.queries_in(one)),
            "branches": sorted(plain(scheme.branches[number].xpath) for number in one.branches),
        }

    def subscriber(one: Subscriber) -> tuple[str, str, str, float, str]:
        metadata = json.dumps(one.metadata, sort_keys=True)
        return one.id, one.xpath, plain(one.absolute), one.weight, metadata

    forms = [[plain(scheme.branches[n].xpath) for n in form.branches] for form in scheme.forms]
    forms.append([])  # of templates that match nothing
    return {
        "schema": scheme.schema,
        "settings": scheme.settings,
        "namespaces": sorted(scheme.namespaces.values()),
        "branches": sorted((plain(xpath), steps) for xpath, steps in scheme.branches),
        "queries": sorted(
            (
                sorted(map(plain, query.xpaths)),
                query.type.value,
                sorted(map(subscriber, query.subscribers)),
            )
            for query in scheme.queries
        ),
        "templates": sorted(
            (plain(one.xpath), one.arguments, sorted(forms[one.form]), plain(one.reason))
            for one in scheme.templates
        ),
        "chunks": sorted(map(chunk, scheme.chunks), key=lambda one: str(one["prefix"])),
        "ids": [one.id for one in scheme.chunks],
        "potpourri": chunk(scheme.potpourri),
        "document": chunk(scheme.document),
        "originals": sorted(map(plain, scheme.originals)),
        "unsatisfiable": sorted(
            (subscriber(one.subscriber), plain(one.reason)) for one in scheme.unsatisfiable
        ),
        "rejected": sorted((one.id, one.xpath, one.reason, one.line) for one in scheme.rejected),
        "metadata": scheme.metadata,
        "notes": scheme.notes,
        "statistics": scheme.statistics,
    }
