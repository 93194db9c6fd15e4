"""The store: feeds, subscriptions, documents, notifications, on disk.

In: `extract.broker.store.rows` values, inside of a transaction. Out: the same, also after a crash.

Which to use:
    `open_store` opens a directory (SQLite) or a ``postgresql://`` URL; both have one interface,
    `extract.broker.store.store.BrokerStore`, and one set of statements. What is different is in
    `sqlite_database` and `postgres_database`.

Always holds:
    One process writes (a lock), one thread at a time. A transaction that was committed is synced.

To add a table: `tables`, with a step of migration; its statements in a module of their own.
"""
