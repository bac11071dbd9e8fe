"""Messages of the terminal name next steps that work there, once, and nothing that does not exist."""

from tests.support.terminal import Program


def test_without_a_model_all_ways_to_one_are_named(program: Program) -> None:
    done = program("run", "hi")
    last = done.err.splitlines()[-1]
    assert last.startswith("magent-lsp: no model is configured: ")
    for step in ("OPENAI_API_KEY", "--model", "/config/config.yaml", "`magent-lsp doctor`"):
        assert step in last
    assert "editor" not in last
    assert "session" not in done.err, "there is none to go on with"
    assert program("sessions", "list", "--all").out == ""


def test_a_missing_key_is_said_with_all_that_helps(program: Program) -> None:
    last = program("run", "hi", "--model", "openai/x").err.splitlines()[-1]
    for step in (
        "no key for OpenAI",
        "OPENAI_API_KEY",
        "--model",
        "/config/config.yaml",
        "`magent-lsp doctor`",
    ):
        assert step in last
    assert "editor" not in last


def test_the_doctor_says_each_thing_once(program: Program) -> None:
    out = program("doctor").out
    assert out.count("OPENAI_API_KEY") == 1
    assert out.count("Ollama") == 1
    assert out.count("config.yaml") == 2  # where it would be, and what to set there


def untrusted(program: Program) -> None:
    folder = program.folder / ".magent"
    folder.mkdir()
    (folder / "config.yaml").write_text("model: openai/theirs\nhooks:\n  Stop:\n    - command: 'true'\n")


def test_trust_is_asked_for_in_one_line_that_works_here(program: Program) -> None:
    untrusted(program)
    done = program("run", "hi", "--model", program.script({"text": "hi"}))
    [said] = [line for line in done.err.splitlines() if "trusted" in line or "trust it" in line]
    assert "`/trust` in `magent-lsp chat`" in said


def test_what_only_waits_for_trust_is_not_to_be_mended(program: Program) -> None:
    untrusted(program)
    out = program("doctor").out
    assert "Mend it" not in out
    assert out.count("`/trust` in `magent-lsp chat`") == 1


def test_trust_as_a_prompt_is_answered_with_the_way(program: Program) -> None:
    done = program("run", "/trust")
    assert done.code == 1
    assert done.err == (
        "magent-lsp: This is not the place for /trust: "
        "`/trust` in `magent-lsp chat` shows what it means, and asks.\n"
    )


def test_a_command_without_the_model_has_no_lines_about_it(program: Program) -> None:
    done = program("run", "/cost")
    assert "This session:" in done.out
    assert done.err == ""


def test_a_broken_config_is_said_once(program: Program) -> None:
    model = program.script({"text": "hi"})
    program.config.write_text("model: [\n")
    done = program("run", "hi", "--model", model)
    [said] = [line for line in done.err.splitlines() if "config.yaml" in line]
    assert f"{program.config}:1: " in said


def test_what_a_command_could_not_fill_in_is_told_and_the_run_goes_on(program: Program) -> None:
    folder = program.config.parent / "commands"
    folder.mkdir()
    (folder / "look.md").write_text("Look at @gone.md and !`cat gone.txt` now\n")
    done = program("run", "/look", "--model", program.script({"text": "Seen."}), "--yes")
    assert (done.code, done.out) == (0, "Seen.\n")
    assert "warning: /look: @gone.md cannot be read" in done.err
    assert "warning: /look: !`cat gone.txt` failed (" in done.err


def test_a_stop_hook_is_seen_and_ends_by_a_limit_of_its_own(program: Program) -> None:
    program.config.write_text("hooks:\n  Stop:\n    - command: echo Write NOTES.md first. >&2; exit 2\n")
    model = program.script({"text": "Done.", "repeat": True})
    done = program("run", "go", "--model", model)
    assert done.out.split() == ["Done."] * 6
    assert done.err.count("Stop hook: Write NOTES.md first.") == 5
    assert "warning: The Stop hook kept the run from ending 5 times" in done.err
    assert "repeated" not in done.err
