"""``extract serve``: the broker."""

from __future__ import annotations

import contextlib
import tempfile
from importlib.util import find_spec

import click

from extract.errors import ExtractError

_NEEDED = ("starlette", "uvicorn", "msgspec", "prometheus_client", "httpcore", "python_multipart")


@click.command()
@click.option("--store", metavar="DIR|URL", help="Where everything is kept.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
@click.option("--token-file", type=click.Path(), help="Who may do what; needed beyond loopback.")
@click.option("--max-delay-ms", default=2.0, show_default=True, type=click.FloatRange(0, 60_000))
@click.option(
    "--demo",
    is_flag=True,
    help="With a feed that ticks and subscriptions to it; without --store nothing is kept.",
)
def serve(
    store: str | None,
    host: str,
    port: int,
    token_file: str | None,
    max_delay_ms: float,
    demo: bool,
) -> None:
    """Run a broker: subscriptions and documents in, notifications out, over HTTP.

    A page at / shows what happens; /openapi.json describes the interface.

    \b
    Example:
      extract serve --store broker
      extract serve --demo
    """
    if store is None and not demo:
        raise click.UsageError("Say with --store where to keep everything, or try --demo.")
    if demo and token_file:
        raise click.UsageError("--demo is for this machine alone: leave --token-file out.")
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
    url = f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}"
    with contextlib.ExitStack() as stack:
        if store is None:
            store = stack.enter_context(tempfile.TemporaryDirectory(prefix="extract-demo-"))
        broker = Broker(Store.open(store), settings)
        click.echo(f"Serving on {url}", err=True)
        if demo:
            from extract.broker.demo import Ticker

            click.echo(f"Look at {url}/ in a browser; Ctrl-C ends it.", err=True)
            stack.enter_context(contextlib.closing(Ticker(url)))
        run(broker, tokens, [opened])
