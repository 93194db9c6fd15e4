"""OASIS XML catalogs: which local file stands for a public identifier or a web address.

Only the entries that schema packages use in practice: ``public``, ``system``, ``uri``,
``rewriteSystem`` and ``rewriteURI``, with ``group`` and ``xml:base``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

from lxml import etree

NAME = "catalog.xml"
_NAMESPACE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"


@dataclass
class Catalog:
    """The entries of one catalog file, their targets as absolute URLs.

    Attributes:
        file: Where it was read from, None for the empty catalog.
        addresses: System identifier or URI to target.
        publics: Public identifier, white space normalised, to target.
        rewrites: Start of an address to the start that replaces it, longest first.
    """

    file: Path | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    publics: dict[str, str] = field(default_factory=dict)
    rewrites: list[tuple[str, str]] = field(default_factory=list)

    def by_address(self, *addresses: str) -> str | None:
        """The target for the first of these spellings of an address that the catalog knows."""
        for address in addresses:
            if address in self.addresses:
                return self.addresses[address]
            for start, replacement in self.rewrites:
                if address.startswith(start):
                    return replacement + address[len(start) :]
        return None

    def by_public(self, public: str) -> str | None:
        """The target for a public identifier."""
        return self.publics.get(" ".join(public.split()))


def parse_catalog(file: Path, content: bytes) -> Catalog | None:
    """Reads a catalog; None if the file is not one (any XML file may be called catalog.xml)."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser, base_url=file.as_uri())
    except etree.XMLSyntaxError:
        return None
    if root.tag != f"{_NAMESPACE}catalog":
        return None
    catalog = Catalog(file)
    for entry in root.iter(f"{_NAMESPACE}*"):
        kind, get, base = entry.tag.removeprefix(_NAMESPACE), entry.attrib.get, entry.base
        if kind == "public":
            public = " ".join(get("publicId", "").split())
            catalog.publics.setdefault(public, urljoin(base, get("uri", "")))
        elif kind in ("system", "uri"):
            name = get("systemId" if kind == "system" else "name", "")
            catalog.addresses.setdefault(name, urljoin(base, get("uri", "")))
        elif kind in ("rewriteSystem", "rewriteURI"):
            start = get("systemIdStartString" if kind == "rewriteSystem" else "uriStartString", "")
            catalog.rewrites.append((start, urljoin(base, get("rewritePrefix", ""))))
    catalog.rewrites.sort(key=lambda rewrite: -len(rewrite[0]))
    return catalog
