"""News: small, deep, recursive messages, and 100,000 subscriptions by path."""
