"""Documents and queries of the news scenario: real ones where they are, else our own.

Our own messages have a small DTD in the manner of NITF: blocks and inline elements that contain
each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from extract.scenarios.nitf.real import RealNews
from extract.scenarios.pieces import pieces
from extract.scenarios.queries import random_queries
from extract.schema.model import Schema

SCHEMA = "newsletter.dtd"
ROOT = "newsletter"
NAMESPACES: dict[str, str] = {}
QUERIES = 100_000
DOCUMENTS = 200
SIZE_BYTES = 6_000
RECORD = "block"

_WORDS = [
    "market",
    "council",
    "river",
    "report",
    "minister",
    "harbour",
    "winter",
    "election",
    "train",
    "museum",
    "price",
    "city",
    "weather",
    "budget",
    "strike",
    "orchestra",
    "bridge",
    "vote",
    "school",
    "record",
    "storm",
    "summit",
]
_NAMES = ("Ada Gray", "Ivan Kay", "Grace Wirth", "Kurt Codd", "Jean Liskov", "Alan Dahl")
_CITIES = ("Dresden", "Erlangen", "Lyon", "Porto", "Turku")
_INLINE = ("em", "link", "person", "place", "money", "quote", "note")


def real(data: Path) -> RealNews | None:
    """YFilter's messages and queries, if they are in this folder."""
    return RealNews(data / "nitf") if (data / "nitf" / "nitf.dtd").is_file() else None


def queries(count: int, seed: int) -> list[str]:
    """Paths up to six steps deep with one nested path as filter, as YFilter's generator does."""
    schema = Schema.load(Path(__file__).parent / SCHEMA, ROOT)
    return random_queries(schema, count, filters=1, seed=seed)


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """One message: a head, a headline, and blocks until it is large enough."""
    rng = Random(seed)
    subjects = "".join(
        f"<subject><code>{rng.randrange(100):02d}</code>{_name(rng.choice(_WORDS))}</subject>\n"
        for _ in range(rng.randrange(4))
    )
    rights = f"<rights><owner>{rng.choice(_NAMES)}</owner><region>EU</region></rights>\n"
    head = (
        f"<newsletter>\n<head><title>{_words(rng, 4)}</title>"
        f"<date>2026-11-{rng.randint(1, 30):02d}</date>\n<source>{_name('Wire')}{_contact(rng)}"
        f"</source>\n{subjects}{rights if rng.random() < 0.5 else ''}</head>\n"
        f"<body><headline><main>{_inline(rng, 1)}</main></headline>\n"
        f"<byline>{_person(rng)}{_place(rng)}</byline>\n"
    )
    return pieces(head, lambda _: _block(rng, 2), "</body>\n</newsletter>\n", size_bytes)


def _name(text: str) -> str:
    return f"<name>{text}</name>"


def _words(rng: Random, count: int) -> str:
    return " ".join(rng.choices(_WORDS, k=count))


def _contact(rng: Random) -> str:
    city = f"<city>{rng.choice(_CITIES)}</city><country>EU</country>"
    address = f"<address><street>Quay {rng.randint(1, 9)}</street>{city}</address>"
    phone = "<phone>0351 1234</phone>" if rng.random() < 0.5 else ""
    return f"<contact><email>desk@example.org</email>{phone}{address}</contact>"


def _person(rng: Random) -> str:
    return f"<person>{_name(rng.choice(_NAMES))}<role>{rng.choice(_WORDS)}</role></person>"


def _place(rng: Random) -> str:
    return f"<place><city>{rng.choice(_CITIES)}</city></place>"


def _inline(rng: Random, deeper: int) -> str:
    """Text with elements in it, some of which have text with elements in it."""
    parts = [_words(rng, rng.randint(3, 9))]
    for _ in range(rng.randrange(3)):
        kind = rng.choice(_INLINE)
        match kind:
            case "person":
                parts.append(_person(rng))
            case "place":
                parts.append(_place(rng))
            case "money":
                parts.append(f"<money>{rng.randint(1, 900)} EUR</money>")
            case "em" | "link":
                inner = _inline(rng, deeper - 1) if deeper else _words(rng, 2)
                parts.append(f"<{kind}>{inner}</{kind}>")
            case "quote" if deeper:
                parts.append(f"<quote><p>{_inline(rng, deeper - 1)}</p></quote>")
            case "note" if deeper:
                parts.append(f"<note>{_block(rng, deeper - 1).strip()}</note>")
            case _:
                pass
        parts.append(_words(rng, rng.randint(2, 5)))
    return " ".join(parts)


def _block(rng: Random, deeper: int) -> str:
    match rng.randrange(6) if deeper else 0:
        case 1:
            items = "".join(f"<item>{_inline(rng, deeper - 1)}</item>" for _ in range(3))
            inner = f"<list>{items}</list>"
        case 2:
            cells = "".join(f"<cell>{_inline(rng, deeper - 1)}</cell>" for _ in range(2))
            caption = f"<caption>{_words(rng, 3)}</caption>" if rng.random() < 0.5 else ""
            inner = f"<table>{caption}<row>{cells}</row></table>"
        case 3:
            credit = f"<credit>{rng.choice(_NAMES)}</credit>" if rng.random() < 0.5 else ""
            inner = f"<media><file>{rng.choice(_WORDS)}.png</file>{credit}</media>"
        case 4:
            inner = f"<quote><p>{_inline(rng, deeper - 1)}</p><credit>wire</credit></quote>"
        case _:
            inner = f"<p>{_inline(rng, deeper)}</p>"
    return f"<block>{inner}</block>\n"
