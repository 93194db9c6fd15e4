"""The address of a feed: the URL of its broker, and its name."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit

_FEEDS = "/feeds/"


def divided(url: str) -> tuple[str, str]:
    """The URL of the broker, and the feed that it names; empty if it names none.

    >>> divided("http://127.0.0.1:8080/feeds/stock")
    ('http://127.0.0.1:8080', 'stock')
    >>> divided("https://host/broker/")
    ('https://host/broker/', '')
    """
    parts = urlsplit(url)
    path, found, feed = parts.path.rstrip("/").rpartition(_FEEDS)
    if not found or "/" in feed:
        return url, ""
    return urlunsplit(parts._replace(path=path)), unquote(feed)


def is_feed(place: object) -> bool:
    """Whether something is the URL of a feed.

    >>> is_feed("http://127.0.0.1:8080/feeds/stock"), is_feed("docs/feeds/stock")
    (True, False)
    """
    text = str(place)
    return text.startswith(("http://", "https://")) and divided(text)[1] != ""
