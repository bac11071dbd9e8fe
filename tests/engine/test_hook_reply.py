"""What a hook says, by its output and its exit code, and the forms in which it is told."""

from typing import Any

import pytest

from magent_lsp.engine.hook_forms import from_claude, to_claude
from magent_lsp.engine.hook_reply import failure, merged, read_reply
from magent_lsp.store.hooks import Hook


def hook(event: str = "PreToolUse", **more: Any) -> Hook:
    return Hook(event=event, command="guard", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("out", "verdict"),
    [
        ("", "allow"),
        ("plain words", "allow"),
        ('{"decision": "approve"}', "allow"),
        ('{"decision": "block"}', "deny"),
        ('{"hookSpecificOutput": {"permissionDecision": "ask"}}', "ask"),
        ('{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}', "deny"),
        ('{"hookSpecificOutput": []}', "ask"),
        ('{"continue": "no"}', "ask"),
        ("[1]", "allow"),
        ('{"unknown": {"deep": [1]}}', "allow"),
        ("{" * 100_000, "ask"),
    ],
)
def test_what_a_hook_says(out: str, verdict: str) -> None:
    assert read_reply(hook(), 0, out, "").verdict == verdict


def test_plain_output_is_context_only_where_something_begins() -> None:
    assert read_reply(hook("SessionStart"), 0, "hello\n", "").context == "hello"
    assert read_reply(hook("PostToolUse"), 0, "hello\n", "").context == ""


@pytest.mark.parametrize(
    ("code", "verdict"), [(1, "allow"), (127, "ask"), (-9, "ask"), (137, "ask"), (2, "deny")]
)
def test_exit_codes(code: int, verdict: str) -> None:
    assert read_reply(hook(), code, "", "").verdict == verdict
    assert read_reply(hook(fail_closed=True), code, "", "").verdict == "deny"
    assert read_reply(hook("PostToolUse", fail_closed=True), 1, "", "").verdict == "allow"


def test_several_replies() -> None:
    deny = read_reply(hook(), 2, "", "no")
    ask = failure(hook(), "crashed", crashed=True)
    reply = merged([read_reply(hook(), 0, '{"updatedInput": {"a": 1}, "systemMessage": "m"}', ""), ask, deny])
    assert (reply.verdict, reply.reason, reply.updated, reply.messages) == ("deny", "no", {"a": 1}, ("m",))
    assert reply.problems == ask.problems
    assert merged([]).verdict == "allow"


@pytest.mark.parametrize(
    ("tool", "names", "ours", "theirs"),
    [
        ("read_file", ("Read",), {"path": "a", "limit": 3}, ("Read", {"file_path": "a", "limit": 3})),
        ("bash", ("Bash",), {"command": "x", "timeout": 1.5}, ("Bash", {"command": "x", "timeout": 1500})),
        (
            "edit_file",
            ("Edit",),
            {"path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
            ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "edit_file",
            ("Edit", "MultiEdit"),
            {"path": "a", "edits": [{"old_string": "x"}, {"old_string": "y"}]},
            ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x"}, {"old_string": "y"}]}),
        ),
        (
            "delegate",
            ("Task",),
            {"agent": "explore", "prompt": "p", "background": True},
            ("Task", {"subagent_type": "explore", "prompt": "p", "run_in_background": True}),
        ),
    ],
)
def test_claude_s_form_of_a_call(
    tool: str, names: tuple[str, ...], ours: dict[str, Any], theirs: tuple[str, dict[str, Any]]
) -> None:
    assert to_claude(tool, names, ours) == theirs
    back = from_claude(tool, theirs[1])
    assert back == ours or (tool == "edit_file" and back["path"] == "a")


@pytest.mark.parametrize(("code", "mend"), [(126, "chmod +x"), (127, "command that exists")])
def test_a_hook_that_could_not_be_started_says_what_to_do(code: int, mend: str) -> None:
    [problem] = read_reply(Hook(event="Stop", command="check.sh"), code, "", "sh: 1: no").problems
    assert mend in problem
