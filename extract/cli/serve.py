"""``extract serve``: the broker."""

from __future__ import annotations

from importlib.util import find_spec

import click

from extract.errors import ExtractError

_NEEDED = ("starlette", "uvicorn", "msgspec", "prometheus_client", "httpcore", "python_multipart")


@click.command()
@click.option("--store", required=True, metavar="DIR|URL", help="Where everything is kept.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
@click.option("--token-file", type=click.Path(), help="Who may do what; needed beyond loopback.")
@click.option("--max-delay-ms", default=2.0, show_default=True, type=click.FloatRange(0, 60_000))
def serve(store: str, host: str, port: int, token_file: str | None, max_delay_ms: float) -> None:
    """Run a broker: subscriptions and documents in, notifications out, over HTTP."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        hint = "pip install 'extract-xpath[broker]'"
        raise ExtractError(f"the broker needs {', '.join(missing)}", hint)
    from extract.broker.broker import Broker
    from extract.broker.security.tokens import Tokens
    from extract.broker.server import check_address, listen
    from extract.broker.server import serve as run
    from extract.broker.settings import LOOPBACK, Settings
    from extract.broker.store.store import Store

    tokens = Tokens.load(token_file) if token_file else None
    check_address(host, tokens is not None)
    settings = Settings(max_delay_ms=max_delay_ms, allowed_hosts=(*LOOPBACK, host))
    opened = listen(host, port)
    broker = Broker(Store.open(store), settings)
    click.echo(f"Serving on http://{host}:{opened.getsockname()[1]}", err=True)
    run(broker, tokens, [opened])
