"""The broker: a service around the matching (``extract serve``).

In: feeds, subscriptions and documents over HTTP. Out: notifications, by long poll, server-sent
events and webhooks. `extract.broker.broker` puts the parts together:

    HTTP ──► Journal ──► store            one thread writes, many requests share one sync
                │ what is committed
                ▼
             MatchingThread ──► Journal          batches of what has arrived, by `extract.Filter`
                            │ what is committed
                            ▼
                         readers: long polls, event streams, webhooks

Usage:
    ``extract serve --store DIR``; from Python, `extract.broker.broker.Broker` with the application
    of `extract.broker.http.app`.

Always holds:
    What was answered with 2xx is committed and synced. A notification has its number, and is
    visible, only when it is committed. Numbers of a subscription rise and are never used again.

To add a kind of subscription: `extract.broker.bodies`, `extract.broker.queries`.
To add a table: `extract.broker.store.tables`, with a step of migration.
"""
