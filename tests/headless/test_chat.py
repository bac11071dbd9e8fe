"""`magent-lsp chat`: a conversation that a slip of the finger does not end."""

import pytest

from tests.support.terminal import Program, call

READY = "leaves · /help"
"""The end of the line under the prompt."""


def test_lines_of_a_pipe_are_messages_of_one_conversation(program: Program) -> None:
    model = program.script(
        {"when": {"user": "first", "turn": 1}, "text": "one"},
        {"when": {"user": "second", "turn": 2}, "text": "two"},
    )
    done = program("chat", "--model", model, stdin="first\n\nsecond\n")
    assert done.code == 0, done
    assert done.out == "one\ntwo\n"
    assert "chat --session " in done.err.splitlines()[-1]


def test_an_error_does_not_end_the_conversation(program: Program) -> None:
    model = program.script({"error": {"kind": "auth", "message": "no key"}}, {"text": "better"})
    done = program("chat", "--model", model, stdin="/agents nobody\none\ntwo\n")
    assert done.code == 0, done
    assert "no agent 'nobody'" in done.err
    assert "no key" in done.err
    assert done.out == "better\n"


def test_commands_of_the_chat(program: Program) -> None:
    model = program.script({"text": "hello"})
    said = "/help\n/session\n/agents plan\nhi\n/session\n/new\n/session\n/quit\nnever said\n"
    done = program("chat", "--model", model, stdin=said)
    assert done.code == 0, done
    assert done.out.splitlines()[-1] == "hello"
    for part in ("/undo", "/review", "plan · scripted:", "A new conversation."):
        assert part in done.err, part
    assert done.err.count("This conversation has not begun") == 2


def test_undo_takes_back_what_the_last_prompt_did(program: Program) -> None:
    path = program.folder / "a.py"
    path.write_text("x = 1\n")
    edit = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")
    model = program.script({"calls": [edit]}, {"text": "Done."})
    done = program("chat", "--yes", "--model", model, stdin="do it\n/undo\n")
    assert "a.py" in done.out
    assert path.read_text() == "x = 1\n"
    done = program("chat", "--yes", "--model", model, stdin="do it\n/undo\n/redo\n")
    assert path.read_text() == "x = 2\n"


def test_what_is_said_to_the_chat_is_no_turn_of_the_model(program: Program) -> None:
    (program.folder / "a.py").write_text("x = 1\n")
    edit = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")
    model = program.script(
        {"when": {"user": "do it", "turn": 1}, "calls": [edit]},
        {"when": {"user": "do it", "turn": 2}, "text": "Done."},
        {"when": {"user": "next", "turn": 3}, "text": "Third."},
    )
    said = "do it\n/undo\n/redo\n/redo\n/nope\n/cost\n/export\n/trust\nnext\n"
    done = program("chat", "--yes", "--model", model, stdin=said)
    assert done.out.endswith("Third.\n"), done
    assert "no command /nope" in done.err


def test_at_a_terminal(program: Program) -> None:
    (program.folder / "notes.txt").touch()
    model = program.script(
        {"when": {"user": "begin"}, "text": "hel", "first_delay": 600},
        {"when": {"user": "two\nlines"}, "text": "Both lines are here."},
        {"when": {"user": "@notes.txt"}, "text": "Read it."},
    )
    with program.at_a_terminal("chat", "--model", model) as screen:
        screen.until(READY)
        screen.type("begin\r")
        screen.until("scripted:")
        screen.type("\x03")  # cancels the run, not the program
        screen.until("cancelled")
        screen.until(READY)
        screen.type("two\x1b\rlines\r")  # Alt-Enter
        screen.until("Both lines are here.")
        screen.until(READY)
        screen.type("half a thought\x03")  # gives the line up, not the program
        screen.until("Ctrl-D or /quit leaves.")
        screen.until(READY)
        screen.type("look at @no")
        screen.until("notes.txt")  # is offered
        screen.type("\t\r")  # chosen, sent
        screen.until("Read it.")
        screen.until(READY)
        screen.type("\x04")
        assert screen.end() == 0
    with program.at_a_terminal("chat", "--model", model) as screen:
        screen.until(READY)
        screen.type("\x1b[A")  # the history outlives the program
        screen.until("look at @notes.txt")
        screen.type("\x03")
        screen.until(READY)
        screen.type("\x04")
        assert screen.end() == 0


@pytest.mark.parametrize(("answer", "made"), [("y", True), ("n", False)])
def test_approvals_are_asked_in_the_conversation(program: Program, answer: str, made: bool) -> None:
    model = program.script({"calls": [call("bash", command="touch made")]}, {"text": "Done."})
    with program.at_a_terminal("chat", "--model", model) as screen:
        screen.until(READY)
        screen.type("make it\r")
        screen.until("$ touch made")
        screen.question()
        screen.type(f"{answer}\r")
        screen.until("Done." if made else "you said no")
        screen.until(READY)
        screen.type("\x04")
        assert screen.end() == 0
    assert (program.folder / "made").exists() is made
