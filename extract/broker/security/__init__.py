"""Who may do what: tokens with roles and feeds, limits of a client, names of the host.

In: a request's headers. Out: its client, or a `Problem`.

Usage:
    `access` looks at every request before it is answered; `tokens` reads the file of clients;
    `rates` counts what a client does.

Always holds:
    What a client may not see looks as if it were not there (404). A token is compared in constant
    time, and is never in a URL, a cookie or a log.

To add a limit: a field of `extract.broker.settings.BrokerLimits`, and a test of it.
"""
