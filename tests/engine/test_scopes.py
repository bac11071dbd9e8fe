"""Scoped runs: if these fail, an agent writes where it was not asked to, or loses its place."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.app import Magent
from magent_lsp.core.document import Position, Span, split_lines
from magent_lsp.core.edits import Replacement, TextEdits, apply_replacements
from magent_lsp.core.messages import ToolMessage
from magent_lsp.core.request import RunRequest, Scope
from magent_lsp.engine.scopes import Target, overlap
from magent_lsp.permissions.scope import lines_of
from magent_lsp.store.dirs import Dirs
from tests.engine.conftest import Desk, Record
from tests.support.editor import MemoryEditor
from tests.support.model_server import ModelServer, call

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def lines(path: Path, first: int, last: int, kind: Any = "region") -> Scope:
    """Lines from 1, as an editor names them."""
    return Scope(kind=kind, path=path, span=Span(Position(first - 1, 0), Position(last, 0)))


def edit(path: str, old: str, new: str) -> Any:
    return call("edit_file", path=path, edits=[{"old_string": old, "new_string": new}])


def results(desk: Desk) -> list[ToolMessage]:
    session = desk.magent.session(desk.events.envelopes[0].session_id)
    return [message for message in session.messages if isinstance(message, ToolMessage)]


@pytest.fixture
def ten(workspace: Path) -> Path:
    path = workspace / "ten.txt"
    path.write_text(TEN)
    return path


async def test_a_region_is_all_that_may_change(desk: Desk, server: ModelServer, ten: Path) -> None:
    server.reply(
        calls=[
            edit("ten.txt", "line 3\n", "line three\n"),
            edit("ten.txt", "line 7\n", "line seven\n"),
            edit("a.py", "helo", "hello"),
            call("write_file", path="new.txt", content="x\n"),
            edit("ten.txt", "line 4\n", "line 4 joined "),
        ]
    )
    server.reply(calls=[call("done", summary="Did it.")])
    outcome = await desk.run("change", scope=lines(ten, 3, 4))
    assert outcome.text == "Did it."
    assert [result.status for result in results(desk)[:5]] == ["completed", *["failed"] * 4]
    assert "lines 3 to 4" in results(desk)[1].text
    assert ten.read_text() == TEN.replace("line 3\n", "line three\n")
    assert [request.tool for request in desk.asked] == ["edit_file"]
    assert not (desk.workspace / "new.txt").exists()
    assert "You may only edit: ten.txt, lines 3-4" in str(server.requests[0].messages)


async def test_the_region_grows_with_the_run_s_own_edits(desk: Desk, server: ModelServer, ten: Path) -> None:
    server.reply(calls=[edit("ten.txt", "line 3\n", "a\nb\nc\n")])
    server.reply(calls=[edit("ten.txt", "c\nline 4\n", "c\nd\n"), edit("ten.txt", "line 5\n", "no\n")])
    server.reply("Done.")
    await desk.run("change", scope=lines(ten, 3, 4))
    assert [result.status for result in results(desk)] == ["completed", "completed", "failed"]
    (started,) = desk.events.of("run_started")
    assert started.uri == ten.as_uri()
    assert started.range == Span(Position(2, 0), Position(4, 0))
    spans = [(event.range.start.line, event.range.end.line) for event in desk.events.of("target_updated")]
    assert spans == [(2, 6), (2, 6)]
    assert ten.read_text().split("\n")[1:7] == ["line 2", "a", "b", "c", "d", "line 5"]


class Typing(MemoryEditor):
    """An editor in which somebody types before each edit lands."""

    def __init__(self) -> None:
        super().__init__()
        self.typing: list[tuple[str, str]] = []

    async def apply(self, edit: Any, label: str) -> Any:
        outcome = await super().apply(edit, label)
        if self.typing:
            old, new = self.typing.pop(0)
            buffer = self.buffers[edit.path]
            assert old in buffer.text
            self.open(edit.path, buffer.text.replace(old, new, 1))
        return outcome


@pytest.fixture
async def typing(desk: Desk, ten: Path, tmp_path: Path) -> AsyncIterator[tuple[Magent, Typing, Record]]:
    editor, events = Typing(), Record()
    editor.open(ten)
    magent = Magent(
        folders=[desk.workspace],
        editor=editor,
        sink=events,
        dirs=Dirs.under(tmp_path / "typing"),
        environ=desk.environ,
        overrides=desk.overrides,
        assume_yes=True,
    )
    yield magent, editor, events
    await magent.close()


async def test_the_region_follows_the_person_s_typing(
    typing: tuple[Magent, Typing, Record], server: ModelServer, ten: Path
) -> None:
    magent, editor, events = typing
    editor.typing = [("line 1\n", "line 1\nnew\nnew\n")]
    server.reply(calls=[edit("ten.txt", "line 5\n", "five\n")])
    server.reply(calls=[edit("ten.txt", "line 6\n", "six\n"), edit("ten.txt", "line 4\n", "four\n")])
    server.reply("Done.")
    started = magent.start(RunRequest(prompt="go", scope=lines(ten, 5, 6)))
    await magent.wait(started.run_id)
    messages = magent.session(started.session_id).messages
    assert [m.status for m in messages if isinstance(m, ToolMessage)] == ["completed", "completed", "failed"]
    spans = [(event.range.start.line, event.range.end.line) for event in events.of("target_updated")]
    assert spans == [(6, 8), (6, 8)]
    assert editor.buffers[ten].text == TEN.replace("line 1\n", "line 1\nnew\nnew\n").replace(
        "line 5\n", "five\n"
    ).replace("line 6\n", "six\n")


async def test_a_queued_run_finds_its_lines_after_those_above_have_moved(
    typing: tuple[Magent, Typing, Record], server: ModelServer, ten: Path
) -> None:
    magent, editor, events = typing
    server.reply(["I ", "add."], calls=[edit("ten.txt", "line 2\n", "2\n2\n2\n")], hold=True)
    server.reply("First.")
    server.reply(calls=[edit("ten.txt", "line 3\n", "three\n"), edit("ten.txt", "line 4\n", "four\n")])
    server.reply("Second.")
    first = magent.start(RunRequest(prompt="one", scope=lines(ten, 2, 3)))
    second = magent.start(RunRequest(prompt="two", scope=lines(ten, 3, 3, "line")))
    assert (first.queued, second.queued) == (False, True)
    server.release()
    await magent.wait(second.run_id)
    begun = [e.event for e in events.envelopes if e.run_id == second.run_id and e.event.type == "run_started"]
    assert begun[0].range == Span(Position(4, 0), Position(5, 0))
    assert "three\nline 4\n" in editor.buffers[ten].text


async def test_apart_they_run_at_once_and_overlapping_they_wait(
    desk: Desk, server: ModelServer, ten: Path
) -> None:
    for _ in range(4):
        server.reply(["o", "k"], hold=True)
    starts = [
        desk.magent.start(RunRequest(prompt="a", scope=lines(ten, 1, 3))),
        desk.magent.start(RunRequest(prompt="b", scope=lines(ten, 4, 6))),
        desk.magent.start(RunRequest(prompt="c", scope=lines(ten, 6, 7))),
        desk.magent.start(RunRequest(prompt="d", scope=Scope(kind="buffer", path=desk.workspace / "a.py"))),
    ]
    assert [each.queued for each in starts] == [False, False, True, False]
    await server.arrived(3)
    server.release()
    for each in starts:
        assert (await desk.magent.wait(each.run_id)).stop_reason == "end_turn"


async def test_a_directory_allows_new_files_in_it_and_nothing_beside(desk: Desk, server: ModelServer) -> None:
    (desk.workspace / "src").mkdir()
    (desk.workspace / "src" / "out").symlink_to(desk.workspace)
    server.reply(
        calls=[
            call("write_file", path="src/new/x.py", content="x\n"),
            call("write_file", path="src/../y.py", content="y\n"),
            call("write_file", path="src/out/z.py", content="z\n"),
            call("write_file", path="srcs.py", content="z\n"),
        ]
    )
    server.reply("Done.")
    await desk.run("go", scope=Scope(kind="directory", path=desk.workspace / "src"))
    assert [result.status for result in results(desk)] == ["completed", "failed", "failed", "failed"]
    assert (desk.workspace / "src/new/x.py").exists()
    assert sorted(path.name for path in desk.workspace.iterdir()) == ["a.py", "src"]
    assert len(desk.asked) == 1


async def test_bash_only_reads_in_a_scoped_run_whatever_the_rules_say(
    desk: Desk, server: ModelServer, ten: Path
) -> None:
    desk.magent.reload(client_settings={"permission": {"bash": "allow"}})
    commands = [
        "cat ten.txt",
        "touch x",
        "echo x > ten.txt",
        "sed -i s/1/2/ ten.txt",
        'python3 -c \'open("x","w")\'',
    ]
    server.reply(calls=[call("bash", command=command) for command in commands])
    server.reply(calls=[call("delegate", agent="general", prompt="do it for me")])
    server.reply(calls=[call("bash", command="touch x"), edit("ten.txt", "line 9\n", "nine\n")])
    server.reply("could not")
    server.reply("Done.")
    await desk.run("go", scope=lines(ten, 1, 1, "line"))
    assert [result.status for result in results(desk)[:5]] == ["completed", *["failed"] * 4]
    assert ten.read_text() == TEN
    assert not (desk.workspace / "x").exists()
    assert desk.asked == []


async def test_two_runs_in_one_file_keep_out_of_each_other_s_lines(
    typing: tuple[Magent, Typing, Record], server: ModelServer, ten: Path
) -> None:
    magent, editor, _ = typing
    by_prompt = {
        "upper": [edit("ten.txt", "line 1\n", "1a\n1b\n1c\n")],
        "lower": [edit("ten.txt", "line 8\n", "eight\n")],
    }
    seen: dict[str, int] = {}

    def respond(request: Any) -> Any:
        from tests.support.model_server import Reply

        first = next(str(m["content"]) for m in request.messages if m["role"] == "user")
        name = "upper" if first.endswith("upper") else "lower"
        seen[name] = seen.get(name, 0) + 1
        return Reply(calls=by_prompt[name]) if seen[name] == 1 else Reply(text=name)

    server.respond = respond
    runs = [
        magent.start(RunRequest(prompt="upper", scope=lines(ten, 1, 2))),
        magent.start(RunRequest(prompt="lower", scope=lines(ten, 8, 8))),
    ]
    outcomes = await asyncio.gather(*(magent.wait(each.run_id) for each in runs))
    assert [[edit.outcome for edit in outcome.edits] for outcome in outcomes] == [["applied"], ["applied"]]
    expected = TEN.replace("line 1\n", "1a\n1b\n1c\n").replace("line 8\n", "eight\n")
    assert editor.buffers[ten].text == expected


# -- the pure part -------------------------------------------------------------------------------------


def span_of(target: Target) -> tuple[int, int]:
    span = target.scope.span
    assert span is not None
    return span.start.line, span.end.line


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("new\n" + TEN, (3, 5)),
        (TEN.replace("line 2\n", ""), (1, 3)),
        (TEN.replace("line 3\n", "new\nline 3\n"), (3, 5)),
        (TEN.replace("line 5\n", "new\nline 5\n"), (2, 4)),
        (TEN.replace("line 3\n", "3\nand more\n"), (2, 5)),
        (TEN.replace("line 3\nline 4\n", ""), (2, 2)),
        (TEN.replace("line 2\nline 3\n", "mine\n"), (2, 3)),
        (TEN.replace("line 4\nline 5\n", "mine\n"), (2, 3)),
        (TEN.replace("line 2\nline 3\nline 4\nline 5\n", "mine\n"), (2, 2)),
        ("", (0, 0)),
        ("all\nnew\n", (2, 2)),
    ],
)
def test_where_lines_three_and_four_are_after_a_change(text: str, span: tuple[int, int]) -> None:
    target = Target(lines(Path("/x"), 3, 4), TEN)
    target.follow(text)
    assert span_of(target) == span


def test_an_emptied_region_lets_only_its_place_be_filled() -> None:
    target = Target(lines(Path("/x"), 3, 4), TEN)
    text = TEN.replace("line 3\nline 4\n", "")
    at = text.index("line 5")

    def made(start: int, end: int, new: str) -> TextEdits:
        replacements = (Replacement(start, end, new),)
        return TextEdits(
            path=Path("/x"),
            replacements=replacements,
            before=text,
            after=apply_replacements(text, replacements),
        )

    assert target.problem(made(at, at, "new\n")) == ""
    assert "gone" in target.problem(made(at, at + 7, "mine\n"))
    assert "gone" in target.problem(made(at, at, "no line end "))


some_lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n"]), max_size=12)


@settings(max_examples=300)
@given(some_lines, some_lines, st.integers(0, 12), st.integers(0, 6))
def test_a_target_always_holds_whole_lines_of_the_text(
    old: list[str], new: list[str], first: int, height: int
) -> None:
    scope = Scope(kind="region", path=Path("/x"), span=Span(Position(first, 0), Position(first + height, 0)))
    target = Target(scope, "".join(old))
    target.follow("".join(new))
    span = target.scope.span
    assert span is not None
    starts = [sum(map(len, new[:n])) for n in range(len(new) + 1)]
    begin, end = target._begin, target._end
    assert begin in starts
    assert end in starts
    assert begin <= end


@settings(max_examples=300)
@given(some_lines, some_lines, some_lines, some_lines, some_lines)
def test_what_changes_outside_never_becomes_the_target_s(
    above: list[str], inside: list[str], below: list[str], new_above: list[str], new_below: list[str]
) -> None:
    """The lines inside are unlike all others, so there is one right answer, whatever is typed around them."""
    own = [f"own {n}\n" for n in range(len(inside) + 1)]
    scope = Scope(
        kind="region", path=Path("/x"), span=Span(Position(len(above), 0), Position(len(above) + len(own), 0))
    )
    target = Target(scope, "".join([*above, *own, *below]))
    text = "".join([*new_above, *own, *new_below])
    target.follow(text)
    assert text[target._begin : target._end] == "".join(own)


@settings(max_examples=200)
@given(some_lines, st.integers(0, 11), st.integers(1, 4), st.text("ab\n", max_size=8), st.data())
def test_a_run_s_own_edit_inside_stays_inside(
    text_lines: list[str], first: int, height: int, new: str, data: st.DataObject
) -> None:
    text = "".join(text_lines)
    scope = Scope(kind="region", path=Path("/x"), span=Span(Position(first, 0), Position(first + height, 0)))
    begin, end = lines_of(scope, text)
    start = data.draw(st.integers(begin, end))
    stop = data.draw(st.integers(start, end))
    replacements = (Replacement(start, stop, new),)
    made = TextEdits(
        path=Path("/x"), replacements=replacements, before=text, after=apply_replacements(text, replacements)
    )
    target = Target(scope, text)
    if target.problem(made):
        return
    target.edited(made)
    assert made.after[: target._begin] == text[:begin]
    assert made.after[target._end :] == text[end:]
    assert split_lines(made.after[: target._begin]) == split_lines(text[:begin])


def test_a_large_change_is_bounded() -> None:
    old = "".join(f"{n}\n" for n in range(60_000))
    new = "".join(f"{n * 7 % 60_011}\n" for n in range(60_000))
    target = Target(lines(Path("/x"), 100, 200), old)
    target.follow(new)
    assert span_of(target)[0] <= 60_000


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (lines(Path("/x"), 1, 3), lines(Path("/x"), 4, 5), False),
        (lines(Path("/x"), 1, 4), lines(Path("/x"), 4, 5), True),
        (lines(Path("/x"), 1, 3), lines(Path("/y"), 1, 3), False),
        (lines(Path("/x"), 1, 3), Scope(kind="buffer", path=Path("/x")), True),
        (Scope(kind="directory", path=Path("/d")), lines(Path("/d/x"), 1, 1), True),
        (Scope(kind="directory", path=Path("/d")), lines(Path("/da/x"), 1, 1), False),
        (Scope(kind="directory", path=Path("/d/e")), Scope(kind="directory", path=Path("/d")), True),
        (Scope(kind="project"), lines(Path("/x"), 1, 1), True),
        (None, Scope(kind="project"), False),
    ],
)
def test_which_scopes_may_touch_the_same_text(one: Scope | None, other: Scope | None, together: bool) -> None:
    assert overlap(one, other) is together
    assert overlap(other, one) is together
