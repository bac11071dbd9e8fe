"""What a sandboxed command leaves behind: its work, and nothing that runs outside of the sandbox later."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from magent_lsp.permissions.protected import NAMES
from magent_lsp.tools.bash import TOOL
from magent_lsp.tools.intruders import Guard, is_plain, may_matter
from tests.support.tool_context import call, context_for, write

BWRAP = shutil.which("bwrap")
SANDBOX = {"bash": {"sandbox": "bwrap"}}


def works() -> bool:
    return BWRAP is not None and os.system(f"{BWRAP} --unshare-all --ro-bind / / true 2>/dev/null") == 0


pytestmark = pytest.mark.skipif(not works(), reason="bubblewrap cannot run here")


async def run(command: str, workspace: Path, *, held: Path | None = None, **more: object) -> str:
    context = context_for(workspace, settings=SANDBOX, scratch=held, **more)
    return (await call(TOOL, context, command=command)).text


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


NEW = [
    "echo 'exec evil' > .envrc",
    "echo '{}' > .mcp.json",
    "mkdir .vscode && echo '{}' > .vscode/tasks.json",
    "mkdir -p deep/down && echo x > deep/down/.envrc",
    "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "mkdir -p sub/.git && printf '[core]\\n\\tfsmonitor = ./evil\\n' > sub/.git/config",
    "ln -s /etc .husky",
    "mkfifo .npmrc",
    "echo 'gitdir: /tmp/x' > .git",
    "mkdir -p .magent/agents && echo x > .magent/agents/a.md",
    "echo x > .EnvRC",
    "mkdir d && echo x > d/.envrc && mv d e",
    "(sleep 1; echo x > .envrc) & disown; echo x > .yarnrc.yml",
]


@pytest.mark.parametrize("command", NEW)
async def test_a_new_file_that_would_run_outside_is_taken_out(
    command: str, workspace: Path, tmp_path: Path
) -> None:
    before = tree(workspace)
    text = await run(f"{command}; echo work > made", workspace, held=tmp_path / "state")
    left = tree(workspace) - before - {"made", "deep", "deep/down", "sub", "d", "e"}
    assert not left
    assert (workspace / "made").exists()
    assert "Taken out of the workspace" in text
    assert str(tmp_path / "state") in text
    assert len(list((tmp_path / "state").glob("held-*/*"))) == 1, "nothing is thrown away"


REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\tbare = false\n",
    ".git/objects/x": "",
    ".git/refs/x": "",
    ".git/modules/libs/one/HEAD": "x",
    ".git/modules/libs/one/config": "[core]\n",
    ".envrc": "mine",
    "sub/.envrc": "mine",
    "sub/.vscode/settings.json": "{}",
}
CHANGES = [
    "echo x > .envrc",
    "rm .envrc; echo x > .envrc",
    "echo x >> .git/config",
    "mv .git .gat; mkdir .git; echo x > .git/config",
    "echo ../evil > .git/commondir",
    "echo x > .git/config.worktree",
    "mkdir .git/hooks; echo x > .git/hooks/post-checkout",
    "echo x > .git/modules/libs/one/config",
    "mkdir .git/modules/libs/one/hooks; echo x > .git/modules/libs/one/hooks/pre-push",
    "echo x > sub/.envrc",
    "mv sub old; mkdir sub; echo x > sub/.envrc",
    "rm -rf sub/.vscode; mv sub/.vscode v; echo x > sub/.vscode/settings.json",
    "rm link/.envrc link/.mcp.json; ln -sf /etc/passwd real/.mcp.json; rm real/.mcp.json",
    "git config core.pager evil",
]


@pytest.mark.parametrize("command", CHANGES)
async def test_what_is_there_stays_as_it_is(command: str, workspace: Path, tmp_path: Path) -> None:
    write(workspace, REPOSITORY)
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    (workspace / "real/.mcp.json").symlink_to("../x.json")
    await run(command, workspace, held=tmp_path / "state")
    folder = workspace / "old" if (workspace / "old").exists() else workspace / "sub"
    moved = {
        f"{folder.name}/{name.removeprefix('sub/')}" if name.startswith("sub/") else name: text
        for name, text in REPOSITORY.items()
    }
    assert {name: (workspace / name).read_text() for name in moved} == moved
    assert (workspace / "real/.mcp.json").readlink() == Path("../x.json")
    assert not {".git/hooks", ".git/commondir", ".git/config.worktree"} & tree(workspace)
    assert "sub/.envrc" not in tree(workspace) or folder.name == "sub"
    assert not list(workspace.glob(".git/modules/libs/one/hooks"))


async def test_git_goes_on_working(workspace: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "a"]):
        await asyncio.to_thread(subprocess.run, ["git", *words], cwd=workspace, env=env, check=True)
    command = (
        "echo a > a && git add -A && git commit -qm one && git branch topic && git checkout -q topic && "
        "git init -q inner && git clone -q . copy && git stash list && git log --oneline"
    )
    text = await run(command, workspace, held=tmp_path / "state", environment=lambda: env)
    assert text.endswith(" one")
    assert (workspace / "inner/.git/config").exists()
    assert (workspace / "copy/.git/config").exists()
    assert await run("git ls-files", workspace, environment=lambda: env) == "a", (
        "nothing of ours is committed"
    )


async def test_our_own_files_are_out_of_reach_even_in_a_workspace_that_holds_them(workspace: Path) -> None:
    own = workspace / "config-of-ours"
    own.mkdir()
    (own / "config.yaml").write_text("{}")
    await run("echo x > config-of-ours/config.yaml; rm -r config-of-ours", workspace, own=(own,))
    assert (own / "config.yaml").read_text() == "{}"


async def test_a_workspace_opened_through_a_link(workspace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    await run("echo x > made; echo x > .envrc", link, held=tmp_path / "state")
    assert tree(workspace) == {"made"}


async def test_without_a_folder_of_ours_it_gets_a_harmless_name(workspace: Path) -> None:
    text = await run("echo x > .envrc", workspace)
    [name] = tree(workspace)
    assert name.startswith("held.envrc-")
    assert name in text


async def test_it_is_taken_out_also_when_the_command_runs_out_of_time(
    workspace: Path, tmp_path: Path
) -> None:
    context = context_for(workspace, settings=SANDBOX, scratch=tmp_path / "state")
    await call(TOOL, context, command="echo x > .envrc; sleep 30", timeout=0.3)
    assert tree(workspace) == set()


@pytest.mark.parametrize(
    ("config", "plain"),
    [
        ("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", True),
        ('[remote "origin"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/x/*\n', True),
        ('[remote "origin"]\n\turl = git@example.com:x.git\n', True),
        ('[remote "origin"]\n\turl = ext::sh -c evil\n', False),
        ("[core]\n\tfsmonitor = evil\n", False),
        ("[core]\n\tsshCommand = evil\n", False),
        ("[include]\n\tpath = ../evil\n", False),
        ('[remote "origin"]\n\turl = /x \\\n\tfsmonitor = x\n', False),
        ("[core] fsmonitor = evil\n", False),
        ("[core]\n\tbare = false \\\n fsmonitor = x\n", False),
        ('[filter "x"]\n\tsmudge = evil\n', False),
        ("[core]\r\tfsmonitor = evil\n", False),
        ("[core]\x0bfsmonitor=evil\n", False),
    ],
)
def test_a_config_that_runs_something_is_known(config: str, plain: bool, tmp_path: Path) -> None:
    write(tmp_path, {".git/config": config, ".git/HEAD": "x"})
    assert is_plain(tmp_path / ".git") is plain


def test_a_large_workspace_is_looked_through_quickly(tmp_path: Path) -> None:
    write(tmp_path, {f"d{n}/f{m}": "" for n in range(50) for m in range(20)})
    guard = Guard([tmp_path])
    assert (guard.kept, guard.pinned, guard.clear(None)) == ([], [], "")


def test_the_quick_look_at_names_misses_none() -> None:
    assert all(name[0] in ".gGcC" for name in NAMES)
    assert all(map(may_matter, ("git~1", "GIT~1", "\u200b.git")))


async def test_where_guests_are_let_in_is_closed_inside(workspace: Path, tmp_path: Path) -> None:
    """A socket can be used through a read-only mount and from another network: it must not be seen."""
    folder = tmp_path / "state" / "guests"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text("{}")

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        writer.close()

    path = folder / "1.sock"
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); print(s.recv(9))"
    server = await asyncio.start_unix_server(meet, path)
    async with server:
        command = f'python3 -c "{code}"; ls {folder} | wc -l; ls {folder.parent}'
        own = (tmp_path / "state",)
        assert "hello" in await run(command, workspace, own=own), "the test can tell"
        text = await run(command, workspace, own=own, closed=(folder,))
    assert "hello" not in text
    assert "FileNotFoundError" in text
    assert "\n0\nguests" in text
