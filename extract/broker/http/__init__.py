"""The HTTP surface: routes, bodies, and who may call what.

`app` has the routes and what holds for all requests, one module beside it for each kind of thing.
`description` is the OpenAPI description of all of them.
"""
