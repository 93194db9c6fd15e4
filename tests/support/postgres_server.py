"""A PostgreSQL server of the tests' own: in a temporary directory, on a socket there, no network.

The programs are those of the PyPI package ``pgserver``, else those of the system. The server
refuses to run as root, so root starts it as ``postgres`` or ``nobody``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_SYSTEM: Final = Path("/usr/lib/postgresql")  # where Debian puts versions side by side
_SECONDS: Final = 60
# Only an outage of the machine would matter to what is not synchronised.
_SETTINGS: Final = ("listen_addresses=", "fsync=off", "synchronous_commit=off")


class NoServer(Exception):
    """No PostgreSQL server can be started here, and why."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server that is running.

    Attributes:
        folder: Its directory, with the socket.
        process: Its process.
    """

    folder: Path
    process: subprocess.Popen[bytes]

    def url(self, schema: str = "", database: str = "postgres", user: str = "postgres") -> str:
        """The URL of a scheme on this server."""
        query = f"host={self.folder}" + (f"&schema={schema}" if schema else "")
        return f"postgresql://{user}@/{database}?{query}"

    def connect(self, database: str = "postgres") -> Any:
        """A connection for the test itself, which commits every statement."""
        import psycopg

        return psycopg.connect(self.url(database=database), autocommit=True)


def _programs(account: str | None, folder: Path) -> Path:
    """The directory of ``initdb`` and ``postgres``, where an account can run them.

    Args:
        account: The account; None for our own.
        folder: Takes a copy of the package's programs, where the account cannot reach these.
    """
    candidates = sorted(_SYSTEM.glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        candidates.append(Path(on_path).resolve().parent)
    package = importlib.util.find_spec("pgserver")
    if package is not None and package.origin:
        top, programs = Path(package.origin).parents[1], Path("pgserver", "pginstall", "bin")
        candidates.insert(0, top / programs)
        if not _can_run(top / programs, account):
            for part in (programs.parent, Path("pgserver.libs")):  # the latter where a wheel has it
                if (top / part).is_dir():
                    shutil.copytree(top / part, folder / part, symlinks=True)
            candidates.insert(0, folder / programs)
    for one in candidates:
        if _can_run(one, account):
            return one
    raise NoServer("neither the package pgserver nor PostgreSQL's own programs are installed")


def _can_run(folder: Path, account: str | None) -> bool:
    command = [str(folder / "postgres"), "--version"]
    try:
        done = subprocess.run(command, user=account, capture_output=True, cwd="/")
    except OSError:
        return False
    return done.returncode == 0 and (folder / "initdb").is_file()


def _account() -> str | None:
    """The account that runs the server; None for our own."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        if any(one.pw_name == name for one in pwd.getpwall()):
            return name
    raise NoServer("root may not run PostgreSQL, and there is no account postgres or nobody")


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Starts a server, and stops it at the end.

    Raises:
        NoServer: That is not possible here.
    """
    if sys.platform == "win32":
        raise NoServer("the tests start it on a Unix socket")
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="extract-pg-"))  # short: a socket's name has its limits
    try:
        data = folder / "data"
        if account is not None:
            shutil.chown(folder, account)
        programs = _programs(account, folder)
        initdb = ["initdb", "-D", str(data), "-U", "postgres", "--auth=trust", "-E", "UTF8"]
        done = subprocess.run(
            [str(programs / initdb[0]), *initdb[1:], "--locale=C", "--no-sync"],
            user=account,
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise NoServer(f"initdb failed: {done.stderr.strip()}")
        options = [part for one in _SETTINGS for part in ("-c", one)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(data), "-k", str(folder), *options],
                user=account,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        server = PostgresServer(folder, process)
        try:
            _wait(server)
            yield server
        finally:
            process.send_signal(signal.SIGINT)  # ends open connections
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: PostgresServer) -> None:
    """Waits until the server takes connections."""
    import psycopg

    until = time.monotonic() + _SECONDS
    while True:
        try:
            server.connect().close()
            return
        except psycopg.OperationalError as error:
            if server.process.poll() is not None or time.monotonic() > until:
                log = (server.folder / "log").read_text(errors="replace")
                raise NoServer(f"the server does not start: {error}\n{log}") from None
            time.sleep(0.05)
