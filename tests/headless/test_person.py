"""`run` at a terminal: a person sees what they decide about, and their answer counts."""

import pytest

from tests.support.terminal import Program, Screen, call, wait_for

EDIT = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")
BASH = call("bash", command="touch made")


@pytest.fixture
def program(program: Program) -> Program:
    (program.folder / "a.py").write_text("x = 1\n")
    return program


def ask(program: Program, *calls: dict[str, object]) -> list[str]:
    """The words of a run that makes these calls, one a turn."""
    replies = [{"calls": [each]} for each in calls]
    return ["run", "do it", "--model", program.script(*replies, {"text": "The end."})]


def test_the_diff_is_shown_and_yes_applies_it(program: Program) -> None:
    with program.at_a_terminal(*ask(program, EDIT)) as screen:
        shown = screen.question()
        assert "a.py" in shown
        assert "-x = 1" in shown
        assert "+x = 2" in shown
        assert (program.folder / "a.py").read_text() == "x = 1\n"
        screen.type("y\r")
        screen.until("The end.")
        assert screen.end() == 0
    assert (program.folder / "a.py").read_text() == "x = 2\n"


@pytest.mark.parametrize("answer", ["n\r", "\x04"])
def test_no_changes_nothing_and_ends_the_run_with_4(program: Program, answer: str) -> None:
    with program.at_a_terminal(*ask(program, EDIT)) as screen:
        screen.question()
        screen.type(answer)
        assert screen.end() == 4
        assert "The end." not in screen.text
    assert (program.folder / "a.py").read_text() == "x = 1\n"


def test_anything_unclear_is_asked_again(program: Program) -> None:
    with program.at_a_terminal(*ask(program, BASH)) as screen:
        shown = screen.question()
        assert "$ touch made" in shown
        screen.type("maybe\r")
        screen.until("Please answer with one of")
        screen.type("yes\r")
        assert screen.end() == 0
    assert (program.folder / "made").exists()


def test_words_with_a_no_go_to_the_model_and_the_run_goes_on(program: Program) -> None:
    words = ["run", "do it", "--model"]
    heard = {"when": {"tool": "use the other file"}, "text": "I heard."}
    with program.at_a_terminal(*words, program.script({"calls": [EDIT]}, heard)) as screen:
        screen.question()
        screen.type("f\r")
        screen.until("What instead?")
        screen.type("use the other file\r")
        screen.until("I heard.")
        assert screen.end() == 0


@pytest.mark.parametrize(
    ("said", "told"), [("y", "Accepted as it is."), ("no", "Rejected."), ("", "Accepted")]
)
def test_yes_and_no_to_a_proposal_are_what_they_are_elsewhere(program: Program, said: str, told: str) -> None:
    propose = call("propose", title="A name", content="total")
    heard = {"when": {"tool": told}, "text": "I heard."}
    script = program.script({"calls": [propose]}, heard)
    with program.at_a_terminal("run", "do it", "--model", script) as screen:
        screen.until("Answer [total] >")
        screen.type(f"{said}\r")
        screen.until("I heard.")
        assert screen.end() == 0


def test_in_this_session_is_not_asked_twice(program: Program) -> None:
    with program.at_a_terminal(*ask(program, BASH, BASH)) as screen:
        screen.question()
        screen.type("s\r")
        screen.until("The end.")
        assert screen.end() == 0
        assert screen.text.count("[y] Allow once") == 1


def cancelled(screen: Screen) -> None:
    assert screen.end(10) == 130
    assert "cancelled" in screen.text
    assert "Traceback" not in screen.text


def test_ctrl_c_at_the_question_cancels(program: Program) -> None:
    with program.at_a_terminal(*ask(program, BASH)) as screen:
        screen.question()
        screen.type("\x03")
        cancelled(screen)
    assert not (program.folder / "made").exists()


def test_ctrl_c_after_an_answer_still_cancels(program: Program) -> None:
    """The prompt must give the signal back that it took."""
    slow = call("bash", command="echo > began; sleep 600", timeout=700)
    with program.at_a_terminal(*ask(program, slow)) as screen:
        screen.question()
        screen.type("y\r")
        wait_for(program.folder / "began")
        screen.interrupt()
        cancelled(screen)


def test_control_characters_in_a_command_are_shown_not_obeyed(program: Program) -> None:
    hostile = call("bash", command="touch made \x1b[2K\x1b[1A# harmless")
    with program.at_a_terminal(*ask(program, hostile)) as screen:
        shown = screen.question()
        assert "[2K" in shown
        assert "touch made" in shown
        screen.type("n\r")
        assert screen.end() == 4
