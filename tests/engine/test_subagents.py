"""Subagents end to end: their names, their messages, their limits, and that nobody borrows rights."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from magent_lsp.core.messages import ToolMessage, UserMessage
from magent_lsp.core.request import RunRequest
from magent_lsp.engine.crew import MAX_MEMBERS, Crew, Member, Steps
from magent_lsp.engine.subagents import MAX_CHILDREN
from tests.engine.conftest import Desk
from tests.support.model_server import ModelServer, Reply, Request, call


class Cast:
    """Answers by who asks: each part has its own list of replies, in order."""

    def __init__(self, server: ModelServer) -> None:
        self._parts: list[tuple[Callable[[str], bool], list[Reply]]] = []
        server.respond = self._answer

    def part(self, begins_with: str, *replies: Reply) -> list[Reply]:
        """Replies for the conversation whose first user message holds this text."""
        queue = [*replies]
        self._parts.append((lambda first: begins_with in first, queue))
        return queue

    def _answer(self, request: Request) -> Reply | None:
        first = next(str(m["content"]) for m in request.messages if m["role"] == "user")
        for fits, queue in self._parts:
            if fits(first) and queue:
                return queue.pop(0)
        return Reply(text=f"nothing left for: {first[-80:]}")


def say(text: str | list[str] = "", *calls: Any, **more: Any) -> Reply:
    return Reply(text=text, calls=list(calls), **more)


@pytest.fixture
def cast(server: ModelServer) -> Cast:
    return Cast(server)


def results(desk: Desk, session_id: str) -> list[ToolMessage]:
    return [m for m in desk.magent.session(session_id).messages if isinstance(m, ToolMessage)]


def heard(desk: Desk, session_id: str) -> list[str]:
    session = desk.magent.session(session_id)
    return [m.text for m in session.messages if isinstance(m, UserMessage) and m.synthetic]


def background(agent: str, prompt: str) -> Any:
    return call("delegate", agent=agent, prompt=prompt, background=True)


async def test_a_background_agent_reports_by_itself(desk: Desk, cast: Cast) -> None:
    cast.part("ROOT", say("", background("explore", "LOOK")), say("Meanwhile."), say("It was found."))
    cast.part("LOOK", say("found in a.py:1"))
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    outcome = await desk.magent.wait(started.run_id)
    assert outcome.text == "It was found."
    (result,) = results(desk, started.session_id)
    assert result.text.startswith("explore-1 works in the background")
    assert heard(desk, started.session_id) == ["explore-1 has finished:\nfound in a.py:1"]


async def test_wait_gives_the_result_once(desk: Desk, cast: Cast) -> None:
    cast.part(
        "ROOT",
        say("", background("explore", "LOOK")),
        say("", call("wait_agent", agent="explore-1")),
        say("", call("list_agents")),
        say("Done."),
    )
    cast.part("LOOK", say("", call("read_file", path="a.py")), say("found"))
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    assert (await desk.magent.wait(started.run_id)).text == "Done."
    _, waited, listed = results(desk, started.session_id)
    assert waited.text == "found"
    assert listed.text.startswith("- explore-1 (idle, has a result): LOOK [session ")
    assert heard(desk, started.session_id) == []


async def test_an_agent_remembers_and_gets_its_next_task_in_a_later_run(desk: Desk, cast: Cast) -> None:
    cast.part(
        "FIRST",
        say("", background("explore", "LOOK")),
        say("", call("wait_agent", agent="explore-1")),
        say("1."),
    )
    cast.part(
        "SECOND",
        say("", call("message_agent", agent="explore-1", message="AND NOW b.py")),
        say("", call("wait_agent", agent="explore-1")),
        say("2."),
    )
    cast.part("LOOK", say("a.py is fine"), say("b.py too"))
    await desk.run("FIRST")
    started = desk.magent.start(RunRequest(prompt="SECOND"))
    assert (await desk.magent.wait(started.run_id)).text == "2."
    assert results(desk, started.session_id)[1].text == "b.py too"
    (member,) = desk.magent._runner.driver.crew.of(desk.workspace)
    texts = [m.text for m in member.session.messages]
    assert any("LOOK" in text for text in texts)
    assert any("Message from the build agent:\nAND NOW b.py" in text for text in texts)
    assert texts[-1] == "b.py too"
    opened = await desk.magent.open_session(member.session.id)
    assert opened is member.session


async def test_a_message_to_an_agent_at_work_is_taken_in_between_its_steps(
    desk: Desk, cast: Cast, server: ModelServer
) -> None:
    cast.part(
        "ROOT",
        say("", background("explore", "LOOK")),
        say("", call("message_agent", agent="explore-1", message="ALSO c.py")),
        say("", call("wait_agent", agent="explore-1")),
        say("Done."),
    )
    cast.part("LOOK", say(["I ", "look."], call("read_file", path="a.py"), hold=True), say("both"))
    task = asyncio.create_task(desk.run("ROOT"))
    async with asyncio.timeout(60):
        await server.arrived(4)
    server.release()
    assert (await task).text == "Done."
    (member,) = desk.magent._runner.driver.crew.of(desk.workspace)
    assert any("ALSO c.py" in m.text for m in member.session.messages)
    assert member.result is not None
    assert member.result.text == "both"


async def test_wait_has_a_time_limit_and_the_agent_works_on(
    desk: Desk, cast: Cast, server: ModelServer
) -> None:
    cast.part(
        "ROOT",
        say("", background("explore", "LOOK")),
        say("", call("wait_agent", agent="explore-1", timeout=0.05)),
        say("", call("close_agent", agent="explore-1")),
        say("", call("wait_agent", agent="explore-1")),
        say("Done."),
    )
    cast.part("LOOK", say(["la", "te"], hold=True))
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    assert (await desk.magent.wait(started.run_id)).text == "Done."
    _, waited, closed, gone = results(desk, started.session_id)
    assert "not done yet" in waited.text
    assert closed.text.startswith("explore-1 is closed")
    assert "There is no open agent 'explore-1'" in gone.text
    assert heard(desk, started.session_id) == []
    assert desk.magent.running() == []


async def test_cancel_of_the_parent_ends_all_its_children(
    desk: Desk, cast: Cast, server: ModelServer
) -> None:
    cast.part(
        "ROOT",
        say("", background("general", "ONE"), background("explore", "TWO")),
        say("", call("delegate", agent="general", prompt="THREE")),
    )
    cast.part("ONE", say("", call("delegate", agent="explore", prompt="DEEP")))
    for name in ("TWO", "THREE", "DEEP"):
        cast.part(name, say(["ne", "ver"], hold=True))
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    async with asyncio.timeout(60):
        await server.arrived(6)
    assert len(desk.magent.running()) == 5
    desk.magent.cancel(started.run_id)
    async with asyncio.timeout(20):
        assert (await desk.magent.wait(started.run_id)).stop_reason == "cancelled"
    assert desk.magent.running() == []
    held = [request for request in server.requests if not request.over.is_set()]
    assert all([await request.wait_closed(20) for request in held])
    server.respond = None
    server.reply("still here")
    assert (await desk.run("again", session_id=started.session_id)).text == "still here"


async def test_a_child_s_transcript_is_a_session_of_its_own(desk: Desk, cast: Cast) -> None:
    cast.part("ROOT", say("", call("delegate", agent="explore", prompt="LOOK")), say("Done."))
    cast.part("LOOK", say("found"))
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    await desk.magent.wait(started.run_id)
    child = next(e.session_id for e in desk.events.envelopes if e.session_id != started.session_id)
    session = await desk.magent.open_session(child)
    assert session.parent == started.session_id
    assert [m.text for m in session.messages][-1] == "found"


async def test_the_call_shows_the_child_s_steps(desk: Desk, cast: Cast) -> None:
    cast.part("ROOT", say("", call("delegate", agent="explore", prompt="LOOK")), say("Done."))
    cast.part(
        "LOOK", say("", call("read_file", path="a.py")), say("", call("read_file", path="b.py")), say("found")
    )
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    await desk.magent.wait(started.run_id)
    shown = [
        e.event.output
        for e in desk.events.envelopes
        if e.session_id == started.session_id and e.event.type == "tool_call_updated"
    ]
    assert shown[-1] == "✓ Read a.py\n✗ Read b.py"


# -- rights ------------------------------------------------------------------------------------------


async def test_nobody_borrows_the_rights_of_an_agent_that_works_for_another(
    desk: Desk, cast: Cast, server: ModelServer
) -> None:
    """The plan agent may not edit; a `general` that works for `build` may. Its messages must not use that."""
    desk.magent.reload(client_settings={"permission": {"write_file": "allow"}})
    cast.part("BUILD", say("", background("general", "WORK")), say("Built."), say("Built."))
    cast.part(
        "PLAN",
        say("", call("message_agent", agent="general-1", message="write x.py")),
        say("Planned."),
        say("Planned."),
    )
    cast.part(
        "WORK",
        say(["I ", "build."], call("write_file", path="built.py", content="x\n"), hold=True),
        say("built it"),
        say("", call("write_file", path="x.py", content="x\n")),
        say("could not"),
    )
    build = desk.magent.start(RunRequest(prompt="BUILD"))
    async with asyncio.timeout(60):
        await server.arrived(2)
        while len(desk.magent._runner.driver.crew.of(desk.workspace)) == 0:
            desk.events.news.clear()
            await desk.events.news.wait()
    plan = desk.magent.start(RunRequest(prompt="PLAN", agent="plan"))
    async with asyncio.timeout(60):
        await server.arrived(4)
    server.release()
    await desk.magent.wait(build.run_id)
    await desk.magent.wait(plan.run_id)
    assert (desk.workspace / "built.py").exists()
    assert not (desk.workspace / "x.py").exists()


async def test_a_resumed_agent_has_no_more_rights_than_who_speaks_to_it_now(desk: Desk, cast: Cast) -> None:
    desk.magent.reload(client_settings={"permission": {"write_file": "allow"}})
    cast.part("BUILD", say("", background("general", "WORK")), say("Built."), say("Built."))
    cast.part(
        "PLAN", say("", call("message_agent", agent="general-1", message="write x.py")), say("P."), say("P.")
    )
    cast.part("WORK", say("ready"), say("", call("write_file", path="x.py", content="x\n")), say("could not"))
    await desk.run("BUILD")
    await desk.run("PLAN", agent="plan")
    assert not (desk.workspace / "x.py").exists()


async def test_a_message_needs_the_right_to_delegate(desk: Desk, cast: Cast) -> None:
    cast.part("FIRST", say("", background("general", "WORK")), say("1."), say("1."))
    cast.part("SECOND", say("", call("message_agent", agent="general-1", message="more")), say("2."))
    cast.part("WORK", say("ready"), say("more work"))
    await desk.run("FIRST")
    desk.magent.reload(client_settings={"permission": {"delegate": {"general": "deny", "*": "allow"}}})
    started = desk.magent.start(RunRequest(prompt="SECOND"))
    await desk.magent.wait(started.run_id)
    (result,) = results(desk, started.session_id)
    assert result.status == "failed"
    assert "delegate" in result.text


async def test_agents_that_wait_for_each_other_are_told(desk: Desk, cast: Cast) -> None:
    cast.part(
        "ROOT",
        say("", background("general", "WORK")),
        say("", call("wait_agent", agent="general-1")),
        say("Done."),
    )
    cast.part(
        "WORK",
        say(
            "", call("wait_agent", agent="general-1"), call("message_agent", agent="general-1", message="me")
        ),
        say("alone then"),
    )
    async with asyncio.timeout(60):
        assert (await desk.run("ROOT")).text == "Done."
    (member,) = desk.magent._runner.driver.crew.of(desk.workspace)
    texts = [m.text for m in member.session.messages if isinstance(m, ToolMessage)]
    assert "waits for you" in texts[0]
    assert "is you" in texts[1]


async def test_a_circle_over_two_agents_is_told(desk: Desk, cast: Cast) -> None:
    """general-1 waits for general-2; when general-2 then wants to wait for general-1, it must not hang."""
    cast.part(
        "ROOT",
        say("", background("general", "ONE"), background("general", "TWO")),
        say("Waiting."),
        say("Done."),
        say("Done."),
    )
    cast.part(
        "ONE", say("", call("message_agent", agent="general-2", message="help me")), say("one"), say("one")
    )
    cast.part("TWO", say("two"), say("", call("wait_agent", agent="general-1")), say("helped"))
    async with asyncio.timeout(60):
        assert (await desk.run("ROOT")).stop_reason == "end_turn"
    two = desk.magent._runner.driver.crew.find(desk.workspace, "general-2")
    texts = [m.text for m in two.session.messages if isinstance(m, ToolMessage)]
    assert any("waits for you" in text for text in texts)


# -- limits ------------------------------------------------------------------------------------------


async def test_depth_and_number_are_capped(desk: Desk, cast: Cast) -> None:
    deeper = {"agent": "general", "prompt": ""}
    cast.part("L0", say("", call("delegate", **{**deeper, "prompt": "L1"})), say("0"))
    cast.part("L1", say("", call("delegate", **{**deeper, "prompt": "L2"})), say("1"))
    cast.part("L2", say("", call("delegate", **{**deeper, "prompt": "L3"})), say("2"))
    cast.part("L3", say("", call("delegate", **{**deeper, "prompt": "L4"})), say("3"))
    assert (await desk.run("L0")).text == "0"
    texts = [event.output for event in desk.events.of("tool_call_finished")]
    assert "3 deep at most" in texts[0]
    cast.part(
        "MANY", say("", *(call("delegate", agent="explore", prompt="ONE OF") for _ in range(9))), say("ok")
    )
    cast.part("ONE OF", *(say("x") for _ in range(9)))
    started = desk.magent.start(RunRequest(prompt="MANY"))
    await desk.magent.wait(started.run_id)
    failed = [r for r in results(desk, started.session_id) if r.status == "failed"]
    assert len(failed) == 9 - MAX_CHILDREN
    assert "8 subagents at most" in failed[0].text


async def test_open_agents_are_capped_and_closing_makes_room(desk: Desk, cast: Cast) -> None:
    many = [background("explore", f"PART {n}") for n in range(MAX_MEMBERS)]
    cast.part("ROOT", say("", *many), say("1."), *(say("ok") for _ in range(9)))
    for n in range(MAX_MEMBERS):
        cast.part(f"PART {n}", say("x"))
    await desk.run("ROOT")
    cast.part(
        "AGAIN",
        say("", background("explore", "NEW")),
        say("", call("close_agent", agent="explore-3")),
        say("", background("explore", "NEW")),
        say("ok"),
        say("ok"),
    )
    cast.part("NEW", say("x"))
    started = desk.magent.start(RunRequest(prompt="AGAIN"))
    await desk.magent.wait(started.run_id)
    refused, closed, begun = results(desk, started.session_id)
    assert "close one with close_agent" in refused.text
    assert closed.status == begun.status == "completed"
    assert begun.text.startswith("explore-9 ")


async def test_unknown_agents_and_primary_ones_are_refused(desk: Desk, cast: Cast) -> None:
    cast.part(
        "ROOT",
        say(
            "",
            call("delegate", agent="build", prompt="x"),
            call("delegate", agent="compaction", prompt="x"),
            call("message_agent", agent="nobody", message="x"),
            call("close_agent", agent="nobody"),
        ),
        say("ok"),
    )
    started = desk.magent.start(RunRequest(prompt="ROOT"))
    await desk.magent.wait(started.run_id)
    texts = [r.text for r in results(desk, started.session_id)]
    assert "no subagent 'build'" in texts[0]
    assert "no subagent 'compaction'" in texts[1]
    assert all("no open agent 'nobody'" in text for text in texts[2:])


async def test_a_person_s_prompt_to_an_agent_s_session_waits_for_its_run(
    desk: Desk, cast: Cast, server: ModelServer
) -> None:
    cast.part("ROOT", say("", background("explore", "LOOK")), say("ok"), say("ok"))
    cast.part("LOOK", say(["fi", "rst"], hold=True), say("second"))
    task = asyncio.create_task(desk.run("ROOT"))
    async with asyncio.timeout(60):
        await server.arrived(3)
    (member,) = desk.magent._runner.driver.crew.of(desk.workspace)
    await desk.magent.open_session(member.session.id)
    started = desk.magent.start(RunRequest(prompt="and you?", session_id=member.session.id, agent="ask"))
    assert started.queued
    server.release()
    assert (await desk.magent.wait(started.run_id)).text == "second"
    await task


# -- pure parts ----------------------------------------------------------------------------------------


def test_a_crew_knows_who_depends_on_whom() -> None:
    crew = Crew(lambda session: None)

    class R:
        def __init__(self, id: str) -> None:
            self.id = id

    def member(name: str, run: str | None) -> Member:
        return Member(name=name, agent="a", session=None, task="", run=R(run) if run else None)  # type: ignore[arg-type]

    one, two, idle = member("one", "r1"), member("two", "r2"), member("idle", None)
    assert crew.depends(one, ["r1", "root"])
    assert not crew.depends(one, ["r2", "root"])
    with crew.waiting(["r1", "root"], two):
        assert crew.depends(one, ["r2"])
        assert not crew.depends(two, ["r1"])
        with crew.waiting(["r2"], idle):
            assert not crew.depends(two, ["r1"])
    assert not crew.depends(one, ["r2"])


def test_steps_keep_the_newest_lines() -> None:
    shown: list[str] = []
    steps = Steps(shown.append)
    steps.show()
    assert shown == []
