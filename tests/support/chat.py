"""A chat document in a test's editor, and what the model was told of it.

talk = Talk(stage, "talk", "Hello")
await talk.send(say("Hi."))
assert talk.text.endswith("## You\\n\\n")
assert talk.asked() == [("user", "Hello")]
"""

import asyncio
import re
from pathlib import Path
from typing import Any

from tests.support.lsp_buffer import Buffer
from tests.support.stage import Reply, Stage

CONTEXT = re.compile(r"\A<context>\n.*?\n</context>\n\n", re.DOTALL)


class Talk:
    """A document that is open, and its part of the model's script."""

    def __init__(
        self, stage: Stage, name: str, message: str = "", *, text: str | None = None, **more: Any
    ) -> None:
        self.stage = stage
        self.name = name
        text = f"## You\n\n{message or name}\n" if text is None else text
        self.path = stage.workspace / f"{name}.magent.md"
        self.buffer: Buffer = stage.client.open(self.path, text, language="markdown", **more)

    @property
    def text(self) -> str:
        """What the editor shows."""
        return self.buffer.text

    @property
    def session(self) -> str:
        """The session that the front matter names."""
        match = re.search(r"^session: (\S+)", self.text, re.MULTILINE)
        assert match is not None, self.text
        return match[1]

    def cast(self, *replies: Reply) -> None:
        """What the model says next, in conversations that hold this document's name at their beginning."""
        self.stage.cast(self.name, *replies)

    async def start(self, *replies: Reply) -> str:
        """Send the message; the id of the run."""
        if replies:
            self.cast(*replies)
        run = await self.stage.client.command("magent.send", uri=self.buffer.uri)
        return str(run["runId"])

    async def send(self, *replies: Reply) -> dict[str, Any]:
        """Send the message, and wait until the answer is in the document."""
        return await self.done(await self.start(*replies))

    async def done(self, run_id: str) -> dict[str, Any]:
        """The outcome, once nothing more is written."""
        finished = await self.stage.client.finished(run_id)
        await self.written()
        return finished

    async def written(self) -> None:
        """Wait until no answer is being written: the button says so."""
        async with asyncio.timeout(20):
            while (await self.lens())[0] != "Send":
                pass

    async def lens(self) -> tuple[str, int]:
        """The button's title and line."""
        document = {"textDocument": {"uri": self.buffer.uri}}
        [lens] = await self.stage.client.request("textDocument/codeLens", document) or [
            {"command": {"title": ""}, "range": {"start": {"line": 0}}}
        ]
        return lens["command"]["title"], lens["range"]["start"]["line"]

    def write(self, text: str) -> None:
        """Write at the end of the document."""
        self.insert(len(self.text), text)

    def insert(self, at: int, text: str, *, instead: int = 0) -> None:
        """Type at a place, in the place of some characters."""
        start, end = self.buffer.position(at), self.buffer.position(at + instead)
        self.buffer.apply([{"range": {"start": start, "end": end}, "newText": text}])
        self.stage.client._tell(self.buffer)

    async def sees(self, part: str) -> None:
        """Wait until a text is in the document, and the editor has told of it."""
        await self.stage.client.until(lambda: part in self.text)
        self.stage.client._tell(self.buffer)

    def asked(self, number: int = -1) -> list[tuple[str, str]]:
        """What the model was told in a request, without the system prompt and the context."""
        messages = self.stage.asked(self.name)[number].messages
        return [
            (message["role"], CONTEXT.sub("", str(message.get("content") or "")))
            for message in messages
            if message["role"] != "system"
        ]

    def save(self) -> None:
        """Save the document."""
        Path(self.path).write_text(self.text, encoding="utf-8", newline="")
        self.stage.client.notify("textDocument/didSave", {"textDocument": {"uri": self.buffer.uri}})

    def close(self) -> None:
        """Close the document."""
        self.stage.client.notify("textDocument/didClose", {"textDocument": {"uri": self.buffer.uri}})
        del self.stage.client.buffers[self.buffer.uri]
