"""Stock quotes: many small, flat messages, and many subscriptions by value."""
