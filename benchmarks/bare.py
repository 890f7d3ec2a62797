"""The yardstick of `memory_status`: one JSON route of Starlette under uvicorn, as `archivist serve` runs it."""

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def status(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    app = Starlette(routes=[Route("/status", status)])
    config = uvicorn.Config(
        app, lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
