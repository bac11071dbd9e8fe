"""One-shot runs on a place, through the protocol: fenced in, followed, side by side or in turn."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.stage import Stage, call, on_stage, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\nsix = 6\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    files = {"a.py": TEXT, "b.py": TEXT, "lib/c.py": TEXT, "lib/d.py": TEXT}
    rules = {"edit_file": "allow", "write_file": "allow", "bash": "allow"}
    async with on_stage(tmp_path_factory.mktemp("scope"), files=files, permission=rules) as stage:
        yield stage


def change(old: str, new: str, path: str = "a.py") -> Any:
    return call("edit_file", path=path, old_string=old, new_string=new)


def lines(event: dict[str, Any]) -> tuple[int, int]:
    return event["range"]["start"]["line"], event["range"]["end"]["line"]


async def test_a_region_is_told_followed_and_fenced_and_done_ends_it(stage: Stage) -> None:
    buffer = stage.client.open("a.py")
    stage.cast(
        "work on three",
        say(
            "",
            call("read_file", path="a.py"),
            change("three = 3\n", "three = 3\nthree_and_a_half = 3.5\n"),
            change("one = 1", "one = 111"),
            change("two = 2", "two = 222", path="b.py"),
            call("bash", command="echo owned > b.py"),
        ),
        say("", call("done", summary="One line more.")),
        say("never asked"),
    )
    run = await stage.run("work on three", uri=buffer.uri, range=buffer.range("three = 3"), scope="region")
    assert (run.stop, run.text) == ("end_turn", "One line more.")
    [began] = run.of("run_started")
    assert began["uri"] == buffer.uri
    assert lines(began) == (2, 3)
    assert [lines(event) for event in run.of("target_updated")][-1] == (2, 4)
    assert buffer.text == TEXT.replace("three = 3\n", "three = 3\nthree_and_a_half = 3.5\n")
    assert (stage.workspace / "b.py").read_text() == TEXT
    assert not run.of("permission_requested"), "what leaves the scope is denied before anybody is asked"
    assert stage.client.questions == []
    results = run.results("edit_file")
    assert "may only edit lines" in results[1], results
    assert len(stage.asked("work on three")) == 2


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [("buffer", "lib/c.py", "lib/d.py"), ("directory", "lib/d.py", "a.py"), ("project", "b.py", "../x.py")],
)
async def test_wider_scopes(stage: Stage, scope: str, inside: str, outside: str) -> None:
    uri = (stage.workspace / "lib/c.py").as_uri()
    before = {name: (stage.workspace / name).read_text() for name in ("a.py", "lib/d.py")}
    stage.cast(
        f"widely {scope}",
        say(
            "",
            call("read_file", path=inside),
            change("six = 6", f"six = '{scope}'", path=inside),
            call(
                "write_file", path=outside if outside.startswith("..") else f"{outside}.new", content="owned"
            ),
        ),
        say("ok"),
    )
    await stage.run(f"widely {scope}", uri=uri, scope=scope)
    text = (stage.workspace / inside).read_text()
    assert f"six = '{scope}'" in text
    assert not list(stage.home.rglob("*.new"))
    assert not (stage.home / "x.py").exists()
    for name, old in before.items():
        if name != inside:
            assert (stage.workspace / name).read_text() == old
    (stage.workspace / inside).write_text(TEXT)


async def test_a_run_for_the_whole_project_runs_commands_as_any_other(stage: Stage) -> None:
    uri = (stage.workspace / "b.py").as_uri()
    stage.cast(
        "make everything",
        say("", call("bash", command="echo made > made.txt"), call("bash", command="echo owned > ../owned")),
        say("", call("done", summary="Made.")),
    )
    run = await stage.run("make everything", uri=uri, scope="project")
    assert (run.stop, run.text) == ("end_turn", "Made.")
    assert (stage.workspace / "made.txt").read_text() == "made\n"
    assert not (stage.home / "owned").exists()
    assert "outside the project" in run.results("bash")[1]
    assert not run.of("permission_requested")


async def test_several_work_at_once_and_those_that_overlap_wait(stage: Stage) -> None:
    buffer = stage.client.buffers[(stage.workspace / "a.py").as_uri()]
    for name in ("first", "second"):
        stage.cast(f"the {name} region", say(["a", "b"], hold=True), say("over"))
    stage.cast("the same region", say("mine at last"))
    first = await stage.start("the first region", uri=buffer.uri, range=buffer.range("one = 1"), scope="line")
    second = await stage.start(
        "the second region", uri=buffer.uri, range=buffer.range("six = 6"), scope="line"
    )
    same = await stage.start("the same region", uri=buffer.uri, range=buffer.range("one = 1"), scope="line")
    await stage.reached("the first region", "the second region")
    assert "queued" not in first
    assert "queued" not in second
    assert same["queued"] is True
    assert not stage.asked("the same region")
    assert any(event["type"] == "run_queued" for event in stage.client.of_run(same["runId"]))
    stage.server.release()
    await stage.ended(first)
    await stage.ended(second)
    assert (await stage.ended(same)).text == "mine at last"
