"""The least that the broker's framework can do: one route, one constant answer.

``python -m extract.bench.hello_server PORT`` serves it, as the broker is served.
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


async def hello(request: Request) -> Response:
    """The answer."""
    return JSONResponse({"hello": "world"})


def main() -> None:
    """Serves on a port of the loopback."""
    app = Starlette(routes=[Route("/hello", hello), Route("/health", hello)])
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        loop="uvloop",
        http="httptools",
    )


if __name__ == "__main__":
    main()
