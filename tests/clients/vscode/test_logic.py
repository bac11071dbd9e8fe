"""The parts of the extension that know neither VS Code nor the disk, as Node runs them."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.vscode.build import SOURCE, esbuild
from tests.support.editors import need

pytestmark = pytest.mark.editor

Call = Callable[..., Any]

HOME = "/home/me"
LINKS = f"{HOME}/.local/bin/magent-lsp"
OF_PIPX = f"{HOME}/.local/share/pipx/venvs/magent-lsp/bin/magent-lsp"
OF_UV = f"{HOME}/.local/share/uv/tools/magent-lsp/bin/magent-lsp"


CALLED = """
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [file, name, ...rest] = JSON.parse(line);
  console.log(JSON.stringify(require(file)[name](...rest)));
});
"""


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Calls a function of a source file: `call("lines", "linesOf", argument, …)`."""
    folder = tmp_path_factory.mktemp("logic")
    command = [need("node", "install Node.js 20"), "-e", CALLED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        asked, told = node.stdin, node.stdout

        def run(source: str, function: str, *arguments: Any) -> Any:
            bundle = folder / f"{source}.js"
            if not bundle.exists():
                esbuild(SOURCE / f"src/{source}.ts", bundle)
            print(json.dumps([str(bundle), function, *arguments]), file=asked, flush=True)
            return json.loads(told.readline())

        yield run
        asked.close()


def find(call: Call, platform: str = "linux", home: str = HOME, **env: str) -> list[str]:
    """Where the server is looked for, in order."""
    found: list[str] = call(
        "places", "places", "magent-lsp", {"platform": platform, "env": env, "home": home}
    )
    return found


def test_without_variables_the_defaults_of_pipx_and_uv_are_looked_at(call: Call) -> None:
    """An editor that was started from a menu has not the PATH of a shell."""
    old = f"{HOME}/.local/pipx/venvs/magent-lsp/bin/magent-lsp"
    assert find(call, PATH="/usr/bin:/bin") == [
        *("/usr/bin/magent-lsp", "/bin/magent-lsp"),
        *(LINKS, old, OF_PIPX, OF_UV),
    ]
    assert find(call) == [LINKS, old, OF_PIPX, OF_UV]


def test_the_path_is_first_and_nothing_relative_counts(call: Call) -> None:
    """A program in the folder of the project is the project's, not the person's."""
    found = find(call, PATH=f":.:bin:{HOME}/.local/bin:/opt/x", XDG_BIN_HOME="bin", UV_TOOL_DIR="tools")
    assert found[:2] == [LINKS, "/opt/x/magent-lsp"]
    assert [path for path in found if not path.startswith("/")] == []
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("variable", "value", "path"),
    [
        ("PIPX_BIN_DIR", "~/programs", f"{HOME}/programs/magent-lsp"),
        ("PIPX_HOME", "/srv/pipx", "/srv/pipx/venvs/magent-lsp/bin/magent-lsp"),
        ("PIPX_HOME", "~/px", f"{HOME}/px/venvs/magent-lsp/bin/magent-lsp"),
        ("UV_TOOL_BIN_DIR", "/srv/bin", "/srv/bin/magent-lsp"),
        ("UV_TOOL_DIR", "/srv/tools", "/srv/tools/magent-lsp/bin/magent-lsp"),
        ("XDG_BIN_HOME", "/srv/xdg/bin", "/srv/xdg/bin/magent-lsp"),
        ("XDG_DATA_HOME", "/srv/data", "/srv/data/uv/tools/magent-lsp/bin/magent-lsp"),
        ("XDG_DATA_HOME", "/srv/data", "/srv/data/pipx/venvs/magent-lsp/bin/magent-lsp"),
        ("XDG_DATA_HOME", "/srv/data", "/srv/bin/magent-lsp"),
    ],
)
def test_what_the_variables_of_pipx_and_uv_say_comes_before_their_defaults(
    call: Call, variable: str, value: str, path: str
) -> None:
    found = find(call, **{variable: value})
    default = LINKS if "venvs" not in path and "tools" not in path else OF_PIPX if "venvs" in path else OF_UV
    assert found.index(path) < found.index(default)


def test_windows_and_macos_have_places_of_their_own(call: Call) -> None:
    me = "C:\\Users\\me"
    app = f"{me}\\AppData"
    found = find(call, "win32", me, PATH="C:\\bin;.", LOCALAPPDATA=f"{app}\\Local", APPDATA=f"{app}\\Roaming")
    inside = "magent-lsp\\Scripts\\magent-lsp.exe"
    assert found == [
        "C:\\bin\\magent-lsp.exe",
        f"{me}\\.local\\bin\\magent-lsp.exe",
        f"{me}\\.local\\pipx\\venvs\\{inside}",
        f"{me}\\pipx\\venvs\\{inside}",
        f"{app}\\Local\\pipx\\pipx\\venvs\\{inside}",
        f"{app}\\Local\\pipx\\venvs\\{inside}",
        f"{app}\\Roaming\\uv\\tools\\{inside}",
        f"{app}\\Roaming\\uv\\data\\tools\\{inside}",
    ]
    support = "/Users/me/Library/Application Support"
    assert f"{support}/uv/tools/magent-lsp/bin/magent-lsp" in find(call, "darwin", "/Users/me")
    assert f"{support}/pipx/venvs/magent-lsp/bin/magent-lsp" in find(call, "darwin", "/Users/me")


def between(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    """A range as LSP has it."""
    return {
        side: dict(zip(("line", "character"), at, strict=True))
        for side, at in (("start", start), ("end", end))
    }


@pytest.mark.parametrize(
    ("start", "end", "lines", "words"),
    [
        ((12, 0), (14, 5), (12, 15), ":13-15"),
        ((12, 4), (15, 0), (12, 15), ":13-15"),
        ((12, 0), (13, 0), (12, 13), ":13"),
        ((12, 3), (12, 3), (12, 13), ":13"),
    ],
)
def test_a_selection_means_whole_lines(
    call: Call, start: tuple[int, int], end: tuple[int, int], lines: tuple[int, int], words: str
) -> None:
    found = call("lines", "linesOf", between(start, end))
    assert (found["first"], found["end"]) == lines
    assert call("lines", "lineWords", found) == words


# The lines 2 to 4, of which the last has 6 characters: "zero\none\ntwo__\nthree_\nfour__\nfive\nsix".
@pytest.mark.parametrize(
    ("what", "start", "end", "text", "lines"),
    [
        ("a line above", (0, 0), (0, 0), "new\n", (3, 6)),
        ("above is deleted", (0, 0), (1, 0), "", (1, 4)),
        ("right before the first", (2, 0), (2, 0), "new\n", (3, 6)),
        ("the line before is joined to the first", (1, 3), (2, 0), "", (1, 4)),
        ("within the first", (2, 1), (2, 2), "x\ny", (2, 6)),
        ("at the end of the last", (4, 6), (4, 6), "\nnew", (2, 5)),
        ("in the middle of the last", (4, 3), (4, 3), "\n", (2, 6)),
        ("a whole line of them is deleted", (3, 0), (4, 0), "", (2, 4)),
        ("all of them are deleted", (2, 0), (5, 0), "", (2, 2)),
        ("below", (5, 0), (5, 2), "a\nb\nc", (2, 5)),
        ("across the start", (1, 1), (3, 2), "x\ny", (3, 4)),
        ("across the end", (3, 2), (5, 2), "x", (2, 3)),
        ("across all", (0, 2), (6, 1), "x\ny\nz", (3, 3)),
    ],
)
def test_lines_move_with_what_is_typed_around_them(
    call: Call, what: str, start: tuple[int, int], end: tuple[int, int], text: str, lines: tuple[int, int]
) -> None:
    """As the server has it: what stands before, behind or across the border is not theirs."""
    found = call("lines", "moved", {"first": 2, "end": 5}, 6, [{"range": between(start, end), "text": text}])
    assert (found["first"], found["end"]) == lines, what


def test_several_cursors_write_at_once(call: Call) -> None:
    changes = [{"range": between((line, 0), (line, 0)), "text": "#\n"} for line in (5, 3, 0)]
    assert call("lines", "moved", {"first": 2, "end": 5}, 6, changes) == {"first": 3, "end": 7}


SHOWN = """
import { Thread } from %s;
const thread = new Thread("session");
for (const envelope of JSON.parse(process.argv[2] ?? "")) thread.apply(envelope, envelope.runId !== "run-0");
console.log(JSON.stringify(thread.items));
"""


@pytest.mark.parametrize(
    ("asking", "delegated"),
    [("run-1", []), ("run-0", []), ("run-0", ["call_1"])],
    ids=["its own run asks", "the run of the person asks", "whose call is named alike too"],
)
def test_calls_of_two_subagents_are_two_although_their_provider_names_both_alike(
    tmp_path: Path, asking: str, delegated: list[str]
) -> None:
    """Such a provider counts from one in every run; the card of one would show the other's command."""
    source = tmp_path / "shown.ts"
    source.write_text(SHOWN % json.dumps(str(SOURCE / "src/thread")))
    esbuild(source, tmp_path / "shown.js")
    call = {"toolCallId": "call_1", "name": "bash", "kind": "execute", "status": "pending", "paths": []}
    delegate = {"type": "tool_call_started", "name": "delegate", "kind": "other", "status": "in_progress"}
    events = [
        *(("run-0", {**delegate, "toolCallId": name, "title": "Delegate"}) for name in delegated),
        ("run-1", {"type": "tool_call_started", **call, "title": "Run a"}),
        ("run-2", {"type": "tool_call_started", **call, "title": "Run b"}),
        (
            asking,
            {
                "type": "permission_requested",
                **call,
                "tool": "bash",
                "requestId": "1",
                "title": "Run a, asked",
                "command": "a",
            },
        ),
        ("run-2", {"type": "tool_call_finished", **call, "title": "Run b", "status": "failed"}),
    ]
    envelopes = json.dumps([{"runId": run, "event": event} for run, event in events])
    command = [need("node", "install Node.js 20"), str(tmp_path / "shown.js"), envelopes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    items = json.loads(done.stdout)[len(delegated) :]
    shown = [(item["title"], item.get("command"), item["status"]) for item in items]
    assert shown == [("Run a, asked", "a", "pending"), ("Run b", None, "failed")]
