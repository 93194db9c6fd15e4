"""Webhooks: notifications that are posted to where a subscription wants them.

In: notifications that are committed. Out: signed requests; dead letters.

Usage:
    `extract.broker.delivery.webhooks` delivers, `caller` makes one call, `addresses` says where it
    may go, `signatures` signs it.

Always holds:
    A subscription's notifications are posted in their order, each at least once. The address that
    was checked is the one that is connected to.

To add another way of delivery: a module beside `webhooks`, woken by `extract.broker.broker`.
"""
