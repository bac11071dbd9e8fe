"""Questions of the agent to the person, and the end of a scoped run, through the whole engine."""

import asyncio
from pathlib import Path

import pytest

from magent_lsp.app import Magent
from magent_lsp.core.errors import ToolError
from magent_lsp.core.messages import AssistantMessage, ToolMessage
from magent_lsp.core.request import Answer, PermissionReply, Question, RunRequest, Scope
from magent_lsp.headless.editor import DiskEditor
from magent_lsp.store.dirs import Dirs
from magent_lsp.tools import ask_user, propose
from tests.engine.conftest import Desk, Record
from tests.support.model_server import ModelServer, call
from tests.support.tool_context import call as use
from tests.support.tool_context import context_for


def last_result(desk: Desk) -> ToolMessage:
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    return [message for message in session.messages if isinstance(message, ToolMessage)][-1]


async def test_a_question_reaches_the_person_and_the_answer_the_model(
    desk: Desk, server: ModelServer
) -> None:
    desk.said.append(Answer(values=("tabs",)))
    server.reply(
        calls=[call("ask_user", question="Tabs or blanks?\nFor new files.", options=["tabs", "blanks"])]
    )
    server.reply("Tabs it is.")
    outcome = await desk.run("format")
    assert outcome.text == "Tabs it is."
    [question] = desk.questions
    [called] = [event for event in desk.events.of("tool_call_started") if event.name == "ask_user"]
    assert question == Question(
        title="Tabs or blanks?",
        message="For new files.",
        options=("tabs", "blanks"),
        run_id=desk.events.envelopes[0].run_id,
        tool_call_id=called.tool_call_id,
    )
    assert last_result(desk).text == "The user chose: tabs"


async def test_no_answer_lets_the_loop_go_on(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("ask_user", question="Which?")])
    server.reply("I took the first.")
    assert (await desk.run("go")).stop_reason == "end_turn"
    assert "did not answer" in last_result(desk).text


async def test_while_it_waits_the_run_says_so_and_its_time_stands_still(
    desk: Desk, server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def answer(question: Question) -> Answer | None:
        asked.set()
        await answered.wait()
        return Answer(values=("yes",))

    magent = Magent(
        folders=[workspace],
        editor=DiskEditor(question=answer),
        sink=Record(),
        dirs=Dirs.under(tmp_path / "other"),
        environ=desk.environ,
        overrides=desk.overrides,
    )
    server.reply(calls=[call("ask_user", question="Really?")])
    server.reply("Done.")
    started = magent.start(RunRequest(prompt="go"))
    async with asyncio.timeout(60):
        await asked.wait()
    (info,) = magent.running()
    assert (info.state, info.doing) == ("waiting", "waiting for you")
    run = magent._runner.driver.runs.find(started.run_id)
    before = run.budget.seconds
    await asyncio.to_thread(lambda: None)
    assert run.budget.seconds == pytest.approx(before, abs=0.005)
    answered.set()
    assert (await magent.wait(started.run_id)).text == "Done."
    await magent.close()


async def test_cancel_ends_an_open_question(
    desk: Desk, server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def never(question: Question) -> Answer | None:
        asked.set()
        await asyncio.Event().wait()
        return None

    magent = Magent(
        folders=[workspace],
        editor=DiskEditor(question=never),
        sink=Record(),
        dirs=Dirs.under(tmp_path / "other"),
        environ=desk.environ,
        overrides=desk.overrides,
    )
    server.reply(calls=[call("propose", title="Name", content="x")])
    started = magent.start(RunRequest(prompt="go"))
    async with asyncio.timeout(60):
        await asked.wait()
    magent.cancel(started.run_id)
    async with asyncio.timeout(20):
        assert (await magent.wait(started.run_id)).stop_reason == "cancelled"
    await magent.close()


async def test_without_a_person_nobody_is_asked(
    desk: Desk, server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    async def fail(question: Question) -> Answer | None:
        raise AssertionError("asked")

    magent = Magent(
        folders=[workspace],
        editor=DiskEditor(question=fail),
        sink=Record(),
        dirs=Dirs.under(tmp_path / "other"),
        environ=desk.environ,
        overrides=desk.overrides,
        interactive=False,
    )
    server.reply(calls=[call("ask_user", question="Which?"), call("propose", title="t", content="c")])
    server.reply("Done.")
    started = magent.start(RunRequest(prompt="go"))
    outcome = await magent.wait(started.run_id)
    assert (outcome.stop_reason, outcome.text, outcome.refused) == ("end_turn", "Done.", 0)
    session = magent.session(started.session_id)
    texts = [message.text for message in session.messages if isinstance(message, ToolMessage)]
    assert all("nobody can be asked" in text.lower() for text in texts)
    await magent.close()


async def test_a_subagent_cannot_ask(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("delegate", agent="general", prompt="do it")])
    server.reply("did it")
    server.reply("done")
    await desk.run("go")
    parent, child = ({tool["function"]["name"] for tool in r.json["tools"]} for r in server.requests[:2])
    assert {"ask_user", "propose"} <= parent
    assert not {"ask_user", "propose", "done"} & child


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("Accept",), "Accepted as it is."),
        (("fix: a bug",), "Accepted as it is."),
        (("Reject",), "Rejected."),
        (("fix: the bug\n\nMore.",), "Accepted with changes."),
        (("n",), "Accepted with changes."),
        (("ok",), "Accepted with changes."),
        ((" ",), "Not answered."),
        ((), "Not answered."),
        (None, "Not answered."),
    ],
)
async def test_a_proposal_is_taken_changed_or_refused(
    tmp_path: Path, values: tuple[str, ...] | None, words: str
) -> None:
    async def ask(question: Question) -> Answer | None:
        assert (question.title, question.message) == ("Commit message", "fix: a bug")
        assert (question.options, question.default) == (("Accept", "Reject"), "fix: a bug")
        return None if values is None else Answer(values=values)

    context = context_for(tmp_path, ask=ask)
    result = await use(propose.TOOL, context, title="Commit message", content="fix: a bug")
    assert result.text.startswith(words)
    if "changes" in words:
        assert values is not None
        assert result.text.endswith(f":\n{values[0]}")


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": "  "},
        {"question": "x", "options": ["a", " "]},
        {"question": "x", "options": [str(n) for n in range(13)]},
    ],
)
async def test_questions_that_say_nothing_are_refused(tmp_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(ToolError):
        await use(ask_user.TOOL, context_for(tmp_path), **arguments)


# -- done ----------------------------------------------------------------------------------------------


def whole_file(desk: Desk) -> Scope:
    return Scope(kind="buffer", path=desk.workspace / "a.py")


async def test_done_ends_a_scoped_run_with_its_summary(desk: Desk, server: ModelServer) -> None:
    server.reply(
        calls=[call("edit_file", path="a.py", edits=[{"old_string": "helo", "new_string": "hello"}])]
    )
    server.reply("Working.", calls=[call("done", summary="Fixed the typo.")])
    outcome = await desk.run("fix", scope=whole_file(desk))
    assert (outcome.stop_reason, outcome.text) == ("end_turn", "Fixed the typo.")
    assert len(server.requests) == 2
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    last = session.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.text == "Fixed the typo."
    server.reply("Hello again.")
    assert (await desk.run("more", session_id=session.id)).text == "Hello again."


async def test_done_does_not_count_beside_a_failure(desk: Desk, server: ModelServer) -> None:
    server.reply(
        calls=[
            call("edit_file", path="a.py", edits=[{"old_string": "nowhere", "new_string": "x"}]),
            call("done", summary="Fixed."),
        ]
    )
    server.reply("I could not.")
    outcome = await desk.run("fix", scope=whole_file(desk))
    assert outcome.text == "I could not."
    assert "does not count" in str(server.requests[1].messages[-1])


async def test_done_is_offered_only_where_it_means_something(desk: Desk, server: ModelServer) -> None:
    server.reply("one")
    server.reply("two")
    await desk.run("go")
    await desk.run("go", scope=whole_file(desk))
    names = [{tool["function"]["name"] for tool in request.json["tools"]} for request in server.requests]
    assert ["done" in each for each in names] == [False, True]


async def test_a_button_names_each_thing_once(desk: Desk, server: ModelServer) -> None:
    """A file that a command writes is judged by the rules of two tools; a person sees one file."""
    desk.answers.append(PermissionReply(reply="reject"))
    server.reply(calls=[call("bash", command="sort a.py > sorted.txt")])
    await desk.run("sort it")
    titles = [option.title for option in desk.asked[0].options]
    assert "Allow sorted.txt in this session" in titles
