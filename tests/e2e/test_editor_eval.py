"""`editor_eval`: code in the person's own editor runs only after a yes, and only where the client can."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import ResponseError, editor

SCRIPT = [
    {"text": "", "calls": [{"tool": "editor_eval", "arguments": {"code": "(emacs-version)"}}]},
    {"text": "Done."},
]
OPEN = {"permission": {"editor_eval": "allow"}}
"""Even then it is asked each time."""


def finished_calls(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Status and output of each tool call."""
    return [(e["status"], e.get("output", "")) for e in events if e["type"] == "tool_call_finished"]


async def test_the_code_is_shown_asked_for_and_run(tmp_path: Path) -> None:
    can = {"events": True, "eval": "elisp"}
    async with editor(tmp_path, script=SCRIPT, client=can, settings=OPEN) as client:
        ran: list[str] = []
        client.on["magent/eval"] = lambda params: ran.append(params["code"]) or {"value": "29.4"}
        client.always = "Allow once"
        run = await client.command("magent.prompt", prompt="which emacs?")
        await client.finished(run["runId"])
        assert ran == ["(emacs-version)"]
        [question] = client.questions
        assert "(emacs-version)" in question["message"]
        assert not any("Always" in action["title"] for action in question["actions"])
        assert finished_calls(client.of_run(run["runId"])) == [("completed", "29.4")]


async def test_a_no_runs_nothing(tmp_path: Path) -> None:
    can = {"events": True, "eval": "elisp"}
    async with editor(tmp_path, script=SCRIPT, client=can, settings=OPEN) as client:
        ran: list[Any] = []
        client.on["magent/eval"] = lambda params: ran.append(params)
        client.always = "Reject"
        run = await client.command("magent.prompt", prompt="which emacs?")
        assert (await client.finished(run["runId"]))["stopReason"] == "rejected"
        assert ran == []


def _fails(params: Any) -> Any:
    raise ResponseError({"code": -32603, "message": "no such thing"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda params: {"error": "void-function nope"}, "void-function nope"),
        (lambda params: None, "answered nothing"),
        (lambda params: {"value": 3}, "answered nothing"),
        (_fails, "no such thing"),
    ],
    ids=["error", "null", "odd", "refused"],
)
async def test_what_goes_wrong_is_said_to_the_model(tmp_path: Path, answer: Any, said: str) -> None:
    can = {"events": True, "eval": "elisp"}
    async with editor(tmp_path, script=SCRIPT, client=can) as client:
        client.on["magent/eval"] = answer
        client.always = "Allow once"
        run = await client.command("magent.prompt", prompt="which emacs?")
        await client.finished(run["runId"])
        [(status, output)] = finished_calls(client.of_run(run["runId"]))
        assert status == "failed"
        assert said in output


async def test_other_clients_are_not_offered_it(tmp_path: Path) -> None:
    async with editor(tmp_path, script=SCRIPT, client={"events": True}, settings=OPEN) as client:
        offered = [tool["name"] for tool in await client.command("magent.tools")]
        assert "editor_eval" not in offered
        run = await client.command("magent.prompt", prompt="which emacs?")
        await client.finished(run["runId"])
        [(status, output)] = finished_calls(client.of_run(run["runId"]))
        assert status == "failed"
        assert "no tool 'editor_eval'" in output
