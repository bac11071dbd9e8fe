"""Servers on standard input and output, as they are in the wild: odd, slow, broken, too many."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from magent_lsp.core.errors import ToolError
from tests.mcp.conftest import House, odd


async def test_a_tool_is_listed_and_called(house: House) -> None:
    tools = await house.tools(my=odd())
    assert list(tools) == sorted(tools)
    assert tools["mcp__my__look"].kind == "read"
    assert tools["mcp__my__echo"].kind == "other"
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi"
    assert house.told == []
    assert "7 tools" in house.standing["my"].words


async def test_a_server_that_nobody_needs_is_not_started(house: House) -> None:
    """Servers cost time and memory, and may do things."""
    file = house.folder / "pids"
    assert await house.tools(lambda prefix: prefix == "mcp__b__", a=odd(f"pids={file}")) == {}
    assert await house.tools(a=odd(f"pids={file}", disabled=True) | {"disabled": True}) == {}
    assert not file.exists()


async def test_text_on_its_output_is_no_end(house: House) -> None:
    """Many servers greet, or log, where only messages belong."""
    tools = await house.tools(my=odd("noisy"))
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi"


async def test_a_server_that_knows_no_handshake(house: House) -> None:
    tools = await house.tools(my=odd("modern"))
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi"


async def test_a_server_without_an_answer_delays_a_run_by_little(house: House) -> None:
    clock = asyncio.get_running_loop().time
    before = clock()
    assert await house.tools(my=odd("mute", startTimeout=0.2)) == {}
    assert clock() - before < 1.5
    assert "has not answered yet" in house.told[0]
    before = clock()
    assert await house.tools(my=odd("mute", startTimeout=0.2)) == {}
    assert clock() - before < 0.15, "its time is over"
    assert len(house.told) == 1, "nobody is told twice"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "no-such-program-anywhere"}, "cannot be started"),
        (odd("leaver"), "exit code 1; it said: the key is missing"),
        ({"command": "x", "env": {"A": "${NOT_SET}"}}, "${NOT_SET}"),
        ({"command": "x", "url": "http://y"}, "not both"),
    ],
)
async def test_why_it_does_not_run_is_one_sentence(
    house: House, entry: dict[str, object], words: str
) -> None:
    assert await house.tools(my=entry) == {}
    assert words in house.told[0]
    assert not house.standing["my"].ok
    assert words in house.standing["my"].words


async def test_one_broken_server_does_not_take_the_others_along(house: House) -> None:
    tools = await house.tools(bad=odd("leaver"), good=odd())
    assert "mcp__good__echo" in tools


async def test_a_crash_in_the_middle_of_a_call(house: House) -> None:
    tools = await house.tools(my=odd())
    with pytest.raises(ToolError, match=r"lost during this call .*exit code 3; it said: about to break"):
        await house.use(tools["mcp__my__crash"])
    with pytest.raises(ToolError, match="started again with the next prompt"):
        await house.use(tools["mcp__my__echo"])
    again = await house.tools(my=odd())
    assert (await house.use(again["mcp__my__echo"], text="hi")).text == "hi"


async def test_a_call_that_hangs_ends_by_its_timeout(house: House) -> None:
    file = house.folder / "note"
    tools = await house.tools(my=odd(f"cancelled={file}", timeout=0.2))
    with pytest.raises(ToolError, match=r"did not answer within 0\.2 s"):
        await house.use(tools["mcp__my__hang"])
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi", "the others go on"
    assert file.read_text() == "cancelled"


async def test_a_cancelled_call_is_cancelled_there_at_once(house: House) -> None:
    file = house.folder / "note"
    tools = await house.tools(my=odd(f"cancelled={file}"))
    call = asyncio.create_task(house.use(tools["mcp__my__hang"]))
    await house.use(tools["mcp__my__echo"])  # the call before this one has reached the server
    clock = asyncio.get_running_loop().time
    before = clock()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert clock() - before < 0.5
    await house.use(tools["mcp__my__echo"])
    assert file.read_text() == "cancelled"


async def test_a_changed_definition_is_another_subject(house: House) -> None:
    """A grant is for what was shown to the person."""
    tools = await house.tools(my=odd())
    echo = tools["mcp__my__echo"]
    value = echo.input.model_validate({})
    (before,) = echo.subjects(value)
    await house.use(tools["mcp__my__change"])
    await house.use(tools["mcp__my__look"])  # by now the new list is there
    (after,) = echo.subjects(value)
    assert before.kind == after.kind == "definition"
    assert before.value != after.value
    again = await house.tools(my=odd())
    assert "everybody" in again["mcp__my__echo"].description


async def test_tools_that_cannot_be_offered_are_named(house: House) -> None:
    tools = await house.tools(my=odd("odd"))
    assert not {"mcp__my__text", "mcp__my__huge"} & set(tools)
    odd_name = next(name for name in tools if name.startswith("mcp__my__r_ter_weg_"))
    assert "oneOf" not in tools[odd_name].parameters
    assert (await house.use(tools["mcp__my__forms"], text="Still here.")).text == "Still here."
    assert "'text'" in house.told[0]
    assert "'huge'" in house.told[0]
    assert (await house.use(tools[odd_name])).text == "röter/weg", "the server is called by its own name"


async def test_a_server_finds_no_secrets_of_ours(house: House) -> None:
    house.environment["PLAIN"] = "1"
    tools = await house.tools(my=odd(env={"TOKEN": "${MY_TOKEN}"}))
    seen = json.loads((await house.use(tools["mcp__my__look"])).text)
    assert seen["TOKEN"] == "s3cr3t-value"
    assert seen["PLAIN"] == "1"
    assert "MY_TOKEN" not in seen
    assert house.learned["TOKEN"] == "s3cr3t-value", "what it is given is never shown"


async def test_two_servers_that_rules_cannot_tell_apart(house: House) -> None:
    tools = await house.tools(**{"a b": odd(), "a_b": odd()})
    assert len(tools) == 7
    assert "rules cannot tell it" in house.told[0]


async def test_its_error_output_is_in_the_log_without_secrets(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "magent_lsp")
    await house.tools(my={"command": "sh", "args": ["-c", "echo the s3cr3t-value >&2; exit 2"]})
    assert "the [redacted]" in caplog.text
    assert "s3cr3t" not in caplog.text


async def test_another_entry_is_another_server(house: House, gone: Callable[[int], bool]) -> None:
    file = house.folder / "pids"
    await house.tools(my=odd(f"pids={file}"))
    await house.tools(my=odd(f"pids={file}"))
    (first,) = map(int, file.read_text().split())
    await house.tools(my=odd(f"pids={file}", "other"))
    _, second = map(int, file.read_text().split())
    await house.tools()
    await house.servers.close()
    assert gone(first)
    assert gone(second)


async def test_nothing_is_left_of_a_stubborn_server(house: House, gone: Callable[[int], bool]) -> None:
    file = house.folder / "pids"
    await house.tools(my=odd("stubborn", f"pids={file}"))
    pids = [int(pid) for pid in file.read_text().split()]
    assert len(pids) == 2
    async with asyncio.timeout(20):
        await house.servers.close()
    assert all(map(gone, pids))


async def test_servers_end_with_their_folder(house: House, gone: Callable[[int], bool]) -> None:
    file = house.folder / "pids"
    await house.tools(my=odd(f"pids={file}"))
    house.servers.keep([house.folder])
    assert "mcp__my__echo" in {tool.name for tool in house.servers.known(house.folder)}
    house.servers.keep([Path("/elsewhere")])
    assert house.servers.known(house.folder) == ()
    await house.servers.close()
    assert gone(int(file.read_text()))


async def test_five_hundred_tools_come_in_order(house: House) -> None:
    tools = await house.tools(my=odd("many"))
    assert len(tools) == 500
    assert all(len(tool.description) < 2200 for tool in tools.values())


async def test_a_message_without_end_ends_the_server(house: House) -> None:
    """It would fill the memory."""
    flood = "import sys\nwhile True: sys.stdout.write('{' + 'x' * 100_000)"
    assert await house.tools(my={"command": "python3", "args": ["-c", flood]}) == {}
    assert "more than 8 MB" in house.told[0]


async def test_a_definition_that_cannot_be_seen_is_not_called(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that says that its tools are others now, and does not show them, gets no calls."""
    monkeypatch.setattr("magent_lsp.mcp.pulse.LIST_SECONDS", 0.1)
    tools = await house.tools(my=odd("coy"))
    await house.use(tools["mcp__my__change"])
    with pytest.raises(ToolError, match="it did not answer any more"):
        await house.use(tools["mcp__my__echo"])


async def test_a_server_that_changes_without_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magent_lsp.mcp.catalogue.LIST_SECONDS", 0.1)
    tools = await house.tools(my=odd("restless"))
    await house.use(tools["mcp__my__change"])
    with pytest.raises(ToolError, match="does not stop changing its tools"):
        await house.use(tools["mcp__my__echo"])
