"""Stock clients as they behave: what each declared when it was run by hand, and what it does its own way.

`capabilities/` holds what they sent with `initialize`: coc.nvim 0.0.82 of August 2026, vim-lsp of April 2026,
yegappan/lsp of August 2026 and ALE 4.0 of August 2026, all on Vim 9.0, Kate 22.12.3, Helix 25.01.1 and of
July 2026, and kakoune-lsp of July 2026 on Kakoune 2026.05.21.

    async with at_stock(tmp_path, KATE, script=[…], files={"a.py": "x = 1\\n"}) as person:
        buffer = person.client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Allow once")
        await person.client.finished(run["runId"])
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.lsp_buffer import Buffer
from tests.support.lsp_client import NO_ANSWER, LspClient, ResponseError, editor
from tests.support.lsp_profiles import Profile

KATE_SECONDS = 2.0
"""How long Kate takes edits after a code action was chosen."""


@dataclass(frozen=True)
class Stock:
    """A kind of client."""

    profile: Profile
    behave: Callable[[LspClient], None]
    by_action: bool = False
    """Whether a person answers by code actions; else by dialogs."""
    options: dict[str, Any] = field(default_factory=dict)
    """`initializationOptions.magent.client`, as in the guide."""


@dataclass
class Person:
    """Who sits in front of one."""

    client: LspClient
    stock: Stock
    answered: int = 0
    """Questions answered by code action so far."""

    async def choose(self, buffer: Buffer, title: str, part: str | None = None) -> Any:
        """Select a text, or all, and choose the code action whose title begins so."""
        actions = await self.client.actions(buffer.uri, buffer.range(part))
        found = [action for action in actions if action["title"].startswith(title)]
        assert found, [action["title"] for action in actions]
        return await self.client.act(found[0])

    async def answer(self, buffer: Buffer, title: str) -> None:
        """Answer the next question with what begins so."""
        if not self.stock.by_action:
            self.client.answers.append(title)
            return
        await self.client.until(lambda: len(self._waits()) > self.answered)
        self.answered += 1
        await self.choose(buffer, f"Magent: {title}")

    def _waits(self) -> list[str]:
        return [text for _, text in self.client.messages if "Magent waits for your" in text]


@asynccontextmanager
async def at_stock(home: Path, stock: Stock, **more: Any) -> AsyncIterator[Person]:
    """A client of a kind with the server, as `lsp_client.editor`."""
    async with editor(home, profile=stock.profile, client=stock.options, **more) as client:
        stock.behave(client)
        yield Person(client, stock)


def _profile(name: str, **more: Any) -> Profile:
    text = (Path(__file__).parent / "capabilities" / f"{name}.json").read_text(encoding="utf-8")
    sent = json.loads(text)
    return Profile(name, sent["capabilities"], client=sent.get("clientInfo", {}).get("name", ""), **more)


def _tell_whole(client: LspClient, buffer: Buffer) -> None:
    """Tell of changes as a whole text, as most Vim clients and Kate do."""
    if buffer.unsent:
        buffer.unsent = [{"text": buffer.text}]
        client._tell(buffer)


def _tell_all(client: LspClient) -> None:
    for buffer in client.buffers.values():
        _tell_whole(client, buffer)


def _later(client: LspClient, seconds: float) -> None:
    asyncio.get_running_loop().call_later(seconds, _tell_all, client)


def _well(client: LspClient) -> None:
    """Everything as LSP wants it."""


def _yegappan(client: LspClient) -> None:
    """Tells of every change at once; compares no versions."""

    async def apply(params: Any) -> Any:
        result, _ = await client._apply_edit(params)
        _later(client, 0)
        return result

    client.on["workspace/applyEdit"] = apply


def _vim_lsp(client: LspClient) -> None:
    """Tells of the shown buffer with a dialog, of others later; gives only the first answer of a dialog."""
    shown = ""
    honest = client.request

    async def request(method: str, params: Any = None, **more: Any) -> Any:
        nonlocal shown
        if method == "textDocument/codeAction":
            shown = params["textDocument"]["uri"]
        return await honest(method, params, **more)

    async def apply(params: Any) -> Any:
        result, _ = await client._apply_edit(params)
        return result

    async def ask(params: Any) -> Any:
        actions = params.get("actions") or []
        answer = await client._question(params) if actions else None
        _tell_whole(client, client.buffers[shown])
        await asyncio.sleep(0)  # what it tells goes out before the answer
        return answer if actions and answer == {"title": actions[0]["title"]} else None

    client.request = request  # type: ignore[method-assign]
    client.on["workspace/applyEdit"] = apply
    client.on["window/showMessageRequest"] = ask


def _kate(client: LspClient) -> None:
    """Takes edits for two seconds after a code action; has no dialogs."""
    until = 0.0
    honest = client.request

    async def request(method: str, params: Any = None, **more: Any) -> Any:
        nonlocal until
        if method == "workspace/executeCommand":
            until = asyncio.get_running_loop().time() + KATE_SECONDS
        return await honest(method, params, **more)

    async def apply(params: Any) -> Any:
        if asyncio.get_running_loop().time() >= until:
            client.edits.append(params)
            return {"applied": False, "failureReason": ""}
        result, _ = await client._apply_edit(params)
        _later(client, 0.4)
        return {**result, "failureReason": ""}

    client.request = request  # type: ignore[method-assign]
    client.on["workspace/applyEdit"] = apply
    client.on["window/showMessageRequest"] = partial(_no_method, "window/showMessageRequest")


def _no_method(method: str, params: Any) -> Any:
    raise ResponseError({"code": -32601, "message": method})


def _ale(client: LspClient) -> None:
    """Makes edits, and answers no request."""

    async def apply(params: Any) -> Any:
        await client._apply_edit(params)
        _later(client, 0.4)
        return NO_ANSWER

    client.on["workspace/applyEdit"] = apply
    client.on["window/showMessageRequest"] = lambda params: NO_ANSWER


def _old_helix(client: LspClient) -> None:
    """Has no dialogs."""
    client.on["window/showMessageRequest"] = partial(_no_method, "window/showMessageRequest")


def _kakoune(client: LspClient) -> None:
    """Says yes before it makes an edit, and has no place behind the line break at a text's end."""

    async def apply(params: Any) -> Any:
        for change in params["edit"]["documentChanges"]:
            buffer = client.buffers.get(change.get("textDocument", {}).get("uri"))
            for edit in change["edits"] if buffer is not None else ():
                _before_last_break(buffer, edit)
        result, _ = await client._apply_edit(params)
        _later(client, 0.1)
        return result

    client.on["workspace/applyEdit"] = apply


def _before_last_break(buffer: Buffer, edit: dict[str, Any]) -> None:
    """Move the ends of an edit to where they land; what only takes text away is right."""
    end = len(buffer.text) - buffer.text.endswith("\n")
    for place in edit["range"].values() if edit["newText"] else ():
        if buffer.offset(place) > end:
            place.update(buffer.position(end))


_AFTER_ACTIONS = {"editsAfterActions": True}

COC = Stock(_profile("coc"), _well)
VIM_LSP = Stock(_profile("vim_lsp", checks_version=False), _vim_lsp)
YEGAPPAN = Stock(_profile("yegappan_lsp", checks_version=False), _yegappan)
KATE = Stock(_profile("kate", checks_version=False), _kate, by_action=True, options=_AFTER_ACTIONS)
ALE = Stock(_profile("ale", checks_version=False), _ale, by_action=True, options=_AFTER_ACTIONS)
HELIX = Stock(_profile("helix", first_version=0), _well)
HELIX_25_01 = Stock(_profile("helix_25_01", first_version=0), _old_helix, by_action=True)
KAKOUNE = Stock(_profile("kakoune", checks_version=False), _kakoune)

STOCK = (COC, VIM_LSP, YEGAPPAN, KATE, ALE, HELIX, HELIX_25_01, KAKOUNE)
