"""Questions and proposals reach the person in every kind of client, and the answer reaches the model."""

import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio

from tests.support.lsp_client import NO_ANSWER, editor
from tests.support.lsp_profiles import POOR, VSCODE, Profile
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLACE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
SHOUT = call("ask_user", question="Tabs or blanks?\nIt matters.", options=["Tabs", "Blanks"])
MANY = call("ask_user", question="Which ones?", options=["One", "Two", "Three"], multiple=True)
FREE = call("ask_user", question="What is it called?")
TEXT = call("propose", title="Commit message", content="Add a thing\n\nIt is new.")


def no_dialogs() -> Profile:
    return Profile("no dialogs", copy.deepcopy(VSCODE.capabilities), dialogs=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stock(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A stock client with dialogs and documents, which declares nothing of ours but events."""
    async with on_stage(tmp_path_factory.mktemp("asking"), files={"a.py": "x\n"}) as stage:
        stage.client.always = lambda params: NO_ANSWER
        stage.client.open("a.py")
        yield stage


async def choose(stage: Stage, title: str) -> None:
    uri = (stage.workspace / "a.py").as_uri()
    found = [a for a in await stage.client.actions(uri, PLACE) if a["title"].startswith(f"Magent: {title}")]
    assert found, title
    assert await stage.client.act(found[0]) == {"ok": True}


async def asked(stage: Stage, part: str, question: Any) -> dict[str, Any]:
    """Start a run that asks, and wait until the person is asked."""
    stage.cast(part, say("", question), say("Thanks."))
    before = len(stage.client.questions)
    run = await stage.start(part)
    await stage.client.until(lambda: len(stage.client.questions) > before)
    return run


def shown(stage: Stage) -> Path:
    return Path(unquote(urlsplit(stage.client.shown[-1]["uri"]).path))


async def test_a_choice_is_a_message_request(stock: Stage) -> None:
    stock.client.answers.append("Blanks")
    run = await stock.ended(await asked(stock, "ask by button", SHOUT))
    assert run.results("ask_user") == ["The user chose: Blanks"]
    assert [a["title"] for a in stock.client.questions[-1]["actions"]] == ["Tabs", "Blanks"]
    assert "It matters." in stock.client.questions[-1]["message"]


async def test_while_a_choice_waits_the_run_says_so_and_a_code_action_answers_it(stock: Stage) -> None:
    run = await asked(stock, "ask by action", SHOUT)
    [info] = (await stock.client.command("magent.status"))["runs"]
    assert info["state"] == "waiting"
    await choose(stock, "Tabs: Tabs or blanks?")
    assert (await stock.ended(run)).results("ask_user") == ["The user chose: Tabs"]
    offered = await stock.client.actions((stock.workspace / "a.py").as_uri(), PLACE)
    assert not [action for action in offered if "Tabs" in action["title"]]


async def test_no_answer_is_no_choice(stock: Stage) -> None:
    stock.client.answers.append(None)
    run = await stock.ended(await asked(stock, "ask for nothing", SHOUT))
    assert "did not answer" in run.results("ask_user")[0]


@pytest.mark.parametrize(
    ("question", "old", "new", "result"),
    [
        (MANY, "- [ ] Two\n- [ ] Three", "- [x] Two\n- [X] Three", "The user chose: Two, Three"),
        (FREE, "below this line. -->\n", "below this line. -->\nGreta\n", "The user answered: Greta"),
    ],
)
async def test_what_no_button_can_hold_is_a_document(
    stock: Stage, question: Any, old: str, new: str, result: str
) -> None:
    run = await asked(stock, f"ask in a document {old}", question)
    path = shown(stock)
    buffer = stock.client.open(path, language="markdown")
    stock.client.type(buffer, old, new)
    await choose(stock, "Send the answer")
    assert (await stock.ended(run)).results("ask_user") == [result]
    assert path.read_text() != buffer.text, "what is not saved counts too"


async def test_a_document_that_is_not_wanted_is_no_answer(stock: Stage) -> None:
    run = await asked(stock, "ask in vain", FREE)
    await choose(stock, "Do not answer")
    assert "did not answer" in (await stock.ended(run)).results("ask_user")[0]


async def test_a_proposal_is_a_document_to_accept_change_or_refuse(stock: Stage) -> None:
    run = await asked(stock, "propose as it is", TEXT)
    assert shown(stock).read_text() == "Add a thing\n\nIt is new.\n"
    await choose(stock, "Accept: Commit message")
    assert (await stock.ended(run)).results("propose") == ["Accepted as it is."]

    run = await asked(stock, "propose to change", TEXT)
    buffer = stock.client.open(shown(stock), language="markdown")
    stock.client.type(buffer, "a thing", "the thing")
    await choose(stock, "Accept: Commit message")
    [result] = (await stock.ended(run)).results("propose")
    assert result.endswith("Add the thing\n\nIt is new.")

    run = await asked(stock, "propose in vain", TEXT)
    await choose(stock, "Reject: Commit message")
    assert (await stock.ended(run)).results("propose")[0].startswith("Rejected.")

    stock.client.answers.append("Accept")
    run = await asked(stock, "propose by button", TEXT)
    assert (await stock.ended(run)).results("propose") == ["Accepted as it is."]


async def test_a_dialog_that_goes_away_leaves_the_document(stock: Stage) -> None:
    stock.client.answers.append(None)
    run = await asked(stock, "propose and dismiss", TEXT)
    await stock.client.until(lambda: any("Commit message" in text for _, text in stock.client.messages))
    await choose(stock, "Accept: Commit message")
    assert (await stock.ended(run)).results("propose") == ["Accepted as it is."]


async def test_cancel_ends_a_question_and_late_answers_are_ignored(stock: Stage) -> None:
    run = await asked(stock, "ask and cancel", SHOUT)
    offered = await stock.client.actions((stock.workspace / "a.py").as_uri(), PLACE)
    [late] = [action for action in offered if action["title"].startswith("Magent: Tabs")]
    await stock.client.command("magent.cancel", runId=run["runId"])
    assert (await stock.ended(run)).stop == "cancelled"
    assert await stock.client.act(late) == {"ok": False}


async def test_clients_with_input_get_one_request(tmp_path: Path) -> None:
    script = [
        {
            "text": "",
            "calls": [
                {
                    "tool": "ask_user",
                    "arguments": {"question": "Which?", "options": ["A", "B"], "multiple": True},
                }
            ],
        },
        {"text": "", "calls": [{"tool": "propose", "arguments": {"title": "T", "content": "text"}}]},
        {"when": {"tool": "(?s)with changes.*other"}, "text": "Fine."},
    ]
    async with editor(tmp_path, script=script, client={"events": True, "input": True}) as client:
        got: list[dict[str, Any]] = []

        def input(params: dict[str, Any]) -> dict[str, Any]:
            got.append(params)
            return {"value": ["A", "B"] if params.get("multiple") else "other"}

        client.on["magent/input"] = input
        run = await client.command("magent.prompt", prompt="ask")
        assert (await client.finished(run["runId"]))["text"] == "Fine."
        calls = [e["toolCallId"] for e in client.of_run(run["runId"]) if e["type"] == "tool_call_started"]
        assert [(each.pop("runId"), each.pop("toolCallId")) for each in got] == [
            (run["runId"], call) for call in calls
        ]
        assert got[0] == {"title": "Which?", "message": "", "options": ["A", "B"], "multiple": True}
        assert got[1]["default"] == "text"
        assert client.questions == []


@pytest.mark.parametrize("profile", [POOR, no_dialogs()], ids=["poor", "no dialogs"])
async def test_clients_without_dialogs_answer_by_code_action(tmp_path: Path, profile: Profile) -> None:
    script = [
        {"text": "", "calls": [{"tool": "propose", "arguments": {"title": "T", "content": "text"}}]},
        {"when": {"tool": "Accepted as it is"}, "text": "Fine."},
    ]
    async with editor(tmp_path, script=script, profile=profile, files={"a.py": "x\n"}) as client:
        buffer = client.open("a.py")
        run = await client.command("magent.prompt", prompt="ask")
        await client.until(lambda: any("waits for your answer" in text for _, text in client.messages))
        actions = await client.actions(buffer.uri, PLACE)
        [accept] = [action for action in actions if action["title"] == "Magent: Accept: T"]
        await client.act(accept)
        assert (await client.finished(run["runId"]))["text"] == "Fine."
