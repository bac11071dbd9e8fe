"""TCP and WebSocket: several clients, each with a server of its own, and nobody who was not asked in."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.lsp_client import (
    LspClient,
    ResponseError,
    StreamLink,
    server_environment,
    settings_of,
    start_server,
)
from tests.support.lsp_profiles import VSCODE

TOKEN = "a-long-random-secret"


class SocketLink:
    """Messages over a WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, message: dict[str, Any]) -> None:
        await self._socket.send(json.dumps(message))

    async def receive(self) -> dict[str, Any] | None:
        try:
            text = await self._socket.recv()
        except ConnectionClosed:
            return None
        assert isinstance(text, str)
        message: dict[str, Any] = json.loads(text)
        return message

    async def close(self) -> None:
        await self._socket.close()


@asynccontextmanager
async def serving(home: Path, kind: str, *arguments: str) -> AsyncIterator[int]:
    """The port of a server that listens."""
    environment = server_environment(home)
    process = await start_server("serve", f"--{kind}", "127.0.0.1:0", *arguments, env=environment, cwd=home)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(20):
            line = (await process.stderr.readline()).decode()
        assert f"{kind}://127.0.0.1:" in line, line + (await process.stderr.read()).decode()
        yield int(line.rsplit(":", 1)[1])
    finally:
        process.terminate()
        try:
            async with asyncio.timeout(8):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()
            raise


@asynccontextmanager
async def over_tcp(port: int, folder: Path) -> AsyncIterator[LspClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = LspClient(StreamLink(reader, writer), VSCODE, folder)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def over_ws(port: int, folder: Path, path: str = "/", **more: Any) -> AsyncIterator[LspClient]:
    async with connect(f"ws://127.0.0.1:{port}{path}", **more) as socket:
        client = LspClient(SocketLink(socket), VSCODE, folder)
        try:
            yield client
        finally:
            await client.close()


def options(home: Path, name: str, script: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (home / name).mkdir(exist_ok=True)
    return settings_of(home / name, script, warmUp=False)


async def asks(client: LspClient) -> Any:
    run = await client.command("magent.prompt", prompt="who are you?")
    return (await client.finished(run["runId"]))["text"]


@pytest.mark.parametrize("kind", ["tcp", "ws"])
async def test_clients_at_the_same_time_and_in_turn_know_nothing_of_each_other(
    tmp_path: Path, kind: str
) -> None:
    join = over_tcp if kind == "tcp" else over_ws
    script = [{"text": "never", "first_delay": 60}]
    async with serving(tmp_path, kind) as port:
        async with join(port, tmp_path) as one:
            await one.initialize(magent=options(tmp_path, "one", script))
            slow = await one.command("magent.prompt", prompt="wait")
            async with join(port, tmp_path) as two:
                await two.initialize(magent=options(tmp_path, "two", [{"text": "two"}]))
                assert await asks(two) == "two"
                assert (await two.command("magent.status"))["runs"] == []
                assert await two.command("magent.cancel") == {"cancelled": []}
                with pytest.raises(ResponseError):
                    await two.request("magent/wait", {"runId": slow["runId"]})
                await two.shutdown()
            assert [run["runId"] for run in (await one.command("magent.status"))["runs"]] == [slow["runId"]]
        async with join(port, tmp_path) as three:
            await three.initialize(magent=options(tmp_path, "three", [{"text": "three"}]))
            assert await asks(three) == "three"


async def test_tcp_with_a_token_admits_only_those_who_have_it(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN}\n")
    async with serving(tmp_path, "tcp", "--token-file", str(secret)) as port:
        for magent in (None, {"token": "wrong"}, {"token": ""}, {"token": 5}):
            async with over_tcp(port, tmp_path) as client:
                with pytest.raises((ResponseError, ConnectionError)) as refused:
                    await client.initialize(magent=magent)
                assert "token" in str(refused.value)
                async with asyncio.timeout(20):
                    await client.closed.wait()
        async with over_tcp(port, tmp_path) as client:
            with pytest.raises((ResponseError, ConnectionError)):
                await client.command("magent.status")
            async with asyncio.timeout(20):
                await client.closed.wait()
        async with over_tcp(port, tmp_path) as client:
            await client.initialize(magent={**options(tmp_path, "in", [{"text": "welcome"}]), "token": TOKEN})
            assert await asks(client) == "welcome"


async def test_ws_with_a_token_admits_only_those_who_have_it(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text(TOKEN)
    ways: list[tuple[str, dict[str, Any]]] = [
        ("/", {"additional_headers": {"Authorization": f"Bearer {TOKEN}"}}),
        (f"/?token={TOKEN}", {}),
        (f"/?token={TOKEN}", {"origin": "https://editor.example"}),
    ]
    async with serving(tmp_path, "ws", "--token-file", str(secret)) as port:
        for path, more in (
            ("/", {}),
            ("/?token=wrong", {}),
            ("/", {"additional_headers": {"Authorization": "Bearer x"}}),
        ):
            with pytest.raises(InvalidStatus) as refused:
                async with over_ws(port, tmp_path, path, **more):
                    pass
            assert refused.value.response.status_code == 401
        for number, (path, more) in enumerate(ways):
            async with over_ws(port, tmp_path, path, **more) as client:
                await client.initialize(magent=options(tmp_path, f"in{number}", [{"text": "welcome"}]))
                assert await asks(client) == "welcome"


async def test_a_web_page_cannot_connect_without_a_token(tmp_path: Path) -> None:
    async with serving(tmp_path, "ws") as port:
        with pytest.raises(InvalidStatus) as refused:
            async with over_ws(port, tmp_path, origin="https://evil.example"):
                pass
        assert refused.value.response.status_code == 403
    async with serving(tmp_path, "tcp") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        params = {"processId": None, "rootUri": None, "capabilities": {}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("kind", ["tcp", "ws"])
async def test_other_machines_need_a_token(tmp_path: Path, kind: str) -> None:
    environment = server_environment(tmp_path)
    process = await start_server("serve", f"--{kind}", "0.0.0.0:0", env=environment, cwd=tmp_path)
    _, stderr = await process.communicate()
    assert process.returncode == 1
    assert b"--token-file" in stderr
    assert b"Traceback" not in stderr


async def test_an_empty_token_file_is_no_token(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("\n")
    arguments = ("serve", "--tcp", "127.0.0.1:0", "--token-file", str(secret))
    process = await start_server(*arguments, env=server_environment(tmp_path), cwd=tmp_path)
    _, stderr = await process.communicate()
    assert process.returncode == 1
    assert b"empty" in stderr
