"""Locale data such as Unicode's: flat lists of elements that attributes tell apart.

Documents name languages, regions, currencies, units and dates of one language each; queries are
the paths of single entries, ``//ldml/…/month[@type='3']``, of which a document has most.
"""

from __future__ import annotations

from random import Random
from typing import Final
from xml.sax.saxutils import escape

DTD: Final = """
<!ELEMENT ldml (identity, localeDisplayNames, dates, numbers, units)>
<!ELEMENT identity (version, language, territory?)>
<!ELEMENT version EMPTY> <!ATTLIST version number CDATA #REQUIRED>
<!ELEMENT localeDisplayNames (languages, territories)>
<!ELEMENT languages (language*)> <!ELEMENT territories (territory*)>
<!ELEMENT language (#PCDATA)> <!ATTLIST language type CDATA #REQUIRED alt CDATA #IMPLIED>
<!ELEMENT territory (#PCDATA)> <!ATTLIST territory type CDATA #REQUIRED alt CDATA #IMPLIED>
<!ELEMENT dates (calendars)> <!ELEMENT calendars (calendar*)>
<!ELEMENT calendar (months, days)> <!ATTLIST calendar type CDATA #REQUIRED>
<!ELEMENT months (monthContext*)> <!ELEMENT days (dayContext*)>
<!ELEMENT monthContext (monthWidth*)> <!ATTLIST monthContext type CDATA #REQUIRED>
<!ELEMENT monthWidth (month*)> <!ATTLIST monthWidth type CDATA #REQUIRED>
<!ELEMENT month (#PCDATA)> <!ATTLIST month type CDATA #REQUIRED yeartype CDATA #IMPLIED>
<!ELEMENT dayContext (dayWidth*)> <!ATTLIST dayContext type CDATA #REQUIRED>
<!ELEMENT dayWidth (day*)> <!ATTLIST dayWidth type CDATA #REQUIRED>
<!ELEMENT day (#PCDATA)> <!ATTLIST day type CDATA #REQUIRED>
<!ELEMENT numbers (currencies)> <!ELEMENT currencies (currency*)>
<!ELEMENT currency (displayName*, symbol?)> <!ATTLIST currency type CDATA #REQUIRED>
<!ELEMENT displayName (#PCDATA)> <!ATTLIST displayName count CDATA #IMPLIED>
<!ELEMENT symbol (#PCDATA)>
<!ELEMENT units (unitLength*)>
<!ELEMENT unitLength (unit*)> <!ATTLIST unitLength type CDATA #REQUIRED>
<!ELEMENT unit (displayName?, unitPattern*)> <!ATTLIST unit type CDATA #REQUIRED>
<!ELEMENT unitPattern (#PCDATA)>
<!ATTLIST unitPattern count CDATA #REQUIRED case CDATA #IMPLIED>
"""

_DOCUMENTS: Final = 12
_QUERIES: Final = 1_500
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_LANGUAGES: Final = [a + b for a in _LETTERS for b in "aeiknorst"]
_TERRITORIES: Final = [a + b for a in _LETTERS[:22].upper() for b in "AEGLMNRSTU"]
_CURRENCIES: Final = [f"{one}{end}" for one in _TERRITORIES[:70] for end in "DP"]
_CALENDARS: Final = ("gregorian", "buddhist", "islamic", "generic")
_CONTEXTS: Final = ("format", "stand-alone")
_WIDTHS: Final = ("wide", "abbreviated", "narrow")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_UNITS: Final = [
    f"{kind}-{one}"
    for kind, units in {
        "length": ("meter", "kilometer", "mile", "foot", "inch"),
        "duration": ("year", "month", "week", "day", "hour", "minute"),
        "mass": ("gram", "kilogram", "pound", "ounce"),
        "digital": ("bit", "byte", "megabyte", "gigabyte"),
    }.items()
    for one in units
]
_COUNTS: Final = ("one", "few", "other")


def documents() -> list[bytes]:
    """The documents, one a language, of some 3,000 elements each."""
    return [_document(Random(number), number) for number in range(_DOCUMENTS)]


def queries() -> list[str]:
    """The paths of entries; some that few documents have."""
    rng = Random(1)
    makers = (_of_names, _of_months, _of_days, _of_currencies, _of_units)
    return [f"//ldml/{makers[number % len(makers)](rng)}" for number in range(_QUERIES)]


def _document(rng: Random, number: int) -> bytes:
    def word() -> str:
        return "".join(rng.choices(_LETTERS + "é&", k=rng.randint(3, 12)))

    def entry(name: str, **attributes: str) -> str:
        written = "".join([f' {key}="{value}"' for key, value in attributes.items()])
        return f"<{name}{written}>{escape(word())}</{name}>"

    def some(items: list[str]) -> list[str]:
        return [one for one in items if rng.random() < 0.9]

    def context(calendar: str, name: str, kinds: tuple[str, ...]) -> str:
        contexts = []
        for one in _CONTEXTS:
            widths = [
                f'<{name}Width type="{width}">'
                + "".join([entry(name, type=kind) for kind in kinds])
                + f"</{name}Width>"
                for width in _WIDTHS
                if calendar == "gregorian" or width != "narrow"
            ]
            contexts.append(f'<{name}Context type="{one}">{"".join(widths)}</{name}Context>')
        return f"<{name}s>{''.join(contexts)}</{name}s>"

    months = tuple(map(str, range(1, 13)))
    calendars = "".join(
        f'<calendar type="{one}">{context(one, "month", months)}{context(one, "day", _DAYS)}'
        "</calendar>"
        for one in _CALENDARS
    )
    currencies = "".join(
        f'<currency type="{one}">{entry("displayName")}'
        f"{entry('displayName', count='other')}"
        f"<symbol>{one}</symbol></currency>"
        for one in some(_CURRENCIES)
    )
    units = "".join(
        f'<unitLength type="{length}">'
        + "".join(
            f'<unit type="{one}">'
            + "".join([entry("unitPattern", count=count) for count in _COUNTS])
            + "</unit>"
            for one in _UNITS
        )
        + "</unitLength>"
        for length in ("long", "short", "narrow")
    )
    languages = "".join([entry("language", type=one) for one in some(_LANGUAGES)])
    territories = "".join([entry("territory", type=one) for one in some(_TERRITORIES)])
    return (
        f'<ldml><identity><version number="{number}"/>'
        f'<language type="{_LANGUAGES[number]}"></language></identity>'
        f"<localeDisplayNames><languages>{languages}</languages>"
        f"<territories>{territories}</territories></localeDisplayNames>"
        f"<dates><calendars>{calendars}</calendars></dates>"
        f"<numbers><currencies>{currencies}</currencies></numbers><units>{units}</units></ldml>"
    ).encode()


def _of_names(rng: Random) -> str:
    if rng.random() < 0.5:
        name, kinds = "language", _LANGUAGES
    else:
        name, kinds = "territory", _TERRITORIES
    group = "languages" if name == "language" else "territories"
    alt = "[@alt='short']" if rng.random() < 0.1 else ""
    return f"localeDisplayNames/{group}/{name}[@type='{rng.choice(kinds)}']{alt}"


def _of_months(rng: Random) -> str:
    return (
        f"dates/calendars/calendar[@type='{rng.choice(_CALENDARS)}']/months/"
        f"monthContext[@type='{rng.choice(_CONTEXTS)}']/"
        f"monthWidth[@type='{rng.choice(_WIDTHS)}']/month[@type='{rng.randint(1, 13)}']"
    )


def _of_days(rng: Random) -> str:
    return (
        f"dates/calendars/calendar[@type='{rng.choice(_CALENDARS)}']/days/"
        f"dayContext[@type='{rng.choice(_CONTEXTS)}']/"
        f"dayWidth[@type='{rng.choice(_WIDTHS)}']/day[@type='{rng.choice(_DAYS)}']"
    )


def _of_currencies(rng: Random) -> str:
    currency = f"numbers/currencies/currency[@type='{rng.choice(_CURRENCIES)}']"
    names = ("/symbol", "/displayName[not(@count)]", "/displayName[@count='other']")
    return currency + rng.choice(names)


def _of_units(rng: Random) -> str:
    return (
        f"units/unitLength[@type='{rng.choice(('long', 'short', 'narrow'))}']/"
        f"unit[@type='{rng.choice(_UNITS)}']/unitPattern[@count='{rng.choice(_COUNTS)}']"
        + ("[@case='genitive']" if rng.random() < 0.1 else "")
    )
