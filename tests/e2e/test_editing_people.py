"""People type while the agent works, and other programs write: nothing that a person typed is lost."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.edit_desk import Desk, call, change, desk, opens_closed_files, saves
from tests.support.lsp_buffer import Buffer
from tests.support.lsp_profiles import EMACS, NEOVIM, VSCODE, Profile
from tests.support.model_server import ModelServer
from tests.support.model_server import call as model_call

TEXT = "top\n" + "".join(f"line {number}\n" for number in range(10)) + "end\n"
ASK = {"edit_file": "ask", "write_file": "ask"}

EDITORS = (VSCODE, NEOVIM, EMACS)


def _while_asked(at: Desk, work: Any) -> None:
    """Do something while the person is asked, and allow."""

    async def answer(params: dict[str, Any]) -> dict[str, str]:
        work()
        await asyncio.sleep(0)  # what was typed is told before the answer
        return {"title": "Allow once"}

    at.client.answers.append(answer)
    at.client.always = "Allow once"


TYPING = {
    "above": ("top\n", "top\nmine\n", True),
    "below": ("end\n", "end\nmine\n", True),
    "beside": ("line 4\n", "line 4\nmine\n", True),
    "inside": ("line 5", "line mine 5", False),
    "deleted": ("line 5\n", "", False),
    "copied": ("line 8\n", "line 8\nline 5\n", False),
}


@pytest.mark.parametrize("profile", EDITORS, ids=lambda profile: profile.name)
async def test_a_person_types_while_the_edit_waits_for_their_word(tmp_path: Path, profile: Profile) -> None:
    async with desk(tmp_path, profile=profile, permission=ASK) as at:
        for case, (old, new, lands) in TYPING.items():
            buffer = at.open(f"{case}.txt", TEXT)
            _while_asked(at, lambda buffer=buffer, old=old, new=new: at.client.type(buffer, old, new))
            asked = len(at.client.questions)
            told = await at.agent([change(f"{case}.txt", "line 5\n", "LINE 5\n")])
            typed = TEXT.replace(old, new, 1)
            assert told.outcomes == (["applied"] if lands else ["stale"]), (case, told.outputs)
            assert buffer.text == (typed.replace("line 5\n", "LINE 5\n", 1) if lands else typed), case
            assert len(at.client.questions) == asked + 1, "the person is not asked again"
            if not lands:
                assert "changed" in told.outputs[0], case
                assert "Nothing was changed" in told.outputs[0], case


@pytest.mark.parametrize("profile", EDITORS, ids=lambda profile: profile.name)
async def test_a_person_types_in_the_moment_the_edit_arrives(tmp_path: Path, profile: Profile) -> None:
    """The editor has keys that it did not tell of yet; it refuses the edit, or drops it and says yes."""
    async with desk(tmp_path, profile=profile) as at:
        for case, (old, new, lands) in TYPING.items():
            buffer = at.open(f"{case}.txt", TEXT)
            at.client.type(buffer, "top\n", "top\n")  # so that its version is one that editors check
            honest = at.client._apply_edit

            async def apply(
                params: Any, buffer: Buffer = buffer, old: str = old, new: str = new, honest: Any = honest
            ) -> Any:
                del at.client.on["workspace/applyEdit"]
                buffer.apply([{"range": buffer.range(old), "newText": new}])
                try:
                    result, _ = await honest(params)
                finally:
                    at.client._tell(buffer)
                return result

            at.client.on["workspace/applyEdit"] = apply
            told = await at.agent([change(f"{case}.txt", "line 5\n", "LINE 5\n")])
            typed = TEXT.replace(old, new, 1)
            # Neovim says yes to an edit that it drops: the text tells that it is not there, if anything can.
            refused = [["stale"], ["diverged"]] if profile.drops_stale else [["stale"]]
            assert told.outcomes in ([["applied"]] if lands else refused), (case, told.outputs)
            assert buffer.text == (typed.replace("line 5\n", "LINE 5\n", 1) if lands else typed), case


async def test_neovim_puts_no_edit_into_a_text_that_was_just_begun_to_change(tmp_path: Path) -> None:
    """It opens documents as version 0, compares none below 1, and says yes to an edit that it drops."""
    async with desk(tmp_path, profile=NEOVIM) as at:
        clean, typed = at.open("clean.txt", TEXT), at.open("typed.txt", TEXT)
        ticks = {clean.uri: 0, typed.uri: 0}

        def types(buffer: Buffer, old: str, new: str) -> None:
            buffer.apply([{"range": buffer.range(old), "newText": new}])
            ticks[buffer.uri] = buffer.version = max(ticks[buffer.uri] + 1, 3)

        async def apply(params: Any) -> Any:
            document = params["edit"]["documentChanges"][0]["textDocument"]
            buffer, version = at.client.buffers[document["uri"]], document["version"]
            if buffer is typed and not ticks[typed.uri]:
                types(typed, "top\n", "top\nmine 1\nmine 2\n")
            if not (version and 0 < version < ticks[buffer.uri]):
                buffer.apply(params["edit"]["documentChanges"][0]["edits"])
                ticks[buffer.uri] = buffer.version = max(ticks[buffer.uri] + 1, 3)
            asyncio.get_running_loop().call_later(0.15, at.client._tell, buffer)
            return {"applied": True}

        at.client.on["workspace/applyEdit"] = apply
        told = await at.agent([change("clean.txt", "line 5\n", "LINE 5\n")])
        assert told.outcomes == ["applied"]
        assert clean.text == TEXT.replace("line 5", "LINE 5")
        told = await at.agent([change("typed.txt", "line 5\n", "LINE 5\n")])
        assert told.outcomes == ["applied"], told.outputs
        assert typed.text == TEXT.replace("top\n", "top\nmine 1\nmine 2\n").replace("line 5", "LINE 5")


async def test_a_person_types_while_the_model_thinks(tmp_path: Path) -> None:
    """Over the wire of a real provider: read, think, edit."""
    with ModelServer() as server:
        settings = {
            "model": server.model("openai"),
            "apiBase": server.base("openai"),
        }
        environment = {"OPENAI_API_KEY": "k" * 20}
        async with desk(tmp_path, settings=settings, environment=environment) as at:
            buffer = at.open("a.txt", TEXT)
            server.reply("", calls=[model_call("read_file", path="a.txt")])
            edits = [{"old_string": "line 5\n", "new_string": "LINE 5\n"}]
            server.reply(
                ["I ", "think"], hold=True, calls=[model_call("edit_file", path="a.txt", edits=edits)]
            )
            server.reply("Done.")
            run = await at.client.command("magent.prompt", prompt="go")
            await at.client.until(
                lambda: any(
                    event["type"] == "tool_call_finished" for event in at.client.of_run(run["runId"])
                ),
                30,
            )
            at.client.type(buffer, "top\n", "top\nmine\n")
            at.client.type(buffer, "end\n", "end\nmine too\n")
            server.release()
            told = await at.told(run["runId"])
            assert told.outcomes == ["applied"], told.outputs
            assert buffer.text == TEXT.replace("top\n", "top\nmine\n").replace(
                "line 5\n", "LINE 5\n"
            ).replace("end\n", "end\nmine too\n")


async def test_unsaved_text_the_agents_edit_and_a_save_are_all_there(tmp_path: Path) -> None:
    async with desk(tmp_path, client={"save": True}, files={"a.txt": TEXT}) as at:
        asked = saves(at.client)
        buffer = at.open("a.txt")
        at.client.type(buffer, "end\n", "end\nunsaved\n")
        told = await at.agent([change("a.txt", "line 5", "LINE 5")])
        assert told.outcomes == ["applied"]
        assert "unsaved buffer" in told.outputs[0]
        assert at.bytes("a.txt").decode() == TEXT, "a file with unsaved work stays dirty"
        assert asked == []
        await at.client.on["magent/save"]({"uris": [buffer.uri]})
        assert at.bytes("a.txt").decode() == TEXT.replace("line 5", "LINE 5") + "unsaved\n"


async def test_a_text_that_the_person_typed_after_an_edit_is_not_overwritten(tmp_path: Path) -> None:
    """`write_file` after an edit: the model knows its own text, not what was typed since."""
    async with desk(tmp_path, permission=ASK) as at:
        buffer = at.open("a.txt", TEXT)
        at.client.always = "Allow once"
        honest = at.client._apply_edit

        async def apply(params: Any) -> Any:
            del at.client.on["workspace/applyEdit"]
            result, _ = await honest(params)
            buffer.apply([{"range": buffer.range("end\n"), "newText": "end\nprecious\n"}])
            at.client._tell(buffer)  # eglot bundles our edit and the next keys into one message
            return result

        at.client.on["workspace/applyEdit"] = apply
        told = await at.agent(
            [call("read_file", path="a.txt")],
            [change("a.txt", "line 5", "LINE 5")],
            [call("write_file", path="a.txt", content="all new\n")],
        )
        assert told.statuses == ["completed", "completed", "failed"], told.outputs
        assert "changed since you read it" in told.outputs[2]
        assert buffer.text == TEXT.replace("line 5", "LINE 5") + "precious\n"


async def test_what_the_disk_gets_in_the_same_second_as_the_read_is_seen(tmp_path: Path) -> None:
    """Same size, same time stamp, other text: only the content tells."""
    async with desk(tmp_path, files={"a.txt": TEXT, "b.txt": TEXT, "w.txt": TEXT}, permission=ASK) as at:
        for name, new, call_of in (
            ("a.txt", TEXT.replace("line 5", "LINE 5"), change("a.txt", "line 5\n", "mine\n")),
            ("b.txt", TEXT.replace("line 3", "LINE 3"), change("b.txt", "line 5\n", "mine\n")),
            ("w.txt", TEXT.replace("line 3", "LINE 3"), call("write_file", path="w.txt", content="mine\n")),
        ):
            path = at.ws / name
            status = path.stat()

            def write(path: Path = path, new: str = new, status: os.stat_result = status) -> None:
                path.write_bytes(new.encode())
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

            _while_asked(at, write)
            told = await at.agent([call("read_file", path=name)], [call_of])
            if name == "b.txt":  # another line: the edit is placed anew
                assert told.outcomes == ["applied"]
                assert at.bytes(name).decode() == new.replace("line 5\n", "mine\n")
            else:
                assert told.outcomes == ["stale"], told.outputs
                assert at.bytes(name).decode() == new


async def test_a_formatter_on_save_does_not_count_as_a_stranger(tmp_path: Path) -> None:
    async with desk(tmp_path, client={"save": True}, files={"a.py": "x=1\ny=2\n"}) as at:
        saves(at.client)
        plain = at.client.on["magent/save"]
        buffer = at.open("a.py")

        async def save(params: dict[str, Any]) -> Any:
            buffer.apply(
                [
                    {
                        "range": buffer.range(),
                        "newText": buffer.text.replace("x=", "x = ").replace("y=", "y = "),
                    }
                ]
            )
            at.client._tell(buffer)
            return await plain(params)

        at.client.on["magent/save"] = save
        told = await at.agent(
            [call("read_file", path="a.py")],
            [change("a.py", "x=1", "x=10")],
            [call("write_file", path="a.py", content="z = 1\n")],
        )
        assert told.outcomes == ["applied", "applied"], told.outputs
        assert at.bytes("a.py") == b"z = 1\n"


async def test_a_file_that_is_opened_while_its_edit_waits_is_edited_in_the_buffer(tmp_path: Path) -> None:
    async with desk(tmp_path, files={"a.txt": TEXT}, permission=ASK) as at:
        opened: list[Buffer] = []
        _while_asked(at, lambda: opened.append(at.open("a.txt", TEXT + "unsaved\n")))
        told = await at.agent([change("a.txt", "line 5", "LINE 5")])
        assert told.outcomes == ["applied"], told.outputs
        assert opened[0].text == TEXT.replace("line 5", "LINE 5") + "unsaved\n"
        assert at.bytes("a.txt").decode() == TEXT


async def test_a_file_that_is_closed_while_its_edit_waits_is_not_what_it_was(tmp_path: Path) -> None:
    """The person closed it and threw the unsaved text away: the edit was made for that text."""
    async with desk(tmp_path, files={"a.txt": TEXT}, permission=ASK) as at:
        buffer = at.open("a.txt", TEXT.replace("line 5", "unsaved 5"))
        _while_asked(at, lambda: at.close(buffer))
        told = await at.agent([change("a.txt", "unsaved 5", "LINE 5")])
        assert told.outcomes == ["stale"], told.outputs
        assert at.bytes("a.txt").decode() == TEXT


async def test_a_closed_file_is_opened_by_the_editor_for_a_new_text(tmp_path: Path) -> None:
    """With a client that saves, closed and new files travel through it too, and reach the disk."""
    async with desk(tmp_path, client={"save": True}, files={"a.txt": TEXT}) as at:
        saves(at.client)
        opens_closed_files(at.client)
        told = await at.agent(
            [change("a.txt", "line 5", "LINE 5"), call("write_file", path="sub/new.txt", content="new\n")]
        )
        assert told.outcomes == ["applied", "applied"], told.outputs
        assert at.bytes("a.txt").decode() == TEXT.replace("line 5", "LINE 5")
        assert at.bytes("sub/new.txt") == b"new\n"
        assert len(at.client.edits) == 2
