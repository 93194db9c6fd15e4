"""``extract serve``: the broker."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extract.errors import ExtractError

if TYPE_CHECKING:
    from extract.broker.settings import BrokerSettings

_NEEDED = ("starlette", "uvicorn", "msgspec", "prometheus_client", "httpcore", "python_multipart")
_POSITIVE = click.FloatRange(min=0)


@click.command()
@click.option("--store", metavar="DIR|URL", help="Where everything is kept.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 for any."
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    help="Who may do what: lines of name, token, roles, feeds. Needed beyond the loopback.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which clients call this broker; again for more.",
)
@click.option(
    "--max-delay-ms",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0, 60_000),
    help="How long a document may wait for others to be matched with.",
)
@click.option(
    "--retain-hours",
    default=168.0,
    show_default=True,
    type=_POSITIVE,
    help="How long documents and notifications are kept; 0 for ever.",
)
@click.option(
    "--retain-mb",
    default=10_240.0,
    show_default=True,
    type=_POSITIVE,
    help="How many megabytes of them are kept; 0 for all.",
)
@click.option(
    "--sync/--no-sync",
    default=True,
    help="Whether an answer waits for the disk.  [default: sync]",
)
@click.option("--webhook-attempts", default=8, show_default=True, type=click.IntRange(1, 100))
@click.option(
    "--allow-private-webhooks", is_flag=True, help="Let webhooks go to private addresses."
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Another limit of what clients may do; --limit help lists them.",
)
@click.option(
    "--log", "log_format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--check", is_flag=True, help="Check options, tokens, store and schemas, and do not serve."
)
@click.option(
    "--backup",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Copy the store as it is now into a new directory, while another process serves it.",
)
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
    sync: bool,
    limits: tuple[str, ...],
    log_format: str,
    check: bool,
    backup: Path | None,
    demo: bool,
    **options: Any,
) -> int | None:
    """Run a broker: subscriptions and documents in, notifications out, over HTTP.

    A page at / shows what happens; /openapi.json describes the interface.

    \b
    Example:
      extract serve --demo
      extract serve --store broker
      extract serve --store broker --host 0.0.0.0 --token-file tokens --allowed-host alerts.example
      extract serve --store postgresql://me@host/db?schema=broker --token-file tokens
      extract serve --store broker --backup copy
    """
    _check_installed()
    from extract.broker.server import check_address, check_store, listen, serve_on
    from extract.broker.store.store import BrokerStore, database_of

    if limits == ("help",):
        click.echo(_limits_help())
        return 0
    if demo and (token_file is not None or check or backup is not None):
        raise click.UsageError("--demo goes with neither --token-file, --check nor --backup.")
    if store is None and not demo:
        raise click.UsageError("Say with --store where everything is kept, or try --demo.")
    with contextlib.ExitStack() as stack:
        if store is None:
            store = stack.enter_context(tempfile.TemporaryDirectory(prefix="extract-demo-"))
        if backup is not None:
            source = database_of(store)
            source.backup(backup)
            hint = f"serve it with --store {backup}"
            click.echo(f"{backup} is a copy of {source.name}; {hint}", err=True)
            return 0
        settings = _settings(host, limits, options)
        check_address(host, token_file is not None)
        if check:
            click.echo(json.dumps(check_store(store, settings, token_file), indent=1))
            return 0
        from extract.broker.logs import start_logs

        start_logs(log_format == "json")
        opened = stack.enter_context(contextlib.closing(listen(host, port)))
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{opened.getsockname()[1]}"
        kept = BrokerStore.open(store, sync)
        click.echo(f"extract serve: {address}, store {kept.database.name}", err=True)
        if demo:
            from extract.broker.demo import Ticker

            click.echo(f"Look at {address}/ in a browser; Ctrl-C ends the demo.", err=True)
            stack.enter_context(contextlib.closing(Ticker(address)))
        serve_on(kept, settings, token_file, [opened])
    return None


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        hint = "pip install 'extract-xpath[broker]'"
        raise ExtractError(f"extract serve needs {', '.join(missing)}", hint)


def _settings(host: str, limits: tuple[str, ...], options: Mapping[str, Any]) -> BrokerSettings:
    from extract.broker.settings import LOOPBACK, BrokerSettings, WebhookSettings, limits_from

    return BrokerSettings(
        max_delay_ms=options["max_delay_ms"],
        retain_seconds=options["retain_hours"] * 3_600,
        retain_bytes=int(options["retain_mb"] * 1_000_000),
        allowed_hosts=(*LOOPBACK, host, *options["allowed_hosts"]),
        limits=limits_from(limits),
        webhooks=WebhookSettings(
            attempts=options["webhook_attempts"],
            allow_private=options["allow_private_webhooks"],
        ),
    )


def _limits_help() -> str:
    from extract.broker.settings import BrokerLimits, limit_descriptions

    about = limit_descriptions()
    defaults = BrokerLimits()
    return "\n".join(
        f"{one.name}={getattr(defaults, one.name)}  {about[one.name]}"
        for one in fields(BrokerLimits)
    )
