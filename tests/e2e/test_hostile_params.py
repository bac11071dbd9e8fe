"""Whatever a client sends, the server answers each request once, stays itself, and goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magent_lsp.lsp.commands.registry import COMMANDS
from tests.support.lsp_client import LspClient, ResponseError, editor


def _words(text: str) -> list[str]:
    return text.split()


PY = "def f():\n    return 1  # 🦄\n"

WORDS = st.sampled_from(
    [
        "",
        "\0",
        "a.py",
        "file:///",
        "file:///nowhere/at/all",
        "file://server/share/a.py",
        "untitled:Untitled-1",
        "http://[::1",
        "https://example.com/x",
        "git:/a.py?%7B%7D",
        "file:///%00",
        "file:///%ff%fe",
        "jdt://contents/x.class",
        "not a uri",
        "\ud800",
        "é" * 3000,
        "../../etc/passwd",
        "~",
        "run-1",
        "allow_once",
        "__class__",
        "/help",
        "/",
        "/nope",
        "*",
        "build",
        "plan",
        "line",
        "region",
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    WORDS,
    st.text(max_size=8),
)
KEYS = st.one_of(
    st.sampled_from(
        _words(
            "prompt uri range position start end line character agent sessionId runId requestId reply "
            "message diagnostics scope model question tool arguments folder text title format name path "
            "mode digest grantId messageId feedback textDocument contentChanges context only version "
            "languageId"
        )
    ),
    st.text(max_size=6),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)


NAMES = _words(
    "prompt ask steer cancel status pending respond undo redo agents models tools skills slashCommands "
    "sessions searchSessions newSession forkSession renameSession summarizeSession exportSession "
    "compactSession deleteSession saveAgent explainPermission grants revokeGrant trust openChat send doctor"
)

EXPECTED = (-32602, -32803, -32601, -32800, -32600)
"""Errors that tell a client what it did wrong; -32603 would be our fault."""

METHODS = _words(
    "textDocument/didOpen textDocument/didChange textDocument/didClose textDocument/didSave "
    "workspace/didChangeConfiguration workspace/didChangeWatchedFiles workspace/didChangeWorkspaceFolders "
    "window/workDoneProgress/cancel $/cancelRequest $/setTrace initialized $/progress no/such"
)
REQUESTS = _words(
    "textDocument/codeAction textDocument/completion magent/ask magent/wait workspace/executeCommand"
)


def arguments() -> st.SearchStrategy[Any]:
    """An object with the right keys and odd values, which reaches further than noise."""
    place = st.fixed_dictionaries({"line": LEAVES, "character": LEAVES})
    good = st.fixed_dictionaries({"line": st.integers(0, 2**31), "character": st.integers(0, 2**31)})
    stretch = st.fixed_dictionaries({"start": st.one_of(good, place), "end": st.one_of(good, place)})
    fields = {
        "prompt": st.one_of(WORDS, LEAVES),
        "uri": st.one_of(WORDS, st.just("@a.py"), LEAVES),
        "range": st.one_of(stretch, JSON),
        "position": st.one_of(good, place, JSON),
        "scope": st.one_of(st.sampled_from(["line", "region", "buffer", "directory", "project"]), LEAVES),
        "agent": st.one_of(WORDS, LEAVES),
        "sessionId": st.one_of(WORDS, LEAVES),
        "runId": st.one_of(WORDS, LEAVES),
        "diagnostics": JSON,
        "text": LEAVES,
        "title": LEAVES,
        "tool": st.one_of(st.sampled_from(["bash", "read_file", "fetch", "edit_file", "nope"]), LEAVES),
        "arguments": st.one_of(
            st.fixed_dictionaries({}, optional={"command": LEAVES, "path": LEAVES, "url": LEAVES}), JSON
        ),
        "requestId": LEAVES,
        "reply": st.one_of(st.just("reject"), LEAVES),
        "folder": WORDS,
        "name": st.one_of(WORDS, LEAVES),
        "format": st.one_of(st.just("json"), LEAVES),
        "model": st.one_of(WORDS, LEAVES),
        "question": LEAVES,
        "grantId": LEAVES,
        "path": st.one_of(WORDS, LEAVES),
        "messageId": LEAVES,
    }
    return st.fixed_dictionaries({}, optional=fields)


MESSAGE = st.one_of(
    st.tuples(
        st.just("command"),
        st.sampled_from(NAMES),
        st.one_of(arguments().map(lambda a: [a]), st.lists(JSON, max_size=3), JSON),
    ),
    st.tuples(st.just("request"), st.sampled_from(REQUESTS), st.one_of(JSON, arguments())),
    st.tuples(st.just("notify"), st.sampled_from(METHODS), st.one_of(JSON, arguments())),
)


def wired(value: Any, uri: str) -> Any:
    """The value with the file's URI in it, as JSON that can be sent."""
    text = json.dumps(value).replace('"@a.py"', json.dumps(uri))
    return json.loads(text)


async def throw(client: LspClient, messages: list[Any], uri: str) -> None:
    """Send messages; every request must be answered, with a result or an error that says something."""
    waiting = []
    for kind, name, params in messages:
        params = wired(params, uri)
        if kind == "command":
            _, answer = client.send_request(
                "workspace/executeCommand", {"command": f"magent.{name}", "arguments": params}
            )
            waiting.append((kind, name, params, answer))
        elif kind == "request":
            if name == "magent/wait" and isinstance(params, dict):
                params.pop("runId", None)
            _, answer = client.send_request(name, params)
            waiting.append((kind, name, params, answer))
        else:
            client.notify(name, params)
    for kind, name, params, answer in waiting:
        await asyncio.wait([answer], timeout=15)
        assert answer.done(), f"no answer to {kind} {name} {params!r}"
        error = answer.exception()
        if error is not None:
            assert isinstance(error, ResponseError)
            assert error.code in EXPECTED, (name, params, str(error))
            assert error.message


async def still_right(client: LspClient) -> None:
    """The server does what it always did."""
    await client.command("magent.cancel")
    client.notify("workspace/didChangeConfiguration", {"settings": {"magent": None}})
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": "untitled:fine", "languageId": "x", "version": 1, "text": PY}},
    )
    run = await client.command("magent.prompt", prompt="hello", uri="untitled:fine")
    finished = await client.finished(run["runId"])
    assert finished["stopReason"] == "end_turn", finished
    assert finished["text"] == "Hello."


@pytest.mark.slow
def test_no_params_of_any_shape_stop_the_server(tmp_path: Path) -> None:
    """One server takes hundreds of bursts of messages made of noise and near-misses."""
    with asyncio.Runner() as runner:
        context = editor(
            tmp_path,
            script=[{"text": "Hello.", "repeat": True}],
            files={"a.py": PY},
        )
        client = runner.run(context.__aenter__())
        client.always = "Reject"
        uri = runner.run(_open(client))

        @settings(
            max_examples=60,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(MESSAGE, min_size=1, max_size=8))
        def burst(messages: list[Any]) -> None:
            runner.run(throw(client, messages, uri))

        try:
            burst()
            runner.run(still_right(client))
        finally:
            runner.run(context.__aexit__(None, None, None))
    printed = (tmp_path / "stderr.txt").read_text()
    assert "Traceback" not in printed, printed[-4000:]


ODD_NAMES = (
    *("x\ud83dy", "/x\ud83dy", "file:///x\ud83dy", "\udcc3\udca9"),
    *("/x\0y", "file:///x%00y"),
    *("~no such person/x", "scripted:~no such person/x"),
)
ODD_TEXTS = [name + end for name in ODD_NAMES for end in ("", ".md")]
FULL = {
    "prompt": {"prompt": "p"},
    "ask": {"uri": "@a.py", "position": {"line": 0, "character": 0}},
    "saveAgent": {"name": "poet", "description": "d", "prompt": "p"},
    "explainPermission": {"tool": "bash", "arguments": {}},
}
"""What a command needs at least, if not only the field that is tried."""


async def test_no_field_of_a_command_trips_over_what_no_file_can_hold(tmp_path: Path) -> None:
    """Halves of characters, which no UTF-8 has, NUL, nobody's home: in every field, alone or in an object."""
    script = [{"text": "Hello.", "repeat": True}]
    async with editor(tmp_path, script=script, files={"a.py": PY}) as client:
        uri = await _open(client)
        messages = [
            ("command", name, [{**FULL.get(name, {}), field.alias: value}])
            for name in NAMES
            for field in COMMANDS[f"magent.{name}"].arguments.model_fields.values()
            for text in ODD_TEXTS
            for value in (text, {"a": text}, {text: "allow"})
        ]
        assert len(messages) > 1000
        await throw(client, messages, uri)
        await still_right(client)
        for agent in (tmp_path / "ws/.magent/agent").glob("*"):
            agent.read_bytes().decode()
    printed = (tmp_path / "stderr.txt").read_text()
    assert "Traceback" not in printed, printed[-4000:]


async def _open(client: LspClient) -> str:
    return client.open("a.py").uri
