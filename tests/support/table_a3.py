"""Table A3 of the paper: which elements the chunks of the EJB scenario start at."""

from __future__ import annotations

DESCRIPTOR, BEANS = "/ejb-jar/assembly-descriptor", "/ejb-jar/enterprise-beans"
CONTAINER_TRANSACTION = f"{DESCRIPTOR}/container-transaction"
METHOD_PERMISSION = f"{DESCRIPTOR}/method-permission"
SECURITY_ROLE = f"{DESCRIPTOR}/security-role"
SESSION, MESSAGE_DRIVEN, ENTITY = f"{BEANS}/session", f"{BEANS}/message-driven", f"{BEANS}/entity"
TABLE_A3: dict[int, dict[str, float]] = {
    2: {DESCRIPTOR: 54, BEANS: 46},
    3: {CONTAINER_TRANSACTION: 19, DESCRIPTOR: 35, BEANS: 46},
    4: {CONTAINER_TRANSACTION: 19, METHOD_PERMISSION: 18, SECURITY_ROLE: 17, BEANS: 46},
    5: {
        CONTAINER_TRANSACTION: 19,
        METHOD_PERMISSION: 18,
        SECURITY_ROLE: 17,
        SESSION: 16,
        BEANS: 30,
    },
    6: {
        CONTAINER_TRANSACTION: 19,
        METHOD_PERMISSION: 18,
        SECURITY_ROLE: 17,
        SESSION: 16,
        MESSAGE_DRIVEN: 15.5,
        ENTITY: 14.5,
    },
}
