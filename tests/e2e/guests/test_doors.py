"""Where an agent of another program finds an editor, and who opens and closes the door."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tests.support.guest import (
    SERVED,
    door,
    guest,
    holds,
    text_of,
)
from tests.support.lsp_client import EVENTS, LspClient, editor


async def test_without_an_editor_it_says_what_to_do_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    async with guest(tmp_path) as agent:
        assert "edit_file" in await agent.tools()
        got = await agent.use("read_file", path="a.py")
        assert got.failed
        assert "serveMcp: true" in got.text
        assert str(tmp_path / "ws") in got.text
        assert not agent.heard
        for text in ("one", "two"):  # the second after a restart of the editor
            files = {"a.py": f"{text}\n"}
            can = {**EVENTS, "eval": "lua"}
            async with editor(tmp_path, settings=SERVED, client=can, files=files):
                await door(tmp_path)
                assert text in (await agent.use("read_file", path="a.py")).text
                assert "notifications/tools/list_changed" in agent.heard
                assert (await agent.tools())[-2:] == ["editor_eval", "open_buffers"]
            assert not list((tmp_path / "state/guests").iterdir())
        assert "serveMcp" in (await agent.use("read_file", path="a.py")).text


async def test_the_doctor_says_who_lets_other_agents_in(client: LspClient, tmp_path: Path) -> None:
    found = await door(tmp_path)
    await client.command("magent.doctor")
    (shown,) = await client.until(lambda: client.shown)
    text = Path(url2pathname(urlsplit(shown["uri"]).path)).read_text()
    assert (
        f"## Other agents\n\n- ✓ **let in**: an editor, process {found.owner.pid}: {tmp_path / 'ws'}" in text
    )


async def test_two_editors_and_the_innermost_folder(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two", "three")]
    for home in homes:
        home.mkdir()
    shared = {"MAGENT_STATE_DIR": str(tmp_path / "state")}
    inner = homes[0] / "ws/inner"
    async with (
        editor(homes[0], settings=SERVED, files={"who": "one\n", "inner/who": "x\n"}, environment=shared),
        editor(homes[1], settings=SERVED, files={"who": "two\n"}, environment=shared, initialize=False) as b,
        editor(homes[2], settings=SERVED, environment=shared, initialize=False) as c,
    ):
        await door(tmp_path)
        settings = {**SERVED, "warmUp": False}
        same = [{"uri": (homes[0] / "ws").as_uri(), "name": "ws"}]
        await b.initialize(magent=settings, workspaceFolders=same)
        newest = await door(tmp_path, count=2)
        b.open(homes[0] / "ws/who", "two\n")
        async with guest(homes[0], environment=shared) as agent:
            assert "two" in (await agent.use("read_file", path="who")).text, "the newest"
            assert f"process {newest.owner.pid}" in agent.log.read_text()
        deeper = [{"uri": inner.as_uri(), "name": "inner"}]
        await c.initialize(magent=settings, workspaceFolders=deeper)
        await door(tmp_path, count=3)
        async with guest(homes[0], cwd=inner, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], "--folder", str(inner), cwd=tmp_path, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], cwd=tmp_path, roots=inner, environment=shared) as agent:
            assert f"Workspace folder: {inner}" in (await agent.use("open_buffers")).text
        async with guest(homes[0], cwd=tmp_path, environment=shared) as agent:
            text = (await agent.use("open_buffers")).text
            assert "There is no editor that has" in text
            assert str(inner) in text


async def test_several_agents_at_once_each_with_its_own_session(client: LspClient, tmp_path: Path) -> None:
    async with guest(tmp_path, name="codex") as one, guest(tmp_path, name="cursor") as two:
        await asyncio.gather(
            one.use("read_file", path="a.py"),
            two.use("read_file", path="a.py"),
        )
        runs = (await client.command("magent.status"))["runs"]
        assert sorted(run["title"] for run in runs) == ["codex: Read a.py", "cursor: Read a.py"]
        await one.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 9")
        got = await two.use("edit_file", path="a.py", old_string="y = 2", new_string="y = 8")
        assert not got.failed
        assert text_of(client) == "x = 9\ny = 8\n"
        got = await two.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 7")
        assert got.failed


async def test_nothing_listens_by_default(tmp_path: Path) -> None:
    async with editor(tmp_path, client=EVENTS) as client:
        await client.command("magent.status")
        assert not (tmp_path / "state/guests").exists()
        section = {"settings": {"magent": SERVED}}
        client.notify("workspace/didChangeConfiguration", section)
        await door(tmp_path)
        async with guest(tmp_path) as agent:
            assert not (await agent.use("list_dir")).failed
            client.notify("workspace/didChangeConfiguration", {"settings": {"magent": {"serveMcp": False}}})
            await holds(lambda: not list((tmp_path / "state/guests").iterdir()))
            words = (await agent.use("list_dir")).text
            assert "serveMcp: true" in words or "lets no other agents in any more" in words
            assert "serveMcp: true" in (await agent.use("list_dir")).text


async def test_a_door_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/guests").write_text("in the way")
    async with editor(tmp_path, settings=SERVED, client=EVENTS) as client:
        await client.until(lambda: client.messages)
        ((_, text),) = client.messages
        assert text.startswith("Magent: agents of other programs cannot be let in: ")
        assert (await client.command("magent.status"))["runs"] == []


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_project_cannot_open_the_door(tmp_path: Path, trusted: bool) -> None:
    files = {".magent/config.yaml": "serveMcp: true\nmaxTurns: 3\n"}
    async with editor(tmp_path, client=EVENTS, files=files) as client:
        if trusted:
            shown = await client.command("magent.trust")
            await client.command("magent.trust", digest=shown["digest"])
        problems = (await client.command("magent.status"))["problems"]
        assert any("'serveMcp': only your own config" in each["message"] for each in problems), problems
        assert not (tmp_path / "state/guests").exists()


def close(home: Path, folder: Path, text: str) -> None:
    """Keep guests out of a folder, in which `c.py` holds the text; the person lets them in elsewhere."""
    (folder / ".magent").mkdir(parents=True)
    (folder / ".magent/config.yaml").write_text("serveMcp: false\n")
    (folder / "c.py").write_text(text)
    (home / "config").mkdir()
    (home / "config/config.yaml").write_text("serveMcp: true\n")


async def test_a_folder_that_stays_closed_is_outside_for_guests(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    close(tmp_path, closed, "c = 1\n")
    files = {"a.py": "x = 1\n"}
    async with editor(tmp_path, files=files, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", closed)]
        magent = {"warmUp": False, "client": EVENTS}
        await client.initialize(magent=magent, workspaceFolders=folders)
        client.always = "Reject"
        assert (await door(tmp_path)).folders == (tmp_path / "ws",)
        async with guest(tmp_path) as agent:
            assert not (await agent.use("read_file", path="a.py")).failed
            assert (await agent.use("read_file", path=str(closed / "c.py"))).failed
            assert len(client.questions) == 1
        async with guest(tmp_path, cwd=closed) as agent:
            assert "There is no editor that has" in (await agent.use("list_dir")).text


@pytest.mark.parametrize("link", [False, True])
async def test_a_folder_that_stays_closed_is_outside_although_it_lies_in_an_open_one(
    tmp_path: Path, link: bool
) -> None:
    closed = tmp_path / "ws/closed"
    close(tmp_path, closed, "hush = 1\n")
    opened = closed
    if link:
        (opened := tmp_path / "link").symlink_to(closed)
    async with editor(tmp_path, files={"a.py": "x = 1\n"}, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", opened)]
        await client.initialize(magent={"warmUp": False, "client": EVENTS}, workspaceFolders=folders)
        client.open(closed / "c.py", "hush = 2\n")
        client.always = "Reject"
        assert (await door(tmp_path)).folders == (tmp_path / "ws",)
        async with guest(tmp_path) as agent:
            assert "x = 1" in (await agent.use("read_file", path="a.py")).text
            assert "hush" not in (await agent.use("grep", pattern="hush|x")).text
            assert "c.py" not in (await agent.use("open_buffers")).text
            assert not client.questions
            for path in ("closed/c.py", "closed/../closed/c.py", str(opened / "c.py")):
                assert (await agent.use("read_file", path=path)).failed
            assert len(client.questions) == 3
        async with guest(tmp_path, cwd=closed) as agent:
            assert "does not let this in" in (await agent.use("list_dir")).text


async def test_who_stands_in_a_folder_that_is_closed_is_sent_out(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
    async with editor(tmp_path, files={"a.py": "x = 1\n"}, initialize=False) as client:
        folders = [{"uri": path.as_uri(), "name": path.name} for path in (tmp_path / "ws", other)]
        await client.initialize(magent={"warmUp": False, "client": EVENTS}, workspaceFolders=folders)
        await door(tmp_path)
        async with guest(tmp_path) as agent, guest(tmp_path, cwd=other, name="codex") as stays:
            assert not (await agent.use("read_file", path="a.py")).failed
            assert not (await stays.use("list_dir")).failed
            path = tmp_path / "ws/.magent/config.yaml"
            path.parent.mkdir()
            path.write_text("serveMcp: false\n")
            client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
            note = next((tmp_path / "state/guests").glob("*.json"))
            await holds(lambda: json.loads(note.read_text())["folders"] == [str(other)])
            async with asyncio.timeout(20):
                while "There is no editor that has" not in (said := await agent.use("list_dir")).text:
                    assert said.failed, "the door was on its way to be closed"
            assert not (await stays.use("list_dir")).failed


async def test_a_project_can_keep_it_closed(tmp_path: Path) -> None:
    files = {".magent/config.yaml": "serveMcp: false\n"}
    async with editor(tmp_path, client=EVENTS, files=files, environment={"MAGENT_TITLES": "false"}) as client:
        (tmp_path / "config/config.yaml").write_text("serveMcp: true\n")
        uri = (tmp_path / "config/config.yaml").as_uri()
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        await client.command("magent.status")
        assert not (tmp_path / "state/guests").exists()
