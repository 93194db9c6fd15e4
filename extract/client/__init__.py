"""A client of a broker: subscriptions, documents and notifications over HTTP.

Usage:
    ``extract.Client("http://127.0.0.1:8080")``; on the command line ``extract subs --url URL``.

Which module:
    `client` is the interface; `answers` has the values that it returns; `transport` sends requests,
    again where that is safe, and turns refusals into errors; `events` reads server-sent events;
    `token` finds the token; `bodies` writes subscriptions and documents as the broker reads them.

Always holds:
    A request is sent again only if that is harmless: each POST of documents has an
    ``Idempotency-Key`` of its own. The token goes into a header, never into a URL, and never to
    another host: redirects are not followed, and proxies of the environment are not used. What the
    broker refuses is an `extract.ExtractError` with its reason and hint.

To add a call of the broker:
    A method of `client.Client`, and a value in `answers` if it returns one.
"""
