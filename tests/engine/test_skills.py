"""Skills, todos and `@file` through the engine: what is loaded once, kept, and put beside a prompt."""

import json
import re
from pathlib import Path

import pytest

from magent_lsp.core.config import Settings
from magent_lsp.core.messages import ToolMessage, UserMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.core.session import Todo, step_of
from magent_lsp.engine.mentions import MOST_FILES, mentions
from magent_lsp.store.config_values import fields_of, section_of
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.hooks import EVENTS
from magent_lsp.store.skills import load_skills
from tests.engine.conftest import Desk
from tests.support.model_server import Call, ModelServer, call

BODY = "1. Read the tags.\n2. Write for users.\n"


@pytest.fixture
def skill(workspace: Path) -> Path:
    path = workspace / ".magent/skills/notes/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: notes\ndescription: Writes release notes.\n---\n{BODY}")
    return path


def load(name: str, arguments: str = "") -> Call:
    return Call(name="skill", arguments=json.dumps({"name": name, "arguments": arguments}))


def results(desk: Desk) -> list[ToolMessage]:
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    return [message for message in session.messages if isinstance(message, ToolMessage)]


async def test_a_skill_is_known_by_name_and_loaded_once(desk: Desk, server: ModelServer, skill: Path) -> None:
    server.reply(calls=[load("notes")])
    server.reply(calls=[load("notes"), load("nothing")])
    server.reply("ok")
    await desk.run("write notes")
    tool = next(t["function"] for t in server.requests[0].json["tools"] if t["function"]["name"] == "skill")
    assert "- notes: Writes release notes." in tool["description"]
    assert "Read the tags" not in str(server.requests[0].json)
    first, second, third = results(desk)
    assert first.text.startswith('<skill-loaded name="notes">')
    assert "Read the tags" in first.text
    assert "loaded already" in second.text
    assert "no skill 'nothing'" in third.text
    assert str(server.requests[-1].json["messages"]).count("Read the tags") == 1


async def test_a_loaded_skill_survives_compaction_and_is_not_loaded_again(
    desk: Desk, server: ModelServer, skill: Path
) -> None:
    server.reply(
        calls=[
            load("notes"),
            call("todo", items=[{"content": "Sort", "status": "in_progress"}]),
        ]
    )
    server.reply("Loaded.")
    started = desk.magent.start(RunRequest(prompt="write notes"))
    await desk.magent.wait(started.run_id)
    server.reply("A summary of it all.")
    await desk.run("/compact", session_id=started.session_id)
    desk.magent.close_session(started.session_id)
    server.reply(calls=[load("notes")])
    server.reply("ok")
    await desk.run("go on", session_id=started.session_id)
    sent = str(server.requests[-2].messages)
    assert sent.count("Read the tags") == 1
    assert sent.count("<skill-loaded name=") == 1
    assert "- [~] Sort" in sent
    assert "loaded already" in results(desk)[-1].text
    assert desk.magent.session(started.session_id).todos == (Todo(content="Sort", status="in_progress"),)


async def test_a_skill_whose_text_is_gone_can_be_loaded_again(
    desk: Desk, server: ModelServer, skill: Path
) -> None:
    server.reply(calls=[load("notes")])
    server.reply("ok")
    started = desk.magent.start(RunRequest(prompt="write notes"))
    await desk.magent.wait(started.run_id)
    await desk.run("/clear", session_id=started.session_id)
    server.reply(calls=[load("notes")])
    server.reply("ok")
    await desk.run("write notes", session_id=started.session_id)
    assert "Read the tags" in results(desk)[-1].text


async def test_other_arguments_or_a_changed_file_load_it_anew(
    desk: Desk, server: ModelServer, skill: Path
) -> None:
    server.reply(calls=[load("notes")])
    server.reply(calls=[load("notes", "v2")])
    server.reply("ok")
    started = desk.magent.start(RunRequest(prompt="write notes"))
    await desk.magent.wait(started.run_id)
    assert "Arguments: v2" in results(desk)[1].text
    skill.write_text(skill.read_text() + "3. Check the links.\n")
    server.reply(calls=[load("notes")])
    server.reply("ok")
    await desk.run("again", session_id=started.session_id)
    assert "Check the links" in results(desk)[-1].text


async def test_the_program_s_own_skill_is_there_and_short(tmp_path: Path) -> None:
    skills = load_skills(None, Dirs.under(tmp_path), True)
    assert skills.problems == ()
    own = skills.skills["magent"]
    assert own.native
    assert len(own.text) < 6_000
    assert "permission" in own.description
    sections = {key: section_of(field) for key, field in fields_of(Settings).items()}
    known = {*sections} | {key for section in sections.values() if section for key in fields_of(section)}
    taught = own.text.split("Settings (YAML")[1].split("Permissions\n")[0]
    named = {word for word in re.findall(r"\b[a-z]+[A-Z]\w*", taught)} - {"camelCase"}
    assert named
    assert named <= known, "nothing is taught that is no setting"
    assert all(event in own.text for event in EVENTS)


async def test_an_editor_skill_is_not_offered_without_its_tool(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[load("editor")])
    server.reply("ok")
    await desk.run("hello")
    assert "no skill 'editor'" in results(desk)[0].text


# -- the plan that people see ----------------------------------------------------------------------------


def test_where_a_plan_stands() -> None:
    todos = [Todo(content="Look", status="completed"), Todo(content="Write tests", status="in_progress")]
    assert step_of([*todos, Todo(content="Ship", status="pending")]) == "2/3 Write tests"
    assert step_of(todos[:1]) == step_of([]) == ""


async def test_progress_names_the_step(desk: Desk, server: ModelServer) -> None:
    items = [{"content": "Look", "status": "completed"}, {"content": "Write tests", "status": "in_progress"}]
    server.reply(calls=[call("todo", items=items)])
    server.reply(["o", "k"], hold=True)
    started = desk.magent.start(RunRequest(prompt="go"))
    await server.arrived(2)
    assert desk.magent.running()[0].doing == "2/2 Write tests"
    server.release()
    await desk.magent.wait(started.run_id)
    assert desk.events.of("todo_updated")[0].items[1].content == "Write tests"


# -- @file ---------------------------------------------------------------------------------------------


async def test_named_files_are_put_beside_the_prompt_and_the_text_stays(
    desk: Desk, server: ModelServer
) -> None:
    (desk.workspace / "sub dir").mkdir()
    (desk.workspace / "sub dir/b.txt").write_text("bee\n")
    prompt = 'Compare @a.py, @"sub dir/b.txt" and (@missing.py); mail me@a.py or see `@a.py`.'
    server.reply(calls=[call("write_file", path="a.py", content="new\n")])
    server.reply("ok")
    await desk.run(prompt)
    text = server.requests[0].messages[-1]["content"]
    assert text.endswith(prompt)
    assert text.count('<file path="a.py">') == 1
    assert "def hello" in text
    assert '<file path="sub dir/b.txt">' in text
    assert 'missing.py">' not in text
    assert (desk.workspace / "a.py").read_text() == "new\n", "what was attached counts as read"


async def test_what_may_not_be_read_or_lies_outside_is_not_attached(
    desk: Desk, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("OUTSIDE\n")
    (desk.workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
    (desk.workspace / ".env").write_text("KEY=1\n")
    (desk.workspace / "sub").mkdir()
    server.reply("ok")
    names = [
        "@.env",
        "@link.txt",
        "@../outside.txt",
        f"@{tmp_path}/outside.txt",
        "@sub",
        "@",
        "@~/x",
        "@a\0b",
    ]
    outcome = await desk.run(" ".join(names))
    assert outcome.text == "ok"
    text = server.requests[0].messages[-1]["content"]
    assert "<file" not in text
    assert "KEY=1" not in text
    assert "OUTSIDE" not in text
    assert desk.asked == []


async def test_attached_files_are_bounded(desk: Desk, server: ModelServer) -> None:
    for n in range(15):
        (desk.workspace / f"f{n}.txt").write_text(f"content {n}\n")
    (desk.workspace / "big.txt").write_text("x" * 79 + "\n")
    (desk.workspace / "huge.txt").write_text(("y" * 79 + "\n") * 50_000)
    server.reply("ok")
    await desk.run("@huge.txt " + " ".join(f"@f{n}.txt" for n in range(15)))
    text = server.requests[0].messages[-1]["content"]
    assert 0 < text.count("<file path=") <= MOST_FILES
    assert len(text) < 250_000


async def test_a_slash_command_s_arguments_are_not_expanded(desk: Desk, server: ModelServer) -> None:
    server.reply("ok")
    await desk.run("/explain @a.py")
    assert "<file" not in server.requests[0].messages[-1]["content"]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("@a @b @a", ["a", "b"]),
        ("x@y.z", []),
        ("`@a`", []),
        ('@"a b".', ["a b"]),
        ("(@a/b.c)", ["a/b.c"]),
        ("@@a", []),
        ("@./a", ["./a"]),
        ("@", []),
    ],
)
def test_what_counts_as_a_mention(prompt: str, names: list[str]) -> None:
    assert mentions(prompt) == names


async def test_a_subagent_s_prompt_is_only_text(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("delegate", agent="explore", prompt="look at @a.py")])
    server.reply("seen")
    server.reply("ok")
    started = desk.magent.start(RunRequest(prompt="go"))
    await desk.magent.wait(started.run_id)
    child = [m for m in server.requests[1].messages if m["role"] == "user"]
    assert "<file" not in str(child)
    users = [m for m in desk.magent.session(started.session_id).messages if isinstance(m, UserMessage)]
    assert len(users) == 1
