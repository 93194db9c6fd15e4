"""The HTTP surface: routes, bodies, and who may call what.

In: requests. Out: answers in JSON, events, figures.

Usage:
    `create_app` in `app` makes the ASGI application of a broker; `app` lists the routes, and one
    module beside it answers for each kind of thing. `description` is the OpenAPI description.

Always holds:
    A client that may not see something gets the same answer as if it were not there. An error is a
    `Problem`, with a reason; nothing that a client sends is answered with 500.

To add a request: a function in the module of its subject, a row in `app.ROUTES`, and its
description.
"""
