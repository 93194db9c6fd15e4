"""Webhooks: addresses that are checked, signatures, retries, dead letters."""
