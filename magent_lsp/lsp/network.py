"""Many clients on a TCP or WebSocket port, each with a server of its own.

A token file holds a secret that clients must give: over TCP as `initializationOptions.magent.token`, over
WebSocket as `Authorization: Bearer TOKEN` or `?token=TOKEN`. Without one only this machine may connect, and
over WebSocket no web page may.
"""

import asyncio
import hmac
import ipaddress
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from magent_lsp.core.errors import UserError
from magent_lsp.core.home import expanded
from magent_lsp.event_loop import finish
from magent_lsp.lsp.stdio import on_signals
from magent_lsp.lsp.transport import MAX_FRAME, SocketWriter, frames
from magent_lsp.lsp.wire import plain_converter

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    from magent_lsp.lsp.server import MagentServer

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 5
"""How long open connections may take to end their runs after a signal."""

STRANGERS_FRAME = 1_000_000
"""Bytes that somebody who owes us a token may send in one message."""

INITIALIZE_SECONDS = 30
"""A TCP client that owes us a token and says nothing is let go after this."""

Make = Callable[..., "MagentServer"]


def run_tcp(host: str, port: int, token_file: Path | None, make: Make) -> int:
    """Serve TCP clients until a signal comes; returns the exit code."""
    token = admission(host, token_file)
    return finish(_tcp(host, port, token, make))


def run_ws(host: str, port: int, token_file: Path | None, make: Make) -> int:
    """Serve WebSocket clients until a signal comes; returns the exit code."""
    token = admission(host, token_file)
    return finish(_ws(host, port, token, make))


def admission(host: str, token_file: Path | None) -> str | None:
    """The token that clients must give; UserError if there should be one and is none."""
    if token_file is not None:
        try:
            token = expanded(token_file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise UserError(f"The token file {str(token_file)!r} cannot be read: {error}") from None
        if not token:
            raise UserError(
                f"The token file {str(token_file)!r} is empty: write a long random secret into it."
            )
        return token
    if not is_loopback(host):
        raise UserError(
            f"{host!r} can be reached from other machines: give --token-file with a secret, or use 127.0.0.1."
        )
    return None


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine only."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(item[4][0]).is_loopback for item in found)


class Connections:
    """The clients that are connected now."""

    def __init__(self) -> None:
        self._servers: dict[MagentServer, asyncio.Task[Any]] = {}

    async def hold(self, server: "MagentServer", messages: AsyncIterator[bytes | str]) -> None:
        """Serve one client to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._servers[server] = task
        try:
            await server.converse(messages)
        finally:
            del self._servers[server]

    async def close(self) -> None:
        """End all connections, bounded."""
        tasks = list(self._servers.values())
        for server in list(self._servers):
            server.disconnect()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)


async def _tcp(host: str, port: int, token: str | None, make: Make) -> int:
    connections, converter = Connections(), plain_converter()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = make(token=token, converter=converter)
        server.protocol.set_writer(writer)

        def most() -> int:
            return MAX_FRAME if server.admitted else STRANGERS_FRAME

        timer = asyncio.get_running_loop().call_later(INITIALIZE_SECONDS, _let_go, server)
        try:
            await connections.hold(server, frames(reader, most))
        finally:
            timer.cancel()
            writer.close()

    listener = await asyncio.start_server(serve, host, port)
    _announce("tcp", listener.sockets)
    try:
        return await _until_signal()
    finally:
        listener.close()
        await connections.close()


def _let_go(server: "MagentServer") -> None:
    if not server.admitted:
        server.disconnect()


async def _ws(host: str, port: int, token: str | None, make: Make) -> int:
    from websockets.asyncio.server import serve

    connections, converter = Connections(), plain_converter()

    async def talk(connection: "ServerConnection") -> None:
        server = make(converter=converter)
        writer = SocketWriter(connection)
        server.protocol.set_writer(writer, include_headers=False)
        sending = asyncio.create_task(writer.run(), name="send")
        try:
            await connections.hold(server, _socket_messages(connection))
        finally:
            writer.close()
            await asyncio.wait([sending], timeout=1)
            sending.cancel()

    def admit(connection: "ServerConnection", request: "Request") -> "Response | None":
        refusal = refuse(request.headers, request.path, token)
        return connection.respond(refusal, f"{refusal.phrase}\n") if refusal is not None else None

    async with serve(talk, host, port, process_request=admit, max_size=MAX_FRAME) as listener:
        _announce("ws", listener.sockets)
        try:
            return await _until_signal()
        finally:
            await connections.close()


def refuse(headers: Any, path: str, token: str | None) -> HTTPStatus | None:
    """Why a WebSocket handshake is not accepted, or None."""
    if token is None:
        # Browsers always say which page they come from, and let any page connect to this machine.
        return HTTPStatus.FORBIDDEN if headers.get("Origin") else None
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        given = next(iter(parse_qs(urlsplit(path).query).get("token", [])), "")
    good = hmac.compare_digest(given.strip().encode(), token.encode())
    return None if good else HTTPStatus.UNAUTHORIZED


async def _socket_messages(connection: "ServerConnection") -> AsyncIterator[bytes | str]:
    from websockets.exceptions import ConnectionClosed

    try:
        async for message in connection:
            yield message
    except ConnectionClosed:
        return


def _announce(kind: str, sockets: Any) -> None:
    for each in sockets:
        host, port = each.getsockname()[:2]
        # On stderr, for those who start us with port 0 and for people.
        print(
            f"magent-lsp listens on {kind}://{f'[{host}]' if ':' in host else host}:{port}",
            file=sys.stderr,
            flush=True,
        )


async def _until_signal() -> int:
    stop = asyncio.Event()
    received = on_signals(stop.set)
    await stop.wait()
    return 0 if received else 1
