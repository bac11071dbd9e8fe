"""Servers that say too much, or what nobody can read: the call ends, and the others are not held up."""

import asyncio
import logging

import pytest

from magent_lsp.core.errors import ToolError
from tests.mcp.conftest import House, odd

CAN_READ = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"half \\ud83d"}]}}'


async def longest_wait(work: "asyncio.Task[object]") -> float:
    """How long others had to wait for the loop while something went on."""
    clock = asyncio.get_running_loop().time
    longest = 0.0
    while not work.done():
        before = clock()
        await asyncio.sleep(0)
        longest = max(longest, clock() - before)
    return longest


async def test_half_an_emoji_in_a_result(house: House) -> None:
    """Servers cut texts in the middle of one."""
    tools = await house.tools(my=odd("raw"))
    result = await house.use(tools["mcp__my__echo"], text=CAN_READ)
    assert result.text == "half \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"jsonrpc":"2.0","id":ID,"result":[1]}', r"cannot be read: its result is \[1\]"),
        ('{"jsonrpc":"2.0","id":ID,"error":{"code":"x"}}', 'failed at this call: {"code": "x"}'),
        ('{"jsonrpc":"2.0","id":ID,"result":{"content":[', "cannot be read"),
    ],
)
async def test_an_answer_that_cannot_be_read_ends_the_call(house: House, line: str, words: str) -> None:
    tools = await house.tools(my=odd("raw"))
    async with asyncio.timeout(20):
        with pytest.raises(ToolError, match=words):
            await house.use(tools["mcp__my__echo"], text=line)
        assert (await house.use(tools["mcp__my__look"])).text, "it goes on"


@pytest.mark.parametrize("kind", ["line of errors", "lines of errors", "progress"])
async def test_a_flood_beside_a_call(house: House, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "magent_lsp")
    tools = await house.tools(my=odd())
    async with asyncio.timeout(10):
        call = asyncio.create_task(house.use(tools["mcp__my__flood"], text=kind))
        longest = await longest_wait(call)
        assert (await call).text == kind
    assert longest < 0.5
    assert len(caplog.text) < 200_000
    assert "s3cr3t" not in caplog.text


@pytest.mark.parametrize("kind", ["line", "result"])
async def test_a_message_that_is_too_long_ends_the_call_in_words(house: House, kind: str) -> None:
    tools = await house.tools(my=odd())
    async with asyncio.timeout(10):
        with pytest.raises(ToolError, match="more than 8 MB"):
            await house.use(tools["mcp__my__flood"], text=kind)
        again = await house.tools(my=odd())
        assert (await house.use(again["mcp__my__echo"], text="hi")).text == "hi"
