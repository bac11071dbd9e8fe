"""`magent-lsp demo`: the first thing a newcomer tries must work, and must be true."""

import re

from tests.support.model_server import ModelServer
from tests.support.model_server import call as model_call
from tests.support.terminal import Program


def test_it_shows_and_verifies_the_whole_path_with_nothing_configured(program: Program) -> None:
    done = program("demo")
    assert done.code == 0, done.out + done.err
    for part in (
        "recorded script",
        "a test fails",
        "Magent: Fix: page_count",
        "+    return -(-items // per_page)",
        "unittest",
        "the edit arrived in the buffer",
        "the line you typed is still there",
        "the tests pass",
        "the agent's edit is taken back",
    ):
        assert part in done.out, part
    assert re.search(r"Done: 1[0-9] claims verified", done.out)
    assert "✗" not in done.out
    assert "\x1b" not in done.out
    assert not program.state.exists()  # a state of its own


def test_settings_of_the_person_do_not_change_the_story(program: Program) -> None:
    program.config.write_text("permission: {edit_file: deny, bash: deny}\nmodel: openai/none\n")
    done = program("demo", "--yes", MAGENT_PERMISSION='{"*": "deny"}', MAGENT_MAX_TURNS="1")
    assert done.code == 0, done.out


def test_the_project_is_kept_when_asked_and_gone_otherwise(program: Program) -> None:
    temporary = program.folder.parent / "tmp"
    temporary.mkdir()
    done = program("demo", "--keep", TMPDIR=str(temporary))
    assert done.code == 0, done.out
    [home] = temporary.iterdir()
    project = home / "project"
    assert str(project) in done.out
    assert "# Ask Mira" in (project / "pages.py").read_text()
    assert program("demo", TMPDIR=str(temporary)).code == 0
    assert list(temporary.iterdir()) == [home]


def test_a_person_at_a_terminal_is_asked(program: Program) -> None:
    with program.at_a_terminal("demo") as screen:
        shown = screen.question()
        assert "-    return items // per_page" in shown
        screen.type("y\r")
        assert "-m unittest" in screen.question()
        screen.type("y\r")
        screen.until("claims verified")
        assert screen.end() == 0


def test_a_person_who_says_no_loses_nothing(program: Program) -> None:
    with program.at_a_terminal("demo") as screen:
        screen.question()
        screen.type("n\r")
        screen.until("the line you typed is still there")
        screen.until("you said no")
        assert screen.end() == 1


def test_ctrl_c_leaves_with_nothing_left_behind(program: Program) -> None:
    with program.at_a_terminal("demo") as screen:
        screen.question()
        screen.type("\x03")
        assert screen.end(15) == 130
        assert "Traceback" not in screen.text


def test_a_real_model_takes_the_place_of_the_script(program: Program) -> None:
    old, new = "items // per_page\n\n\n", "-(-items // per_page)\n\n\n"
    edit = model_call("edit_file", path="pages.py", old_string=old, new_string=new)
    with ModelServer() as server:
        server.reply("I will fix it.", calls=[edit])
        server.reply("Fixed.")
        server.reply("Running them.", calls=[model_call("bash", command="python -m unittest")])
        server.reply("All pass.")
        done = program(
            "demo", "--yes", "--model", server.model("openai"),
            MAGENT_API_BASE=server.base("openai"), OPENAI_API_KEY="sk-not-a-real-key-000000",
        )  # fmt: skip
        assert done.code == 0, done.out
    assert server.model("openai") in done.out
    assert "You ask it to run the tests" in done.out


def test_a_model_that_fails_makes_the_demo_fail_and_say_why(program: Program) -> None:
    with ModelServer() as server:
        server.fault("status", 401)
        done = program(
            "demo", "--yes", "--model", server.model("openai"),
            MAGENT_API_BASE=server.base("openai"), OPENAI_API_KEY="sk-not-a-real-key-000000",
        )  # fmt: skip
    assert done.code == 1
    assert "The demo stops here: " in done.out.splitlines()[-1]
