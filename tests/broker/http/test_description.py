"""The OpenAPI description says what the routes do."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from extract.broker.http.app import ROUTES
from extract.broker.http.description import description

_OPEN = {("GET", "/openapi.json"), ("GET", "/"), ("GET", "/static/{path:path}")}


def test_every_route_is_described() -> None:
    described = {
        (method.upper(), path)
        for path, methods in description()["paths"].items()
        for method in methods
        if method != "parameters"
    }
    routes = {(method, path) for method, path, _ in ROUTES} - _OPEN
    assert routes <= described, routes - described


def test_all_references_lead_somewhere_and_schemas_are_schemas() -> None:
    whole = json.loads(json.dumps(description()))
    models = whole["components"]["schemas"]

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if "$ref" in value else []
            return own + [one for inner in value.values() for one in references(inner)]
        if isinstance(value, list):
            return [one for inner in value for one in references(inner)]
        return []

    names = {one.rpartition("/")[2] for one in references(whole)}
    assert names <= models.keys()
    for model in models.values():
        Draft202012Validator.check_schema(model)
