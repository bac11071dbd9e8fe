"""Every built-in slash command, and those of files, through the protocol."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from magent_lsp.engine.summaries import SUMMARIES
from tests.support.chat import CONTEXT
from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMISED = {
    "help",
    "init",
    "plan",
    "implement",
    "done",
    "compact",
    "todos",
    "export",
    "agents",
    "model",
    "sessions",
    "undo",
    "cost",
    "context",
    "doctor",
    "permissions",
    "clear",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    files = {"a.py": "x = 1\n", "note.md": "A NOTE\n"}
    async with on_stage(tmp_path_factory.mktemp("slash"), files=files) as stage:
        stage.client.always = "Allow once"
        yield stage


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(stage: Stage) -> str:
    """A conversation with an edit and a list."""
    todos = [
        {"content": "Look", "status": "completed"},
        {"content": "Change it", "status": "in_progress"},
    ]
    change = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")
    stage.cast(
        "change a.py",
        say("", call("todo", items=todos), call("read_file", path="a.py"), change),
        say(["Chan", "ged."], hold=True),
    )
    started = await stage.start("change a.py")

    def said() -> list[str]:
        client = stage.client
        return [str(value.get("message")) for token in client.tokens for value in client.progress[token]]

    await stage.client.until(lambda: any("Change it" in message for message in said()))
    stage.server.release()
    run = await stage.ended(started)
    assert (stage.workspace / "a.py").read_text() == "x = 2\n"
    assert [[item["content"] for item in event["items"]] for event in run.of("todo_updated")] == [
        ["Look", "Change it"]
    ]
    return run.session_id


async def test_all_that_are_promised_are_listed(stage: Stage) -> None:
    listed = {item["name"] for item in await stage.client.command("magent.slashCommands")}
    assert listed >= PROMISED
    assert listed >= set(SUMMARIES)
    chat = stage.client.open(stage.home / "talk.magent.md", "## You\n\n/\n", language="markdown")
    place = {"textDocument": {"uri": chat.uri}, "position": {"line": 2, "character": 1}}
    completed = await stage.client.request("textDocument/completion", place)
    assert {item["label"].removeprefix("/") for item in completed["items"]} >= listed


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("/help", "/implement"),
        ("/todos", "[~] Change it"),
        ("/export", "change a.py"),
        ("/export json", '"change a.py'),
        ("/agents", "`plan`"),
        ("/agents ask", "works with `ask`"),
        ("/done", "works with `build` again"),
        ("/model openai/gpt-4.1", "`openai/gpt-4.1`"),
        ("/model auto", "gpt-4o"),
        ("/sessions", "change a.py"),
        ("/cost", "Tokens in"),
        ("/context", "tokens"),
        ("/doctor", "rg"),
        ("/permissions", "Nothing was granted"),
        ("/undo", "Taken back: `a.py`"),
        ("/redo", "Brought back: `a.py`"),
    ],
)
async def test_those_without_the_model_answer(stage: Stage, session: str, prompt: str, says: str) -> None:
    before = len(stage.requests)
    run = await stage.run(prompt, sessionId=session)
    assert run.stop == "end_turn", run.error
    assert says in run.text
    assert len(stage.requests) == before


async def test_their_answers_cost_no_tokens_later(stage: Stage) -> None:
    first = await stage.run("/help")
    for prompt in ("/cost", "/context", "/todos", "/agents", "/doctor", "/export"):
        assert (await stage.run(prompt, sessionId=first.session_id)).text
    stage.cast("a real question", say("A real answer."))
    await stage.run("a real question", sessionId=first.session_id)
    roles = [message["role"] for message in stage.asked("a real question")[0].messages]
    assert roles == ["system", "user"]
    [listed] = [
        each
        for each in await stage.client.command("magent.sessions")
        if each["sessionId"] == first.session_id
    ]
    assert listed["title"] == "a real question"


@pytest.mark.parametrize("way", ["/", "magent."])
async def test_the_model_is_told_that_its_edits_are_gone(stage: Stage, way: str) -> None:
    name = f"gone{len(way)}.py"
    stage.write(name, "x = 1\n")
    change = call("edit_file", path=name, old_string="x = 1", new_string="x = 2")
    stage.cast(f"change {name}", say("", change), say("Changed."), say("Then no."), say("Well."))
    run = await stage.run(f"change {name}")

    async def take_back(command: str) -> None:
        if way == "/":
            await stage.run(f"/{command}", sessionId=run.session_id)
        else:
            await stage.client.command(f"magent.{command}", runId=run.run_id)

    await take_back("undo")
    await stage.run("never mind", sessionId=run.session_id)
    sent = stage.asked(f"change {name}")[-1].messages
    assert "has taken back your edits" in str(sent[-2]["content"])
    assert name in str(sent[-2]["content"])
    await take_back("redo")
    await stage.run("and now?", sessionId=run.session_id)
    sent = stage.asked(f"change {name}")[-1].messages
    assert "has brought your edits" in str(sent[-2]["content"])
    shown = await stage.client.command("magent.exportSession", sessionId=run.session_id)
    assert "has taken back your edits" in shown["text"]


LOCAL = (
    "/help",
    "/agents",
    "/agents nobody",
    "/agents build",
    "/model",
    "/sessions",
    "/todos",
    "/cost",
    "/context",
    "/undo",
    "/redo",
    "/undo run-nobody-knows",
    "/export",
    "/export no-such-format",
    "/permissions",
    "/doctor",
    "/summary",
    "/done",
    "/trust",
    "/nope",
    "/nope at all",
    "/implement no-such-plan.md",
)
"""What a person says to us, as it works and as it fails."""


async def test_what_is_said_to_us_and_what_we_answer_never_goes_to_the_model(stage: Stage) -> None:
    stage.cast("talk to us", say("I listen."), say("A summary for people."))
    first = await stage.run("talk to us")
    for prompt in LOCAL:
        run = await stage.run(prompt, sessionId=first.session_id)
        assert run.error or run.text, prompt
    stage.cast("talk to us", say("I still do."))
    await stage.run("still there?", sessionId=first.session_id)
    sent = stage.asked("talk to us")[-1].messages[1:]
    assert [CONTEXT.sub("", message["content"]) for message in sent] == [
        "talk to us",
        "I listen.",
        "still there?",
    ]


async def test_a_session_is_not_named_after_a_slip(stage: Stage) -> None:
    slip = await stage.run("/nope")
    assert slip.stop == "error"
    stage.cast("what is meant", say("That."))
    await stage.run("what is meant", sessionId=slip.session_id)
    listed = await stage.client.command("magent.sessions")
    assert [each["title"] for each in listed if each["sessionId"] == slip.session_id] == ["what is meant"]


async def test_a_file_of_the_same_name_takes_the_place_of_one_of_ours(stage: Stage) -> None:
    path = stage.home / "config" / "commands" / "todos.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: My own list\n---\nMAKE MY LIST\n")
    stage.tell(path)
    [listed] = [c for c in await stage.client.command("magent.slashCommands") if c["name"] == "todos"]
    assert listed["description"] == "My own list"
    stage.cast("MAKE MY LIST", say("Here it is."))
    assert (await stage.run("/todos")).text == "Here it is."
    path.unlink()
    stage.tell(path)
    assert (await stage.run("/todos")).text == "The list is empty."


async def test_unknown_ones_say_what_was_meant(stage: Stage, session: str) -> None:
    run = await stage.run("/undoo", sessionId=session)
    assert run.stop == "error"
    assert "/undo?" in (run.error or "")


async def test_compact_keeps_the_notes_and_the_list_and_clear_forgets(stage: Stage, session: str) -> None:
    stage.cast("<conversation", say("NOTES: a.py was changed."))
    stage.cast("change a.py", say("NOTES: a.py was changed."), say("Went on."))
    run = await stage.run("/compact", sessionId=session)
    assert "summarised" in run.text, run.error
    assert "[~] Change it" in (await stage.run("/todos", sessionId=session)).text
    stage.cast("goes on from an earlier part", say("It was changed."))
    await stage.run("what was it?", sessionId=session)
    sent = str(stage.asked("goes on from an earlier part")[0].messages)
    assert "NOTES" in sent
    assert "[~] Change it" in sent
    assert str(stage.workspace) in sent, "where it works is told again"
    cleared = await stage.run("/clear", sessionId=session)
    assert "forgotten" in cleared.text
    stage.cast("fresh start", say("ok"))
    fresh = await stage.run("fresh start", sessionId=session)
    assert fresh.text == "ok", fresh.error
    sent = str(stage.asked("fresh start")[0].messages)
    assert "change a.py" not in sent
    assert "NOTES" not in sent
    assert "/clear" not in sent
    assert str(stage.workspace) in sent, "the facts of the first turn are told anew"


async def test_init_writes_the_instructions(stage: Stage) -> None:
    stage.cast(
        "Write `AGENTS.md`",
        say("", call("write_file", path="AGENTS.md", content="# Rules\n")),
        say("Written."),
    )
    run = await stage.run("/init keep it short")
    assert run.text == "Written."
    assert "keep it short" in stage.asked("Write `AGENTS.md`")[0].last
    stage.cast("with the rules", say("ok"))
    await stage.run("with the rules")
    assert "# Rules" in str(stage.asked("with the rules")[0].messages[0]["content"])


async def test_a_command_of_a_file_in_a_prompt_and_in_a_code_action(stage: Stage) -> None:
    stage.write(
        ".magent/commands/db/explain.md",
        "---\ndescription: Explains a table\nagent: ask\ncodeAction: true\nkind: refactor.rewrite.sql\n---\n"
        "Explain table $1 of $ARGUMENTS.\nShell: !`echo $2-out`\nFile: @note.md\n",
    )
    stage.write(".claude/commands/zero.md", "Zero is $0, one is $1.\n")
    stage.write(".opencode/command/secret.md", "Read !`rm -rf x`\n")
    await stage.trust()
    stage.cast("Explain table", say("It is a table."), say("Again."))
    run = await stage.run("/db:explain users '$ARGUMENTS @a.py'")
    assert run.text == "It is a table.", run.error
    sent = stage.asked("Explain table")[0].last
    assert "Explain table users of users '$ARGUMENTS @a.py'." in sent
    assert "A NOTE" in sent
    assert "x = 2" not in sent, "an argument is never expanded"
    buffer = stage.client.open("a.py")
    offered = await stage.client.actions(buffer.uri, buffer.range("x"), only=["refactor.rewrite.sql"])
    assert [action["title"] for action in offered] == ["Magent: /db:explain: Explains a table"]
    assert (await stage.ended(await stage.client.act(offered[0]))).text == "Again."
    stage.cast("Zero is a", say("counted"))
    assert (await stage.run("/zero a b")).text == "counted"
    assert "Zero is a, one is b." in stage.asked("Zero is a")[0].last


async def test_a_subtask_works_apart_and_only_its_answer_comes_back(stage: Stage) -> None:
    stage.write(
        ".magent/commands/survey.md",
        "---\ndescription: Surveys\nagent: explore\nsubtask: true\n---\nSurvey $1 in ROUNDS.\n",
    )
    await stage.trust()
    stage.cast("Survey the shop in ROUNDS", say("", call("read_file", path="note.md")), say("All is well."))
    run = await stage.run("/survey 'the shop'")
    assert run.text == "All is well."
    [child] = [e for e in stage.client.events if e["event"].get("parentRunId") == run.run_id]
    assert child["event"]["agent"] == "explore"
    assert child["sessionId"] != run.session_id
    stage.cast("/survey", say("Good."))
    await stage.run("and now?", sessionId=run.session_id)
    sent = str(stage.asked("/survey")[0].messages)
    assert "All is well." in sent
    assert "ROUNDS" not in sent
    assert "A NOTE" not in sent


async def test_a_denied_command_in_a_file_stops_it(stage: Stage, tmp_path: Path) -> None:
    stage.write(".magent/config.yaml", "permission:\n  bash:\n    'rm *': deny\n")
    stage.write(".magent/commands/danger.md", "Look at !`rm -rf src`\n")
    run = await stage.run("/danger")
    assert run.stop == "error"
    assert "rm -rf src" in (run.error or "")
