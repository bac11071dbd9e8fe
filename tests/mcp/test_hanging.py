"""Servers that do one thing at a time, and hang in it: they are ended and started again."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from magent_lsp.core.errors import ToolError
from magent_lsp.core.tool import ToolResult
from tests.mcp.conftest import House, odd


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magent_lsp.mcp.pulse.WARY_SECONDS", 0.2)


class Ear(logging.Handler):
    """Hears in the log that a server sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "asleep" in record.getMessage():
            self.asleep.set()


@pytest.fixture
def ear(caplog: pytest.LogCaptureFixture) -> Iterator[Ear]:
    caplog.set_level(logging.INFO, "magent_lsp")
    ear = Ear()
    logging.getLogger("magent_lsp").addHandler(ear)
    yield ear
    logging.getLogger("magent_lsp").removeHandler(ear)


async def sleeping(house: House, ear: Ear, entry: dict[str, Any], seconds: str) -> asyncio.Task[ToolResult]:
    """A call in which the server hears nothing any more."""
    tools = await house.tools(my=entry)
    call = asyncio.create_task(house.use(tools["mcp__my__sleep"], text=seconds))
    async with asyncio.timeout(20):
        await ear.asleep.wait()
    return call


@pytest.mark.parametrize("tells", ["", "silent"])
async def test_after_a_cancelled_call_the_next_prompt_has_its_tools(
    house: House, ear: Ear, gone: Callable[[int], bool], tells: str
) -> None:
    """Each prompt waited, and none had the tools."""
    file = house.folder / "pids"
    entry = odd(f"pids={file}", tells)
    call = await sleeping(house, ear, entry, "3600")
    call.cancel()
    await asyncio.wait([call])
    clock = asyncio.get_running_loop().time
    before = clock()
    tools = await house.tools(my=entry)
    assert clock() - before < 2
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi"
    assert house.told == ["MCP server 'my': it did not answer any more, and is started again."]
    await house.tools(my=entry)
    assert len(house.told) == 1
    first, second = map(int, file.read_text().split())
    await house.servers.close()
    assert gone(first)
    assert gone(second)


async def test_after_a_call_without_an_answer_the_model_is_told(house: House, ear: Ear) -> None:
    call = await sleeping(house, ear, odd(timeout=0.3), "3600")
    with pytest.raises(ToolError, match=r"did not answer within 0\.3 s"):
        await call
    (echo,) = (tool for tool in house.servers.known(house.folder) if tool.name == "mcp__my__echo")
    with pytest.raises(ToolError, match="it did not answer any more"):
        await house.use(echo, text="hi")
    tools = await house.tools(my=odd(timeout=0.3))
    assert (await house.use(tools["mcp__my__echo"], text="hi")).text == "hi"


async def test_a_server_that_works_on_a_call_is_left_alone(house: House, ear: Ear) -> None:
    """The prompt of another session must not end it."""
    entry = odd("silent", f"pids={house.folder / 'pids'}")
    call = await sleeping(house, ear, entry, "0.6")
    other = await house.tools(my=entry)
    assert not call.done()
    assert "mcp__my__echo" in other, "it is busy, and has its tools"
    assert (await call).text == "0.6"
    assert (await house.use(other["mcp__my__echo"], text="hi")).text == "hi"
    assert len((house.folder / "pids").read_text().split()) == 1
    assert house.told == []
