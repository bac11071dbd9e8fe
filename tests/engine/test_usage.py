"""What was used, by turn, run, session and day; what fills the window; and the limits that end a run."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from magent_lsp.core.events import UsageUpdated
from magent_lsp.core.messages import Usage
from magent_lsp.core.request import RunRequest
from magent_lsp.store.ledger import KEPT_DAYS, Ledger
from tests.engine.conftest import Desk
from tests.support.model_server import ModelServer, Tokens, call


async def test_usage_is_told_by_turn_run_session_and_day(desk: Desk, server: ModelServer) -> None:
    server.reply(calls=[call("read_file", path="a.py")], usage=Tokens(1000, 10, cached=600))
    server.reply("Read.", usage=Tokens(2000, 20, cached=1000))
    started = desk.magent.start(RunRequest(prompt="read it"))
    outcome = await desk.magent.wait(started.run_id)
    turns = [m.usage for m in desk.magent.session(started.session_id).messages if hasattr(m, "usage")]
    assert [(u.input_tokens, u.output_tokens, u.cached_tokens) for u in turns] == [
        (1000, 10, 600),
        (2000, 20, 1000),
    ]
    assert turns[0].cost_usd is not None
    updates: list[UsageUpdated] = desk.events.of("usage_updated")
    assert [update.usage.input_tokens for update in updates] == [1000, 3000]
    assert (outcome.usage.input_tokens, outcome.usage.cached_tokens) == (3000, 1600)
    assert outcome.usage.cost_usd == pytest.approx(sum(u.cost_usd or 0 for u in turns))
    server.reply("Hi.", usage=Tokens(500, 5))
    await desk.run("another session")
    status = desk.magent.status()
    assert status["usageToday"]["inputTokens"] == 3500
    assert status["usage"]["inputTokens"] == 3500
    told = (await desk.run("/cost", session_id=started.session_id)).text
    assert "This session: Tokens in: 3,000 (from cache: 1,600), out: 30" in told
    assert "Today, all sessions: Tokens in: 3,500" in told


async def test_a_subagents_usage_counts_for_its_parent_and_once_for_the_day(
    desk: Desk, server: ModelServer
) -> None:
    server.reply(calls=[call("delegate", agent="explore", prompt="look")], usage=Tokens(100, 1))
    server.reply("Found.", usage=Tokens(10, 1))
    server.reply("The agent found it.", usage=Tokens(1000, 1))
    started = desk.magent.start(RunRequest(prompt="look"))
    outcome = await desk.magent.wait(started.run_id)
    assert outcome.usage.input_tokens == 1110
    assert desk.magent.session(started.session_id).usage.input_tokens == 1110
    assert desk.magent.status()["usageToday"]["inputTokens"] == 1110
    desk.magent.close_session(started.session_id)
    assert (await desk.magent.open_session(started.session_id)).usage.input_tokens == 1110
    listed = {info.id: info for info in desk.magent.sessions.list()}
    assert listed[started.session_id].usage == outcome.usage


async def test_the_cost_of_a_long_session_is_in_the_list(desk: Desk, server: ModelServer) -> None:
    """Only the ends of a file are read for a list, so the sum must stand at the end too."""
    (desk.workspace / "long.txt").write_text("a long line of text\n" * 1500)
    server.reply("Hm.", usage=Tokens(70, 7))
    started = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(started.run_id)
    session = desk.magent.session(started.session_id)
    for _ in range(4):
        server.reply(calls=[call("read_file", path="long.txt")], usage=None)
    server.reply("Read.", usage=None)
    await desk.run("read it four times", session_id=started.session_id)
    usage = session.usage
    assert usage.estimated
    desk.magent.close_session(started.session_id)
    [info] = desk.magent.sessions.list()
    assert info.size > 100_000
    assert info.usage == usage


async def test_an_estimate_is_said_to_be_one(desk: Desk, server: ModelServer) -> None:
    server.reply("Hm.", usage=None)
    started = desk.magent.start(RunRequest(prompt="hello"))
    assert (await desk.magent.wait(started.run_id)).usage.estimated
    assert "(estimated)" in (await desk.run("/cost", session_id=started.session_id)).text


def test_days_are_kept_apart_over_restarts_and_processes(tmp_path: Path) -> None:
    now = datetime(2026, 11, 27, 23, 59, tzinfo=UTC)
    mine, other = Ledger(tmp_path, lambda: now), Ledger(tmp_path, lambda: now)
    mine.add(Usage(input_tokens=10, cost_usd=0.5), "s1")
    assert other.today() == Usage(input_tokens=10, cost_usd=0.5)
    other.add(Usage(input_tokens=1, estimated=True), "s2")
    assert mine.today() == Usage(input_tokens=11, cost_usd=0.5, estimated=True)
    assert mine.today() == Usage(input_tokens=11, cost_usd=0.5, estimated=True)
    now = datetime(2026, 11, 28, 0, 1, tzinfo=UTC)
    assert mine.today() == Usage()
    assert mine.day(date(2026, 11, 27)).input_tokens == 11
    (tmp_path / "usage/2026-11-28.jsonl").write_text('garbage\n{"inputTokens": 5}\n{"inputTok')
    assert mine.today().input_tokens == 5
    old = tmp_path / "usage/2024-01-01.jsonl"
    old.write_text("{}\n")
    now = datetime(2026, 11, 29, tzinfo=UTC)
    mine.add(Usage(input_tokens=1), "s1")
    assert not old.exists(), f"{KEPT_DAYS} days are kept"


def test_a_ledger_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "usage").write_text("a file where the folder should be")
    ledger = Ledger(tmp_path)
    ledger.add(Usage(input_tokens=1), "s")
    assert ledger.today() == Usage()


async def test_what_fills_the_window_is_told_by_kind(desk: Desk, server: ModelServer) -> None:
    (desk.workspace / "AGENTS.md").write_text("Always write tests. " * 50)
    (desk.workspace / "long.txt").write_text("a long line of text\n" * 300)
    desk.set(contextLimit=50_000)
    server.reply(calls=[call("read_file", path="long.txt")], usage=None)
    server.reply("Read.", usage=None)
    started = desk.magent.start(RunRequest(prompt="read it"))
    await desk.magent.wait(started.run_id)
    told = (await desk.run("/context", session_id=started.session_id)).text
    sizes = {
        line[2:].rpartition(": ")[0]: int(line.rpartition(": ")[2].split()[0].replace(",", ""))
        for line in told.splitlines()
        if line.startswith("- ")
    }
    assert {"system prompt", "instructions", "answers and calls", "output of read_file"} < sizes.keys()
    assert sizes["output of read_file"] > sizes["answers and calls"]
    assert 200 < sizes["instructions"] < 500
    sent = json.dumps(server.requests[1].json)
    assert sum(sizes.values()) == pytest.approx(len(sent) / 4, rel=0.25)
    assert "of 50,000" in told


async def test_the_window_is_measured_as_the_provider_counts(desk: Desk, server: ModelServer) -> None:
    server.reply("Hm.", usage=None)
    server.reply("Hm.", usage=Tokens(10_000, 5))
    first = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(first.run_id)
    second = desk.magent.start(RunRequest(prompt="hello"))
    await desk.magent.wait(second.run_id)
    texts = [(await desk.run("/context", session_id=s.session_id)).text for s in (first, second)]
    totals = [int(text.split("about ")[1].split()[0].replace(",", "")) for text in texts]
    assert totals[1] > totals[0] * 1.5


# --- limits ---------------------------------------------------------------------------------------------


async def test_a_run_ends_before_it_costs_more_than_it_may(desk: Desk, server: ModelServer) -> None:
    desk.set(maxCostUsd=0.02)
    for n in range(9):
        server.reply(calls=[call("bash", command=f"echo {n}")], usage=Tokens(2000, 100))
    outcome = await desk.run("go on and on")
    assert outcome.stop_reason == "budget"
    assert 0 < (outcome.usage.cost_usd or 0) <= 0.02
    assert 1 < len(server.requests) < 9
    assert "maxCostUsd" in desk.events.of("notice")[-1].message


async def test_a_subagent_spends_its_parents_money(desk: Desk, server: ModelServer) -> None:
    desk.set(maxCostUsd=0.02)
    server.reply(calls=[call("delegate", agent="explore", prompt="look")], usage=Tokens(200, 10))
    for n in range(9):
        server.reply(calls=[call("grep", pattern=f"x{n}")], usage=Tokens(2000, 100))
    outcome = await desk.run("look everywhere")
    assert outcome.stop_reason == "budget"
    assert (outcome.usage.cost_usd or 0) <= 0.02


async def test_time_ends_a_run_whose_model_says_nothing(desk: Desk, server: ModelServer) -> None:
    desk.set(maxMinutes=0.01)
    server.fault("stall", after=0)
    started = desk.magent.start(RunRequest(prompt="hello"))
    outcome = await desk.magent.wait(started.run_id)
    assert outcome.stop_reason == "budget"
    assert "maxMinutes" in desk.events.of("notice")[-1].message
    assert await server.requests[0].wait_closed(20)
    desk.set(maxMinutes=None)
    server.reply("Here.")
    assert (await desk.run("again", session_id=started.session_id)).text == "Here."


async def test_time_ends_a_run_between_two_steps(desk: Desk, server: ModelServer) -> None:
    desk.set(maxMinutes=0.01)
    for n in range(20):
        server.reply(calls=[call("bash", command=f"sleep 0.2; echo {n}")])
    outcome = await desk.run("go on")
    assert outcome.stop_reason == "budget"
    assert len(server.requests) < 9
