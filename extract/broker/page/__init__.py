"""The page of the broker, at ``/``: its files, and the questions that only the page asks.

Usage:
    `extract.broker.page.routes.PAGE_ROUTES` are the routes; the application adds them to its own.

Which module:
    `files` has what is in ``assets``, ready to be sent; `explain` says what a query looks at, and
    draws it; `attempt` tries one on a pasted document; `latest` reads what happened lately;
    `handlers` has all of this behind HTTP, `bodies` in JSON.

Always holds:
    The page is made of files of this package: it needs no network. No script and no style is
    inline, and the content security policy says so. What strangers sent is shown as text, never as
    markup; the explain picture is an image, which can neither run nor load anything. The token is
    in the memory of the page: no cookie, no storage, no URL.

To add a view:
    A module in ``assets/views``, listed in ``assets/main.js``.
"""
