"""Chat documents in all kinds of editors: those that ask, refuse, lie, are slow, or cannot do much."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import Talk
from tests.support.edit_desk import saves
from tests.support.lsp_client import NO_ANSWER, LspClient, editor
from tests.support.lsp_profiles import EMACS, NEOVIM, POOR, VSCODE, Profile
from tests.support.model_server import ModelServer
from tests.support.stage import Reply, Stage, call, on_stage, say

WORDS = [f"word{number} " for number in range(8)]
ALL = {"text": "All of it.", "repeat": True}


@asynccontextmanager
async def desk(home: Path, *script: dict[str, Any], profile: Profile = VSCODE) -> AsyncIterator[Stage]:
    """An editor with a recorded model."""
    async with editor(home, profile=profile, script=script) as client:
        yield Stage(client, ModelServer(), home)


async def answered(stage: Stage, name: str) -> tuple[Talk, int]:
    """A document with its answer, and the number of edits that it took."""
    talk = Talk(stage, name)
    mark = len(stage.client.edits)
    await talk.done(await talk.start())
    return talk, len(stage.client.edits) - mark


@pytest.mark.parametrize("profile", [VSCODE, NEOVIM], ids=lambda profile: profile.name)
async def test_an_editor_that_keeps_up_shows_it_as_it_comes(tmp_path: Path, profile: Profile) -> None:
    async with desk(tmp_path, {"text": WORDS, "delay": 0.1}, profile=profile) as stage:
        talk, edits = await answered(stage, "streamed")
        assert talk.text.endswith("".join(WORDS).strip() + "\n\n## You\n\n")
        assert edits > 1


async def test_a_plugin_of_ours_shows_it_as_it_comes_on_a_busy_machine_too(tmp_path: Path) -> None:
    slow, ours = replace(VSCODE, debounce=1.2), {"save": True}
    script = [{"text": WORDS, "delay": 0.5}]
    async with editor(tmp_path, profile=slow, client=ours, script=script) as client:
        saves(client)
        talk, edits = await answered(Stage(client, ModelServer(), tmp_path), "busy")
        assert talk.text.endswith("".join(WORDS).strip() + "\n\n## You\n\n")
        assert edits > 2


@pytest.mark.parametrize("profile", [EMACS, replace(VSCODE, debounce=1.2)], ids=["no window", "slow"])
async def test_an_editor_that_may_ask_is_asked_once(tmp_path: Path, profile: Profile) -> None:
    async with desk(tmp_path, {"text": WORDS, "delay": 0.05}, profile=profile) as stage:
        talk, edits = await answered(stage, "once")
        assert talk.text.endswith(f"once\n\n## Magent\n\n{''.join(WORDS).strip()}\n\n## You\n\n")
        # One that tells late has the heading by then.
        assert edits == (1 if profile is EMACS else 2)


@pytest.mark.parametrize("how", ["reject", "error"])
async def test_an_editor_that_refuses_gets_the_answer_beside(tmp_path: Path, how: str) -> None:
    async with desk(tmp_path, ALL) as stage:
        stage.client.apply = how
        talk = Talk(stage, "refused")
        before = talk.text
        await talk.send()
        [shown] = await stage.client.until(lambda: stage.client.shown)
        assert Path(shown["uri"].removeprefix("file://")).read_text() == "All of it.\n"
        assert talk.text == before
        stage.client.apply = "apply"
        await talk.send()
        assert talk.text.endswith("## Magent\n\nAll of it.\n\n## You\n\n")


SOON = 10
"""Seconds that people wait for an answer that is there."""


@pytest.mark.parametrize("how", ["lie", "silent"])
async def test_an_editor_that_lies_gets_the_answer_beside_soon(tmp_path: Path, how: str) -> None:
    async with desk(tmp_path, ALL) as stage:
        stage.client.apply = how
        talk = Talk(stage, "lied")
        for number in (1, 2):  # the second is not held up by what became of the first either
            await stage.client.finished(await talk.start())
            shown = await stage.client.until(lambda number=number: stage.client.shown[number - 1 :], SOON)
            assert Path(shown[0]["uri"].removeprefix("file://")).read_text() == "All of it.\n"
            await talk.written()
        assert talk.text == "## You\n\nlied\n"


async def test_an_editor_that_answers_nothing_is_told_soon(tmp_path: Path) -> None:
    async with desk(tmp_path, ALL) as stage:
        stage.client.apply = "silent"
        stage.client.on["window/showDocument"] = lambda params: NO_ANSWER
        talk = Talk(stage, "deaf")
        await stage.client.finished(await talk.start())
        said = await stage.client.until(lambda: [text for _, text in stage.client.messages], SOON + 2)
        assert "could not be put into 'deaf.magent.md'" in said[-1]
        assert said[-1].endswith("\nAll of it.")


@pytest.mark.parametrize("typed", ["", "And this.\n"], ids=["untouched", "typed in"])
async def test_an_editor_that_takes_the_edit_after_all_doubles_nothing(tmp_path: Path, typed: str) -> None:
    async with desk(tmp_path, ALL) as stage:
        client, gate = stage.client, asyncio.Event()

        async def late(params: dict[str, Any]) -> Any:
            await gate.wait()
            result, changed = await client._apply_edit(params)
            if changed is not None:
                asyncio.get_running_loop().call_soon(changed)
            return result

        client.on["workspace/applyEdit"] = late
        talk = Talk(stage, "late")
        await client.finished(await talk.start())
        offered = await client.actions(talk.buffer.uri, talk.buffer.range("late"))
        assert "Magent: Send this message" in [action["title"] for action in offered]
        await client.until(lambda: client.shown, SOON)
        await talk.written()
        if typed:
            talk.write(typed)
        mine = talk.text
        gate.set()
        if typed:  # made for a text that is another by now
            await client.until(lambda: client.edits)
            assert talk.text == mine
        else:
            await client.until(
                lambda: [text for _, text in client.messages if "is in 'late.magent.md' now" in text]
            )
            await talk.written()
            assert talk.text.startswith("---\nsession: ")
            assert talk.text.endswith("late\n\n## Magent\n\nAll of it.\n\n## You\n\n")
        del client.on["workspace/applyEdit"]
        talk.write("more\n")
        await talk.done(await talk.start())
        assert talk.text.endswith("more\n\n## Magent\n\nAll of it.\n\n## You\n\n")
        assert talk.text.count(typed or "late") == 1


async def test_an_editor_that_can_do_nothing_is_told(tmp_path: Path) -> None:
    async with desk(tmp_path, ALL, profile=POOR) as stage:
        talk = Talk(stage, "poor")
        await stage.client.finished(await talk.start())
        await stage.client.until(
            lambda: any(
                "takes no edits" in text and "All of it." in text for _, text in stage.client.messages
            )
        )


async def test_a_document_that_is_not_open_is_written_on_the_disk(tmp_path: Path) -> None:
    async with desk(tmp_path, ALL) as stage:
        path = stage.write("disk.magent.md", "## You\r\n\r\ndisk\r\n")
        path.write_bytes(b"## You\r\n\r\ndisk\r\n")
        run = await stage.client.command("magent.send", uri=path.as_uri())
        await stage.client.finished(run["runId"])
        while b"## Magent\r\n\r\nAll of it.\r\n\r\n## You\r\n" not in path.read_bytes():
            await stage.client.command("magent.status")


async def kill(client: LspClient) -> None:
    """End the server as a crash does."""
    assert client.process is not None
    os.kill(client.process.pid, signal.SIGKILL)
    await client.closed.wait()


@pytest.mark.slow
async def test_a_conversation_outlives_its_server(tmp_path: Path) -> None:
    async with on_stage(tmp_path, files={"a.py": "x = 1\n"}) as stage:
        talk = Talk(stage, "outlives")
        await talk.send(say("Looking.", call("read_file", path="a.py")), say("One."))
        talk.write("second")
        await talk.start(Reply(text=["It begins.", "and ends"], hold=True))
        await talk.sees("It begins.")
        text, session = talk.text, talk.session
        await kill(stage.client)
    async with on_stage(tmp_path) as stage:
        again = Talk(stage, "outlives", text=text)
        again.write("third")
        await again.send(say("Three."))
        assert again.session == session
        assert [role for role, _ in again.asked()] == [
            "user", "assistant", "tool", "assistant", "user", "assistant", "user",
        ]  # fmt: skip
        assert again.asked()[-2:] == [("assistant", "It begins."), ("user", "third")]


@pytest.mark.slow
async def test_a_session_in_use_elsewhere_is_forked(tmp_path: Path) -> None:
    async with on_stage(tmp_path, files={"a.py": "x = 1\n"}) as stage:
        talk = Talk(stage, "elsewhere")
        await talk.send(say("Looking.", call("read_file", path="a.py")), say("One."))
        async with on_stage(tmp_path) as other:
            beside = Talk(other, "elsewhere", text=talk.text)
            beside.write("second")
            await beside.send(say("Two."))
            assert beside.session != talk.session
            assert "tool" in [role for role, _ in beside.asked()]


@pytest.mark.slow
async def test_a_long_conversation_that_was_summed_up_goes_on(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        talk = Talk(stage, "long")
        await talk.send(say("One."))
        talk.write("/compact\n")
        stage.cast("", say("They talked about one thing."))
        await talk.send()
        stage.parts.pop(0)
        session = talk.session
        talk.write("long since\n")
        stage.cast("They talked", say("Two."))
        await talk.send()
        assert talk.session == session
        assert len(stage.asked("They talked")) == 1


@pytest.mark.slow
async def test_secrets_do_not_break_a_conversation(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        talk = Talk(stage, "secret", "secret sk-test-secret-value-123456 is mine")
        await talk.send(say("I know sk-test-secret-value-123456 now."))
        session = talk.session
        assert talk.text.count("sk-test-secret-value-123456") == 1
        talk.write("more")
        await talk.send(say("ok"))
        assert talk.session == session
