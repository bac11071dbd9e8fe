"""Messages of the terminal name next steps that work there, once, and nothing that does not exist."""

import re
from pathlib import Path

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


def write_examples(folder: Path, *names: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "scripted-models.md"
    for name in names:
        found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", page.read_text(), re.DOTALL)
        assert found, name
        (folder / name).write_text(found[1])


def test_the_example_of_scripted_models_runs_in_the_current_folder(program: Program) -> None:
    write_examples(program.folder, "greeting.py", "demo.yaml")
    done = program("run", "mend the greeting", "--model", "scripted:demo.yaml", "--yes")
    assert done.code == 0, done
    assert done.out.endswith("Done.\n")
    assert "Hello" in (program.folder / "greeting.py").read_text()


def test_the_script_to_try_it_answers_what_its_page_says(program: Program) -> None:
    write_examples(program.folder, "greeting.py", "try.yaml")
    for prompt, answer in {
        "What does greet do?": "but with a typo.",
        "tell me a story": "all who came there were in a hurry.",
        "mend the greeting": "Done.",
    }.items():
        done = program("run", prompt, "--model", "scripted:try.yaml", "--yes")
        assert done.code == 0, done
        assert done.out.endswith(f"{answer}\n")
    assert "Hello" in (program.folder / "greeting.py").read_text()


def test_a_script_that_is_not_there_is_named_once(program: Program) -> None:
    last = program("run", "hi", "--model", "scripted:gone.yaml").err.splitlines()[-1]
    assert last.count("gone.yaml") == 1
    assert last.endswith("No such file or directory; give an absolute path")


def test_allow_of_a_tool_that_does_not_exist_is_a_mistake_of_the_caller(program: Program) -> None:
    done = program("run", "hi", "--allow", "foo:bar")
    assert (done.code, done.err) == (2, "magent-lsp: --allow 'foo:bar': there is no tool 'foo'\n")


def test_edit_is_explained_as_the_tools_it_means(program: Program) -> None:
    lines = program("permissions", "explain", "edit", "pages.py").out.splitlines()
    assert lines[0] == "`edit` in a rule means edit_file and write_file."
    assert "`edit_file: *: ask`" in lines[1]
    assert "`write_file: *: ask`" in lines[2]


def test_names_that_are_nearly_right_get_the_right_one(program: Program) -> None:
    assert "Did you mean 'bash'?" in program("permissions", "explain", "Bash", "ls").err
    assert "Did you mean 'fetch'?" in program("permissions", "explain", "web_fetch", "x").err


def test_reasons_of_permissions_say_nothing_twice_and_no_lines_of_built_in_files(program: Program) -> None:
    assert program("permissions", "explain", "read_file", "/etc/passwd").out == (
        "ask: `/etc/passwd` is outside the workspace folders.\n"
    )
    out = program("permissions", "explain", "--agent", "plan", "edit_file", "a.py").out
    assert out.endswith("of the built-in agent plan.\n")


def test_people_see_what_they_wrote_and_what_became_of_a_session(program: Program) -> None:
    (program.folder / "a.py").write_text("pears = 1\n")
    model = program.script({"text": "Two apples.", "repeat": True})
    assert program("run", "how many pears?", "--file", "a.py", "--model", model).code == 0
    shown = program("sessions", "show", "last").out
    assert "User: how many pears?" in shown
    assert "<context>" not in shown + program("sessions", "export", "last").out
    assert program("sessions", "search", "context").code == 1
    [session] = program("sessions", "list").out.splitlines()
    number = session.split()[0]
    assert program("sessions", "rename", "last", "Fruit").err == f"{number} is called 'Fruit' now.\n"
    assert program("sessions", "delete", "last").err == f"Deleted for good: {number}  Fruit\n"


def test_lines_are_counted_as_an_editor_counts_them(program: Program) -> None:
    (program.folder / "a.py").write_text("a\nb\n")
    done = program("run", "hi", "--file", "a.py:50-60")
    assert done.err.endswith("begins after the last line, 2\n")


def test_an_unknown_provider_is_said_in_our_words(program: Program) -> None:
    last = program("run", "hi", "--model", "foo/bar").err.splitlines()[-1]
    assert last.startswith("magent-lsp: there is no provider 'foo'; name the model as provider/name")


def test_the_demo_stops_with_the_reason(program: Program) -> None:
    out = program("demo", "--model", "openai/x").out
    assert "The demo stops here: there is no key for OpenAI" in out.splitlines()[-1]
    assert "not so" not in out


def test_a_chat_without_the_model_leaves_no_session_to_go_on_with(program: Program) -> None:
    done = program("chat", stdin="/cost\n/foo\n/quit\n")
    assert "This session:" in done.out
    assert done.err == "magent-lsp: There is no command /foo. /help lists them.\n"
