"""Documents and queries of the EJB scenario.

A document of the usual size has about as many elements of each kind as the paper's (appendix A3);
a larger one has more records of each kind, in the same proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

SCHEMA = "ejb-jar.dtd"
ROOT = "ejb-jar"
NAMESPACES: dict[str, str] = {}
QUERIES = 1_000
DOCUMENTS = 1
RECORD = "method-permission"
SIZE_BYTES = 152_000

_POOL = 256  # different records of each kind
_BEANS = 60  # different names of beans
_CHUNK_BYTES = 1 << 16
_ROLES = ("admin", "clerk", "customer", "auditor", "guest")
_VERBS = ("create", "find", "get", "set", "remove", "update", "list")
_NOUNS = ("Order", "Account", "Item", "Address", "Invoice", "Price", "Stock", "User")
_TYPES = ("int", "long", "java.lang.String", "java.util.Date")

# Of 1,000 queries, in the order of the paper's chunks: these weights give table A3.
_WEIGHTS = {
    "container-transaction": 190,
    "method-permission": 180,
    "security-role": 170,
    "session": 160,
    "message-driven": 155,
    "entity": 145,
}


def document(size_bytes: int, seed: int) -> Iterator[bytes]:
    """Beans and what is said about them, in the order that the DTD asks for."""
    rng = Random(seed)
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<ejb-jar>\n<enterprise-beans>\n'
    # There is only one bean of this kind: in a larger document it refers to more others.
    yield b"<message-driven>\n"
    head = f"{_beans(rng, 'ejb-name', 'ejb-class')}<message-selector/>\n"
    head += _tag("transaction-type", "Container") + _tag("acknowledge-mode", "Auto-acknowledge")
    head += f"<message-driven-destination>{_tag('destination-type', 'javax.jms.Queue')}"
    yield f"{head}</message-driven-destination>\n".encode("ascii")
    yield from _records(rng, _reference, size_bytes * 0.008)
    yield b"</message-driven>\n"
    yield from _records(rng, _session, size_bytes * 0.0395)
    yield from _records(rng, _entity, size_bytes * 0.103)
    yield b"</enterprise-beans>\n<assembly-descriptor>\n"
    yield from _records(rng, _container_transaction, size_bytes * 0.297)
    yield from _records(rng, _security_role, size_bytes * 0.0105)
    yield from _records(rng, _method_permission, size_bytes * 0.536)
    yield b"</assembly-descriptor>\n</ejb-jar>\n"


def _records(rng: Random, record: Callable[[Random], str], budget: float) -> Iterator[bytes]:
    """Records of one kind, at least one, until the budget is spent."""
    pool = [record(rng).encode("ascii") for _ in range(_POOL)]
    first = True
    while budget > 0 or first:
        rows: list[bytes] = []
        room = min(budget, _CHUNK_BYTES)
        for row in rng.choices(pool, k=_POOL):
            rows.append(row)
            room -= len(row)
            if room <= 0:
                break
        text = b"".join(rows)
        budget -= len(text)
        first = False
        yield text


def _tag(name: str, text: str) -> str:
    return f"<{name}>{text}</{name}>\n"


def _beans(rng: Random, *names: str) -> str:
    """Elements that name one bean, its class or its interfaces."""
    bean = f"{rng.choice(_NOUNS)}{rng.randrange(_BEANS)}"
    return "".join(
        _tag(name, bean if name == "ejb-name" else f"com.example.{bean}.{name}") for name in names
    )


def _reference(rng: Random) -> str:
    bean = f"{rng.choice(_NOUNS)}{rng.randrange(_BEANS)}"
    names = _tag("ejb-ref-name", f"ejb/{bean}") + _tag("ejb-ref-type", "Session")
    return f"<ejb-ref>\n{names}{_beans(rng, 'home', 'remote')}{_tag('ejb-link', bean)}</ejb-ref>\n"


def _session(rng: Random) -> str:
    parts = _beans(rng, "ejb-name", "home", "remote", "ejb-class")
    parts += _tag("session-type", rng.choice(("Stateless", "Stateful")))
    parts += _tag("transaction-type", rng.choice(("Container", "Bean")))
    if rng.random() < 0.3:
        parts += _reference(rng)
    if rng.random() < 0.2:
        role = f"<run-as>{_tag('role-name', rng.choice(_ROLES))}</run-as>"
        parts += f"<security-identity>{role}</security-identity>\n"
    return f"<session>\n{parts}</session>\n"


def _entity(rng: Random) -> str:
    parts = _beans(rng, "ejb-name", "home", "remote", "ejb-class")
    parts += _tag("persistence-type", "Container") + _tag("prim-key-class", rng.choice(_TYPES))
    parts += _tag("reentrant", rng.choice(("True", "False")))
    fields = rng.sample(_NOUNS, rng.randint(2, 7))
    for name in fields:
        parts += f"<cmp-field>{_tag('field-name', name.lower())}</cmp-field>\n"
    if rng.random() < 0.7:
        parts += _tag("primkey-field", fields[0].lower())
    return f"<entity>\n{parts}</entity>\n"


def _method(rng: Random) -> str:
    parts = _beans(rng, "ejb-name")
    if rng.random() < 0.5:
        parts += _tag("method-intf", rng.choice(("Home", "Remote")))
    parts += _tag("method-name", rng.choice(_VERBS) + rng.choice(_NOUNS))
    if rng.random() < 0.6:
        types = rng.choices(_TYPES, k=rng.randint(0, 2))
        params = "".join(_tag("method-param", one) for one in types)
        parts += f"<method-params>{params}</method-params>\n"
    return f"<method>\n{parts}</method>\n"


def _container_transaction(rng: Random) -> str:
    methods = "".join(_method(rng) for _ in range(rng.randint(1, 3)))
    attribute = rng.choice(("Required", "Supports", "Mandatory", "Never"))
    return (
        f"<container-transaction>\n{methods}"
        f"{_tag('trans-attribute', attribute)}</container-transaction>\n"
    )


def _security_role(rng: Random) -> str:
    role = rng.choice(_ROLES)
    description = _tag("description", f"may do what a {role} does")
    return f"<security-role>\n{description}{_tag('role-name', role)}</security-role>\n"


def _method_permission(rng: Random) -> str:
    methods = "".join(_method(rng) for _ in range(rng.randint(1, 6)))
    role = _tag("role-name", rng.choice(_ROLES))
    return f"<method-permission>\n{role}{methods}</method-permission>\n"


# For each kind where a query may go, and what it may filter by: ``%`` is a bean's name, ``#`` a
# number that makes the query unlike all others.
_ENDS = {
    "container-transaction": ("", "/method", "/method/method-name", "/trans-attribute"),
    "method-permission": ("", "/method", "/method/ejb-name", "/method/method-params", "/role-name"),
    "security-role": ("", "/role-name", "/description", "/description/text()"),
    "session": ("", "/ejb-name", "/ejb-class", "/ejb-ref/ejb-link", "/home", "/remote"),
    "message-driven": ("", "/ejb-ref", "/ejb-ref/home", "/message-driven-destination"),
    "entity": ("", "/ejb-name", "/cmp-field", "/cmp-field/field-name", "/primkey-field"),
}
_FILTERS = {
    "container-transaction": ("method/ejb-name = '%'", "trans-attribute != 'x#'"),
    "method-permission": ("method/ejb-name = '%'", "role-name = 'role#'", "count(method) > #"),
    "security-role": ("role-name = 'role#'", "contains(description, '%')"),
    "session": ("ejb-name = '%'", "ejb-ref/ejb-link = '%'", "home != 'x#'"),
    "message-driven": ("ejb-name != '%'", "ejb-ref/ejb-link = '%'"),
    "entity": ("ejb-name = '%'", "cmp-field/field-name = 'f#'"),
}


def queries(count: int, seed: int) -> list[str]:
    """Different XPaths, as many for each kind of record as in the paper, in a random order."""
    rng = Random(seed)
    quotas = {kind: count * weight // 1000 for kind, weight in _WEIGHTS.items()}
    quotas["entity"] += count - sum(quotas.values())
    found = [query for kind, quota in quotas.items() for query in _different(rng, kind, quota)]
    rng.shuffle(found)
    return found


def _different(rng: Random, kind: str, count: int) -> list[str]:
    above = "assembly-descriptor" if kind in tuple(_WEIGHTS)[:3] else "enterprise-beans"
    starts = (f"/ejb-jar/{above}/{kind}", f"/ejb-jar/*/{kind}", f"//{kind}")
    found = [rng.choice(starts) + end for end in _ENDS[kind]][:count]
    for number in range(count - len(found)):
        bean = f"{_NOUNS[number % len(_NOUNS)]}{number // len(_NOUNS)}"
        template = _FILTERS[kind][number % len(_FILTERS[kind])]
        condition = template.replace("%", bean).replace("#", str(number))
        found.append(f"{rng.choice(starts)}[{condition}]{rng.choice(_ENDS[kind])}")
    return found
