"""Documents and queries of the orders scenario: what makes XSD differ from a DTD."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from extract.scenarios.pieces import pieces

SCHEMA = "orders.xsd"
ROOT = "po:orders"
NAMESPACES = {
    "po": "urn:example:orders",
    "party": "urn:example:party",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
QUERIES = 1_000
DOCUMENTS = 20
SIZE_BYTES = 100_000
RECORD = "po:order"

_NAMES = ("Acme", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Garnet", "Harbour", "Iris", "Juno")
_CITIES = ("Dresden", "Erlangen", "Lyon", "Porto", "Turku", "Graz", "Leeds", "Gdansk")
_COUNTRIES = ("France", "Portugal", "Finland", "Austria", "Poland")
_STATUS = ("open", "shipped", "paid")
_CURRENCIES = ("EUR", "USD", "GBP")
_SKUS = 500


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """Orders with products, services and hours."""
    rng = Random(seed)
    bound = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<po:orders {bound} issued="2026-11-16">\n'
    return pieces(head, lambda number: _order(rng, number), "</po:orders>\n", size_bytes)


def _order(rng: Random, number: int) -> str:
    status = rng.choice((*_STATUS, None))  # None: the schema's default
    kind = f' status="{status}"' if status else ""
    lines = "".join(_line(rng, position) for position in range(1, rng.randint(2, 7)))
    name = rng.choice(_NAMES)
    emails = "".join(
        f"<party:email>{name.lower()}{n}@example.org</party:email>" for n in range(rng.randrange(3))
    )
    return (
        f'<po:order number="o{number}"{kind}>\n'
        f'<party:buyer id="b{number}"><party:name>{name}</party:name>{emails}</party:buyer>\n'
        f"{_company(rng, 'seller', 2)}\n{_ship_to(rng)}{lines}"
        f"{_money(rng, 'amount', 500_000)}\n{_note(rng)}{_extension(rng)}</po:order>\n"
    )


def _company(rng: Random, tag: str, above: int) -> str:
    """A company; at times it belongs to another one."""
    name = f"{rng.choice(_NAMES)} {rng.choice(('Ltd', 'AG', 'SA'))}"
    vat = f' vat="X{rng.randrange(1_000):03d}"' if rng.random() < 0.7 else ""
    parent = _company(rng, "parent", above - 1) if above and rng.random() < 0.4 else ""
    return f"<party:{tag}{vat}><party:name>{name}</party:name>{parent}</party:{tag}>"


def _ship_to(rng: Random) -> str:
    if rng.random() < 0.3:
        return ""
    place = f"<po:street>Main Street {rng.randint(1, 99)}</po:street>"
    place += f"<po:city>{rng.choice(_CITIES)}</po:city>"
    if rng.random() < 0.6:
        return f"<po:shipTo>{place}</po:shipTo>\n"
    country = f"<po:country>{rng.choice(_COUNTRIES)}</po:country>"
    return f'<po:shipTo xsi:type="po:ForeignAddress">{place}{country}</po:shipTo>\n'


def _line(rng: Random, position: int) -> str:
    if rng.random() < 0.7:
        return f"{_product(rng, 'product', position, 2)}\n"
    kind = rng.choice(("service", "hours"))
    until = f' until="2026-12-{rng.randint(1, 31):02d}"' if rng.random() < 0.5 else ""
    text = f"<po:text>{kind} as agreed</po:text>"
    return (
        f'<po:{kind} position="{position}"{until}>{text}{_money(rng, "price", 9_000)}</po:{kind}>\n'
    )


def _product(rng: Random, tag: str, position: int, below: int) -> str:
    """A product; at times it has parts, which are products again."""
    sku = rng.randrange(_SKUS)
    parts = rng.randint(1, 2) if below and rng.random() < 0.25 else 0
    inner = "".join(_product(rng, "part", n, below - 1) for n in range(1, parts + 1))
    return (
        f'<po:{tag} position="{position}"><po:text>item {sku % 50}</po:text>'
        f"<po:sku>sku-{sku}</po:sku><po:amount>{rng.randint(1, 20)}</po:amount>"
        f"{_money(rng, 'price', 90_000)}{inner}</po:{tag}>"
    )


def _money(rng: Random, tag: str, most: int) -> str:
    currency = rng.choice(_CURRENCIES)
    return f'<po:{tag} currency="{currency}">{rng.randint(1, most) / 100:.2f}</po:{tag}>'


def _note(rng: Random) -> str:
    if rng.random() < 0.1:
        return '<po:note xsi:nil="true"/>\n'
    return f"<po:note>call {rng.choice(_NAMES)} first</po:note>\n" if rng.random() < 0.3 else ""


def _extension(rng: Random) -> str:
    """What the schema leaves open: another company's elements."""
    if rng.random() < 0.8:
        return ""
    code = f'<t:tracking xmlns:t="urn:example:carrier" code="T{rng.randrange(1_000)}"/>'
    return f"<po:extension>{code}</po:extension>\n"


# ``#`` is a number, ``%`` a name of somebody, ``~`` a status: in turn, so that queries differ.
_TEMPLATES = (
    "/po:orders/po:order[party:buyer/party:name = '%']/po:amount",
    "//po:product[po:sku = 'sku-#']",
    "/po:orders/po:order[@status = '~']/po:product[po:sku = 'sku-#']/po:price",
    "/po:orders/po:order[po:amount > #]/@number",
    "//po:part[po:sku = 'sku-#']/po:amount",
    "/po:orders/po:order/po:shipTo[po:city = 'Dresden']/po:street",
    "/po:orders/po:order[.//party:parent/@vat = 'X#']/party:seller",
    "//po:hours[po:price > #]/@until",
    "/po:orders/po:order[po:shipTo/@xsi:type]/po:service[@position < #]",
    "//party:seller[@vat = 'X#']/party:name/text()",
    "/po:orders/po:order[@number = 'o#']//po:price/@currency",
    "//po:note[not(@xsi:nil)]",
    "/po:orders/po:order[count(po:product) > 3]/po:product[po:price < #]/po:text",
    "//po:extension/*[@code = 'T#']",
    "/po:orders/*/po:shipTo/po:country",
)


def queries(count: int, seed: int) -> list[str]:
    """Paths into orders by names, levels and codes; two in five with ``//``."""
    rng = Random(seed)
    return [
        _TEMPLATES[number % len(_TEMPLATES)]
        .replace("#", str(rng.randrange(_SKUS)))
        .replace("%", rng.choice(_NAMES))
        .replace("~", rng.choice(_STATUS))
        for number in range(count)
    ]
