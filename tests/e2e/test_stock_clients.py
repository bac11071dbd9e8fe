"""Clients that people use without a plugin of ours: the whole way works in all, whatever their habits."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from magent_lsp.lsp.chat.stream import LANDING
from tests.support.chat import Talk
from tests.support.lsp_client import NO_ANSWER, ResponseError, editor
from tests.support.lsp_profiles import VSCODE, Profile
from tests.support.model_server import ModelServer
from tests.support.stage import Stage
from tests.support.stock import (
    ALE,
    COC,
    HELIX,
    HELIX_25_01,
    KAKOUNE,
    KATE,
    STOCK,
    VIM_LSP,
    YEGAPPAN,
    Stock,
    at_stock,
)

TEXT = "def greet(name):\n    return 'hi ' + name\n\n\nprint(greet('you'))\n"
UNSAVED = TEXT + "# not on the disk 🦄\n"
OLD, NEW = "'hi ' + name", "'HI ' + name"

ANSWER = "One two three."

MESSAGE = "window/showMessageRequest"


def change(old: str = OLD, new: str = NEW) -> dict[str, Any]:
    edits = [{"old_string": old, "new_string": new}]
    return {"tool": "edit_file", "arguments": {"path": "a.py", "edits": edits}}


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    return {"text": "", "calls": list(made)}


SHOUT = [calls(change()), {"text": "It shouts now."}]

each = pytest.mark.parametrize("stock", STOCK, ids=lambda stock: stock.profile.name)


@each
async def test_select_choose_approve_and_undo(tmp_path: Path, stock: Stock) -> None:
    async with at_stock(tmp_path, stock, script=SHOUT, files={"a.py": TEXT}) as person:
        client = person.client
        buffer = client.open("a.py", UNSAVED)
        run = await person.choose(buffer, "Magent: Improve", "return")
        await person.answer(buffer, "Allow once")
        finished = await client.finished(run["runId"])
        assert finished["edits"] == [{"uri": buffer.uri, "outcome": "applied"}]
        assert buffer.text == UNSAVED.replace(OLD, NEW)
        assert (tmp_path / "ws/a.py").read_text() == TEXT
        report = await person.choose(buffer, "Magent: Undo")
        assert report == {"restored": [buffer.uri], "conflicts": []}
        assert buffer.text == UNSAVED


@each
async def test_the_person_sees_the_difference_before_the_answer(tmp_path: Path, stock: Stock) -> None:
    async with at_stock(tmp_path, stock, script=SHOUT, files={"a.py": TEXT}) as person:
        buffer = person.client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Reject")
        finished = await person.client.finished(run["runId"])
        assert finished["stopReason"] == "rejected"
        asked = [question["message"] for question in person.client.questions]
        shown = "\n".join(text for _, text in person.client.messages) if stock.by_action else asked[0]
        assert f"+    return {NEW}" in shown
        assert buffer.text == TEXT
        assert person.client.edits == []


@each
async def test_cancel_by_code_action(tmp_path: Path, stock: Stock) -> None:
    script = [{"when": {"user": "Explain"}, "text": ["a ", "b"], "delay": 60}, *SHOUT]
    async with at_stock(tmp_path, stock, script=script, files={"a.py": TEXT}) as person:
        buffer = person.client.open("a.py")
        run = await person.choose(buffer, "Magent: Explain")
        await person.choose(buffer, "Magent: Cancel")
        assert (await person.client.finished(run["runId"], seconds=5))["stopReason"] == "cancelled"
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Allow once")
        await person.client.finished(run["runId"])
        assert buffer.text == TEXT.replace(OLD, NEW), "it works on afterwards"


ANSWERS = {
    "several-lines": "It greets:\n\n```python\ngreet('x')\n```\n",
    "a-long-line": "It greets. " * 40 + "greet('x')",
}


@each
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_that_a_line_does_not_hold_can_be_read(
    tmp_path: Path, stock: Stock, answer: str
) -> None:
    """Where a client has no way to open it, the message says where it is."""
    script = [{"text": answer}]
    async with at_stock(tmp_path, stock, script=script, files={"a.py": TEXT}) as person:
        client = person.client
        buffer = client.open("a.py")
        await person.choose(buffer, "Magent: Explain")
        if stock in (COC, HELIX):
            await client.until(lambda: client.shown)
            return
        [text] = await client.until(lambda: [text for _, text in client.messages if "It is in " in text])
        path = Path(text.partition("It is in ")[2].removesuffix(", too."))
        assert "greet('x')" in path.read_text()
        one_line = stock in (VIM_LSP, YEGAPPAN, HELIX_25_01, KAKOUNE)
        assert any("\n" in text for _, text in client.messages) != one_line
        assert not one_line or text.startswith("It is in "), "a line of its own, the last"
        assert "greet('x')" in "\n".join(text for _, text in client.messages)


@each
async def test_two_edits_and_a_new_file(tmp_path: Path, stock: Stock) -> None:
    new = {"tool": "write_file", "arguments": {"path": "new/b.py", "content": "x = 1\n"}}
    script = [calls(change(), change("greet('you')", "greet('me')"), new), {"text": "All."}]
    async with at_stock(tmp_path, stock, script=script, files={"a.py": TEXT}) as person:
        buffer = person.client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        for _ in range(3):
            await person.answer(buffer, "Allow once")
        finished = await person.client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied"] * 3
        assert buffer.text == TEXT.replace(OLD, NEW).replace("'you'", "'me'")
        assert (tmp_path / "ws/new/b.py").read_text() == "x = 1\n"


@each
@pytest.mark.parametrize("end", ["\n", ""], ids=["with-break", "without"])
async def test_lines_at_the_end_of_a_file(tmp_path: Path, stock: Stock, end: str) -> None:
    """Kakoune has no place behind the last line break: what is meant for it lands before."""
    last = "print(greet('you'))\n"
    script = [calls(change(last, f"{last}print('more'){end}")), {"text": "More."}]
    async with at_stock(tmp_path, stock, script=script, files={"a.py": TEXT}) as person:
        buffer = person.client.open("a.py", f"# mine\n{TEXT}")
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Allow once")
        finished = await person.client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied"]
        ends = "\n" if stock is KAKOUNE else end  # which ends each text with one
        assert buffer.text == f"# mine\n{TEXT}print('more'){ends}"
        await person.choose(buffer, "Magent: Undo")
        assert buffer.text == f"# mine\n{TEXT}"


@pytest.mark.parametrize("stock", [HELIX, HELIX_25_01, KAKOUNE], ids=lambda stock: stock.profile.name)
async def test_a_conversation_is_written_below_its_end(tmp_path: Path, stock: Stock) -> None:
    script = [{"text": ["One ", "two ", "three."], "delay": 0.3, "repeat": True}]
    async with at_stock(tmp_path, stock, script=script) as person:
        talk = Talk(Stage(person.client, ModelServer(), tmp_path), "talk", "Hi")
        for _ in range(2):
            await talk.send()
            talk.write("And?\n")
        text = talk.text.partition("## You")[2]
        turn = f"\n\n## Magent\n\n{ANSWER}\n\n## You\n\nAnd?"
        assert text == f"\n\nHi{turn}{turn}\n"


NAMED = {"coc.nvim": True, "helix": True, "kakoune-lsp": True, "Visual Studio Code": False}


@pytest.mark.parametrize("name", NAMED)
async def test_a_bare_return_allows_nothing(tmp_path: Path, name: str) -> None:
    """Their dialogs have the first button chosen already, and may come up while a person types."""
    profile = Profile(name, VSCODE.capabilities, client=name)
    async with editor(tmp_path, profile=profile, script=SHOUT, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")
        client.answers.append(NO_ANSWER)
        run = await client.command("magent.prompt", prompt="shout")
        await client.until(lambda: client.questions)
        offered = [action["title"] for action in await client.actions(buffer.uri, buffer.range("return"))]
        answers = [title for title in offered if title.endswith(": Edit a.py")]
        assert answers[0 if NAMED[name] else -1] == "Magent: Reject: Edit a.py", "the second way to answer"
        await client.command("magent.cancel", runId=run["runId"])
        await client.finished(run["runId"])
        titles = [action["title"] for action in client.questions[0]["actions"]]
        assert (titles[0] == "Reject") == NAMED[name]
        assert titles[0 if NAMED[name] else -1] == "Reject"


async def test_only_what_vim_lsp_can_answer_is_offered(tmp_path: Path) -> None:
    """Of a list it gives the first answer only: any other would be a no that the person did not say."""
    ask = {"tool": "ask_user", "arguments": {"question": "Which?", "options": ["one", "two"]}}
    script = [calls(change()), calls(ask), {"when": {"tool": "two"}, "text": "Two."}, {"text": "Lost."}]
    async with at_stock(tmp_path, VIM_LSP, script=script, files={"a.py": TEXT}) as person:
        client = person.client
        buffer = client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Allow once")
        await client.until(lambda: any("Magent waits for your answer" in text for _, text in client.messages))
        await person.choose(buffer, "Magent: two")
        assert (await client.finished(run["runId"]))["text"] == "Two."
        [asked] = [question for question in client.questions if question.get("actions")]
        assert [action["title"] for action in asked["actions"]] == ["Allow once", "Reject"]


async def test_what_a_person_inserts_in_vim_meanwhile_is_known_before_the_edit(tmp_path: Path) -> None:
    """vim-lsp tells of nothing while a person inserts text, and compares no versions."""
    settings = {"permission": {"edit_file": "allow"}}
    script = [{**SHOUT[0], "first_delay": 1}, SHOUT[1]]
    files = {"a.py": TEXT}
    async with at_stock(tmp_path, VIM_LSP, script=script, files=files, settings=settings) as person:
        buffer = person.client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        buffer.apply([{"range": buffer.range("def"), "newText": "# one\n# two\ndef"}])
        finished = await person.client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied"]
        assert buffer.text == f"# one\n# two\n{TEXT.replace(OLD, NEW)}"


async def test_vim_lsp_tells_of_a_hidden_buffer_later(tmp_path: Path) -> None:
    """Until then its word counts; a person who then types in that buffer is alarmed by nothing."""
    settings = {"permission": {"edit_file": "allow"}}
    script = [calls(change()), calls(change("'HI ' + name", "'Hi, ' + name")), {"text": "Done."}]
    files = {"a.py": TEXT, "b.py": "x = 1\n"}
    async with at_stock(tmp_path, VIM_LSP, script=script, files=files, settings=settings) as person:
        client = person.client
        hidden, shown = client.open("a.py"), client.open("b.py")
        run = await person.choose(shown, "Magent: Improve")
        finished = await client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied", "applied"]
        said = len(client.messages)
        client.type(hidden, "def greet", "# mine\ndef greet")
        assert (await person.choose(hidden, "Magent: Undo"))["conflicts"] == []
        assert hidden.text == f"# mine\n{TEXT}"
        assert len(client.messages) == said


async def test_kate_takes_each_edit_after_an_action_only(tmp_path: Path) -> None:
    """Two seconds later it would refuse, and the agent would be told that the person did."""
    settings = {"permission": {"edit_file": "allow"}}
    script = [
        {**calls(change()), "first_delay": 2.5},
        {**calls(change("greet('you')", "greet('me')")), "first_delay": 2.5},
        {"text": "Done."},
    ]
    async with at_stock(tmp_path, KATE, script=script, files={"a.py": TEXT}, settings=settings) as person:
        client = person.client
        buffer = client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        await person.answer(buffer, "Go ahead: Edit a.py")
        await person.answer(buffer, "Leave it: Edit a.py")
        finished = await client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied", "rejected"]
        assert buffer.text == TEXT.replace(OLD, NEW)
        assert len(client.edits) == 1
        assert await client.command("magent.cancel") == {"cancelled": []}


async def test_a_run_that_waits_for_its_moment_can_be_cancelled(tmp_path: Path) -> None:
    settings = {"permission": {"edit_file": "allow"}}
    script = [{**SHOUT[0], "first_delay": 2.5}, SHOUT[1]]
    async with at_stock(tmp_path, ALE, script=script, files={"a.py": TEXT}, settings=settings) as person:
        client = person.client
        buffer = client.open("a.py")
        run = await person.choose(buffer, "Magent: Improve")
        await client.until(lambda: any("Magent waits for your answer" in text for _, text in client.messages))
        await person.choose(buffer, "Magent: Cancel")
        assert (await client.finished(run["runId"], seconds=5))["stopReason"] == "cancelled"
        titles = [action["title"] for action in await client.actions(buffer.uri, buffer.range())]
        assert not any(title.startswith("Magent: Go ahead") for title in titles)
        assert buffer.text == TEXT


async def test_files_that_are_not_open_need_no_moment(tmp_path: Path) -> None:
    settings = {"permission": {"edit_file": "allow"}}
    script = [{**SHOUT[0], "first_delay": 1.5}, SHOUT[1]]
    async with at_stock(tmp_path, KATE, script=script, files={"a.py": TEXT}, settings=settings) as person:
        run = await person.client.command("magent.prompt", prompt="shout")
        finished = await person.client.finished(run["runId"])
        assert [edit["outcome"] for edit in finished["edits"]] == ["applied"]
        assert (tmp_path / "ws/a.py").read_text() == TEXT.replace(OLD, NEW)


async def test_a_chat_is_answered_in_one_piece(tmp_path: Path) -> None:
    """Each piece would wait for a code action of its own."""
    script = [{"text": ["One ", "two ", "three."], "delay": 0.7}]
    async with at_stock(tmp_path, KATE, script=script) as person:
        client = person.client
        buffer = client.open("talk.magent.md", "## You\n\nHi\n", language="markdown")
        await person.choose(buffer, "Magent: Send this message")
        await person.answer(buffer, "Go ahead: answer in talk.magent.md")
        await client.until(lambda: "One two three." in buffer.text)
        assert len(client.edits) == 1


async def test_a_chat_waits_for_a_person_who_reads_first(tmp_path: Path) -> None:
    """The moment is the person's to choose; other editors have six seconds, as nobody is asked there."""
    script = [{"text": ["One ", "two ", "three."], "delay": 0.7}]  # past the moment of the action
    async with at_stock(tmp_path, KATE, script=script) as person:
        client = person.client
        buffer = client.open("talk.magent.md", "## You\n\nHi\n", language="markdown")
        await person.choose(buffer, "Magent: Send this message")
        await client.until(lambda: any("waits for your answer" in text for _, text in client.messages))
        await asyncio.sleep(LANDING + 1)  # what must not happen until then
        await person.answer(buffer, "Go ahead: answer in talk.magent.md")
        await client.until(lambda: ANSWER in buffer.text)


async def test_what_we_do_not_serve_is_refused_without_a_word_in_the_log(tmp_path: Path) -> None:
    """Kate asks for symbols at every key, and shows all that is logged."""
    async with at_stock(tmp_path, KATE, files={"a.py": TEXT}) as person:
        buffer = person.client.open("a.py")
        for method in ("textDocument/documentSymbol", "textDocument/semanticTokens/full"):
            with pytest.raises(ResponseError) as refused:
                await person.client.request(method, {"textDocument": {"uri": buffer.uri}})
            assert refused.value.code == -32601
        assert person.client.logs == []
    assert "documentSymbol" not in (tmp_path / "stderr.txt").read_text()


async def test_a_client_cannot_cancel_what_it_is_asked(tmp_path: Path) -> None:
    """vim-lsp sends `$/cancelRequest` for requests of the server; the question must stay."""
    async with editor(tmp_path, script=SHOUT, files={"a.py": TEXT}) as client:
        buffer = client.open("a.py")

        async def cancel_and_answer(params: Any) -> Any:
            [asked] = [message["id"] for message in client.everything if message["method"] == MESSAGE]
            client.notify("$/cancelRequest", {"id": asked})
            await client.command("magent.status")
            return {"title": "Allow once"}

        client.always = cancel_and_answer
        run = await client.command("magent.prompt", prompt="shout", uri=buffer.uri)
        assert (await client.finished(run["runId"]))["stopReason"] == "end_turn"
        assert buffer.text == TEXT.replace(OLD, NEW)


def test_the_guide_says_to_kate_what_the_tests_say() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/stock-clients.md").read_text(encoding="utf-8")
    lines = page.partition("## Kate")[2].partition("```json\n")[2].partition("```")[0]
    assert json.loads(lines)["servers"]["python"]["initializationOptions"]["magent"]["client"] == KATE.options
