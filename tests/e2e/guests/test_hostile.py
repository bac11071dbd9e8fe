"""What stands at the door need not be `magent-lsp mcp`: it harms nobody, however it behaves."""

import asyncio
import json
import random
import socket
import stat
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from magent_lsp.mcp.doors import Door
from magent_lsp.mcp.frames import frames, pack
from tests.support.guest import SERVED, door, ended, guest, holds
from tests.support.lsp_client import EVENTS, NO_ANSWER, LspClient, editor


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[LspClient]:
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files=files) as client:
        client.open("a.py")
        yield client


class Raw:
    """A connection to a door, for saying whatever one likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.messages = frames(reader, lambda: 100_000_000)

    def say(self, kind: str, **fields: Any) -> None:
        self.writer.write(pack(kind, **fields))

    async def hear(self) -> Any:
        """The next message; None at the end."""
        async with asyncio.timeout(20):
            return await anext(self.messages, None)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(20):
            try:
                while await self.reader.read(65_536):
                    pass
            except ConnectionError:
                pass
        self.writer.close()
        return True


class Crowd:
    """Those who stand at the door of a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.all: list[Raw] = []

    async def at(self, door: Door) -> Raw:
        """One who has only knocked."""
        where = asyncio.open_connection("127.0.0.1", door.port)
        if door.path is not None:
            where.close()
            where = asyncio.open_unix_connection(door.path)
        self.all.append(Raw(*await where))
        return self.all[-1]

    async def inside(self, door: Door) -> Raw:
        """One who was let in."""
        raw = await self.at(door)
        place = str(self.home / "ws")
        raw.say("hello", protocol=1, version="0", token=door.token, name="raw", place=place)
        assert (await raw.hear())["kind"] == "welcome"
        return raw


@pytest_asyncio.fixture
async def crowd(tmp_path: Path) -> AsyncIterator[Crowd]:
    crowd = Crowd(tmp_path)
    yield crowd
    for each in crowd.all:
        each.writer.close()


async def is_well(client: LspClient, crowd: Crowd) -> None:
    """The editor is served as ever, and a guest too."""
    async with asyncio.timeout(10):
        await client.command("magent.status")
    raw = await crowd.inside(await door(crowd.home))
    raw.say("call", id=1, name="read_file", arguments={"path": "a.py"})
    assert "x = 1" in (await raw.hear())["text"]
    raw.writer.close()


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


GARBAGE = {
    "nothing": b"",
    "http": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    "lsp": b"Content-Length: 2\r\n\r\n{}",
    "huge": struct.pack(">I", 0xFFFFFFFF) + b"x" * 100,
    "no JSON": frame(b"{"),
    "no object": frame(b"[1]"),
    "deep": frame(b"[" * 3_000),
    "no Unicode": frame(b'{"kind": "\xff\xfe"}'),
    "no hello": frame(b'{"kind": "call", "id": 1, "name": "read_file", "arguments": {"path": "a.py"}}'),
    "no token": frame(b'{"kind": "hello", "protocol": 1, "place": "/"}'),
    "half": struct.pack(">I", 1_000) + b"{",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_before_the_hello(
    client: LspClient, tmp_path: Path, crowd: Crowd, garbage: bytes
) -> None:
    raw = await crowd.at(await door(tmp_path))
    raw.writer.write(garbage)
    raw.writer.write_eof()
    assert await raw.is_closed()
    await is_well(client, crowd)
    await client.until(lambda: client.events)  # on another way than the guest's
    await client.command("magent.status")
    assert len({each["runId"] for each in client.events}) == 1, "that of the check itself"


async def test_who_is_not_let_in_is_told_why(client: LspClient, tmp_path: Path, crowd: Crowd) -> None:
    found = await door(tmp_path)
    good = {"protocol": 1, "version": "9.9", "token": found.token, "name": "x", "place": str(tmp_path / "ws")}
    for change, words in (
        ({"token": "wrong"}, "The token is wrong."),
        ({"token": "\ud800"}, "The token is wrong."),
        ({"protocol": 2}, "and this is 9.9, which speaks another version of the protocol"),
        ({"place": str(tmp_path)}, "No workspace folder of the editor holds"),
        ({"place": "\0"}, "No workspace folder of the editor holds"),
        ({"place": "\ud800"}, "No workspace folder of the editor holds"),
        ({"place": "x" * 5_000}, "more than the 4,000 that are taken"),
    ):
        raw = await crowd.at(found)
        raw.say("hello", **{**good, **change})
        answer = await raw.hear()
        assert (answer["kind"], words in answer["why"]) == ("refused", True), answer
        assert await raw.is_closed()


async def test_the_door_is_for_its_owner_alone(client: LspClient, tmp_path: Path) -> None:
    found = await door(tmp_path)
    assert found.path is not None
    folder = found.path.parent
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {".sock": 0o600, ".json": 0o600})


INSIDE = {
    "no id": frame(b'{"kind": "call", "name": "read_file"}'),
    "an odd id": frame(b'{"kind": "call", "id": true, "name": "read_file"}'),
    "garbage": frame(b"nonsense"),
    "huge": struct.pack(">I", 4_000_001),
    "the same id twice": pack("call", id=7, name="edit_file", arguments={"path": "a.py"}) * 2,
}


@pytest.mark.parametrize("garbage", INSIDE.values(), ids=INSIDE)
async def test_garbage_of_one_who_was_let_in(
    client: LspClient, tmp_path: Path, crowd: Crowd, garbage: bytes
) -> None:
    raw = await crowd.inside(await door(tmp_path))
    raw.writer.write(garbage)
    while (answer := await raw.hear()) is not None and answer["kind"] != "refused":
        assert answer["kind"] == "result"
    assert answer is not None
    assert await raw.is_closed()
    await is_well(client, crowd)


async def test_odd_arguments_are_answered_and_unknown_messages_are_not(
    client: LspClient, tmp_path: Path, crowd: Crowd
) -> None:
    client.always = "Allow once"
    raw = await crowd.inside(await door(tmp_path))
    raw.say("sing", id=1)
    raw.say("cancel", id=99)
    for number, (name, arguments) in enumerate(
        (
            ("read_file", None),
            ("read_file", [1]),
            ("read_file", "a.py"),
            ("read_file", {"path": {"a": 1}}),
            ("read_file", {"path": "\ud83d"}),
            ("", {}),
            ("/clear", {}),
            ("x" * 100_000, {}),
            (None, {}),
            ({"a": []}, {}),
            ("read_file", {"path": "a.py", "deep": json.loads("[" * 400 + "]" * 400)}),
        ),
        10,
    ):
        raw.say("call", id=number, name=name, arguments=arguments)
        while (answer := await raw.hear())["kind"] == "waiting":
            continue
        assert (answer["id"], answer["failed"]) == (number, True), answer
        assert len(answer["text"]) < 2_000
    raw.writer.close()
    await client.until(lambda: ended(client))
    assert [each["stopReason"] for each in ended(client)] == ["end_turn"]


async def test_names_are_made_harmless(client: LspClient, tmp_path: Path, crowd: Crowd) -> None:
    found = await door(tmp_path)
    for name, shown in (
        ("/clear", "clear"),
        ("Claude\n\x1b[31m<b>Code</b>\u202e", "Claude31mbCode/b"),
        ("x" * 500, "x" * 40),
        ("\u200b", "another agent"),
        (17, "another agent"),
    ):
        raw = await crowd.at(found)
        raw.say("hello", protocol=1, version="0", token=found.token, name=name, place=str(tmp_path / "ws"))
        await raw.hear()
        raw.say("call", id=1, name="read_file", arguments={"path": "a.py"})
        await raw.hear()
        await client.until(
            lambda wanted=f"{shown}: Read a.py": wanted in [e["event"].get("prompt") for e in client.events]
        )
        raw.writer.close()


async def test_too_many_calls_at_once_are_refused_one_by_one(
    client: LspClient, tmp_path: Path, crowd: Crowd
) -> None:
    client.always = lambda params: NO_ANSWER
    raw = await crowd.inside(await door(tmp_path))
    for number in range(20):
        edit = {"path": "a.py", "old_string": "x = 1", "new_string": f"x = {number + 5}"}
        raw.say("call", id=number, name="edit_file", arguments=edit)
    refused = []
    while len(refused) < 4:
        if (answer := await raw.hear())["kind"] == "result":
            refused.append(answer)
    assert all("16 calls at a time" in each["text"] for each in refused)
    raw.say("cancel", id=0)
    raw.writer.close()
    await client.until(lambda: ended(client))
    assert await client.command("magent.pending") == []
    assert next(iter(client.buffers.values())).text == "x = 1\n"


async def test_one_who_never_reads_is_let_go_and_holds_nothing_up(
    client: LspClient, tmp_path: Path, crowd: Crowd
) -> None:
    (tmp_path / "ws/p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(3_000_000))
    await is_well(client, crowd)
    open_files = files_of(client)
    before = len(list(open_files.iterdir()))
    raw = await crowd.inside(await door(tmp_path))
    transport = raw.writer.transport
    assert isinstance(transport, asyncio.ReadTransport)
    transport.pause_reading()
    for number in range(12):
        raw.say("call", id=number, name="read_file", arguments={"path": "p.png"})
    await client.until(lambda: ended(client))
    await holds(lambda: len(list(open_files.iterdir())) <= before)
    await is_well(client, crowd)


def files_of(client: LspClient) -> Path:
    """What the server has open."""
    assert client.process is not None
    return Path(f"/proc/{client.process.pid}/fd")


async def test_thousands_of_connections(client: LspClient, tmp_path: Path, crowd: Crowd) -> None:
    found = await door(tmp_path)
    fds = files_of(client)
    before = len(list(fds.iterdir()))
    told = 0
    for _ in range(50):
        links = []
        for _ in range(40):
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(10)
            link.connect(str(found.path))
            links.append(link)
        await client.command("magent.status")
        for link in links:
            link.setblocking(False)
            with suppress(BlockingIOError):
                told += b"the most" in link.recv(1_000)
            link.close()
    assert told > 300
    await holds(lambda: len(list(fds.iterdir())) <= before)
    await is_well(client, crowd)


async def test_one_who_hangs_up_in_the_middle_of_a_call(
    client: LspClient, tmp_path: Path, crowd: Crowd
) -> None:
    client.always = lambda params: NO_ANSWER
    found = await door(tmp_path)
    for count in range(1, 4):
        raw = await crowd.inside(found)
        edit = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 5"}
        raw.say("call", id=1, name="edit_file", arguments=edit)
        assert (await raw.hear())["kind"] == "waiting"
        raw.writer.transport.abort()
        await client.until(lambda count=count: len(ended(client)) == count)
        assert await client.command("magent.pending") == []
    await is_well(client, crowd)


async def test_a_note_that_lies_is_passed_over(client: LspClient, tmp_path: Path) -> None:
    found = await door(tmp_path)
    assert found.path is not None
    good = json.loads(found.path.with_suffix(".json").read_text())
    folder = found.path.parent
    newest = time.time() + 1_000
    lies: dict[str, Any] = {
        "a": {**good, "socket": str(folder / "none.sock"), "opened": newest},
        "b": {**good, "protocol": 99, "version": "99", "opened": newest},
        "c": {**good, "token": "wrong", "opened": newest},
        "d": {"pid": "x"},
        "e": [],
        "f": {**good, "pid": 2**40, "opened": newest},
    }
    for name, lie in lies.items():
        (folder / f"{name}.json").write_text(json.dumps(lie))
    (folder / "g.json").write_text('{"pid":')
    async with guest(tmp_path) as agent:
        assert "x = 1" in (await agent.use("read_file", path="a.py")).text


async def test_another_version_is_said_in_words(tmp_path: Path) -> None:
    async with editor(tmp_path, settings=SERVED):
        found = await door(tmp_path)
        assert found.path is not None
        note = found.path.with_suffix(".json")
        note.write_text(json.dumps({**json.loads(note.read_text()), "protocol": 99, "version": "99.0"}))
        async with guest(tmp_path) as agent:
            text = (await agent.use("list_dir")).text
        assert "is magent-lsp 99.0, and this is" in text
        assert "install the same one for both" in text


async def test_a_long_way_to_the_state_folder_takes_a_port_of_this_machine(
    tmp_path: Path, crowd: Crowd
) -> None:
    """Paths of sockets are short everywhere, and Windows has none: a token in the note guards the port."""
    state = {"MAGENT_STATE_DIR": str(tmp_path / ("long" * 20) / "state")}
    async with editor(tmp_path, settings=SERVED, files={"a.py": "x = 1\n"}, environment=state):
        found = await door(tmp_path / ("long" * 20))
        assert (found.path, found.port is not None) == (None, True)
        async with guest(tmp_path, environment=state) as agent:
            assert "x = 1" in (await agent.use("read_file", path="a.py")).text
        raw = await crowd.at(found)
        raw.say("hello", protocol=1, version="0", token="", name="x", place=str(tmp_path / "ws"))
        assert (await raw.hear())["why"] == "The token is wrong."


WISHES: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "a.py"}),
    ("edit_file", {"path": "a.py", "old_string": "x = 1", "new_string": "x  = 1"}),
    ("write_file", {"path": "new.txt", "content": "new\n"}),
    ("grep", {"pattern": "x"}),
    ("ask_user", {"question": "Which?"}),
    ("nope", {}),
]


async def stay(client: LspClient, raw: Raw, luck: random.Random) -> None:
    """Calls, some taken back, while the person answers as they like; then the end, in one of three ways."""
    answers: Counter[int] = Counter()

    async def read() -> None:
        with suppress(ConnectionError):
            async for message in raw.messages:
                answers.update([message["id"]] if message["kind"] == "result" else [])

    reading = asyncio.create_task(read())
    numbers = range(1, luck.randrange(4, 16))
    taken_back = set()
    for number in numbers:
        name, arguments = luck.choice(WISHES)
        raw.say("call", id=number, name=name, arguments=arguments)
        if luck.random() < 0.2:
            taken_back.add(back := luck.randrange(1, number + 1))
            raw.say("cancel", id=back)
        if luck.random() < 0.1:
            await client.command("magent.cancel")
        if luck.random() < 0.1:  # what was not begun is done in another run
            settings = {"magent": {**SERVED, "maxTurns": luck.randrange(1, 1_000)}}
            client.notify("workspace/didChangeConfiguration", {"settings": settings})
    how = luck.choice(("answered", "close", "abort"))
    if how == "answered":
        async with asyncio.timeout(60):
            while not all(number in answers or number in taken_back for number in numbers):
                for request in await client.command("magent.pending"):
                    reply = luck.choice(("allow_once", "reject"))
                    await client.command("magent.respond", requestId=request["requestId"], reply=reply)
    if how == "abort":
        raw.writer.transport.abort()
    raw.writer.close()
    await asyncio.wait([reading])
    assert set(answers.values()) <= {1}, "each call has one answer at most"


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_they_do_every_call_is_answered_once_and_every_run_ends(
    tmp_path: Path, crowd: Crowd, seed: int
) -> None:
    luck = random.Random(seed)
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, settings=SERVED, client={**EVENTS, "input": True}, files=files) as client:
        found = await door(tmp_path)
        client.open("a.py")
        client.always = lambda params: luck.choice((NO_ANSWER, None, {"title": "Allow once"}))
        client.on["magent/input"] = lambda params: luck.choice(({"value": "this"}, None))

        async def one() -> None:
            for _ in range(4):
                await stay(client, await crowd.inside(found), luck)

        await asyncio.gather(one(), one(), one())
        async with asyncio.timeout(30):
            while (status := await client.command("magent.status"))["runs"]:
                continue
        assert status["pending"] == []
        await client.until(lambda: len(ended(client)) == len({each["runId"] for each in client.events}))
        assert all(line[-1]["kind"] == "end" for line in client.progress.values())
