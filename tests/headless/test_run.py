"""`magent-lsp run`: what scripts rely on."""

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.terminal import Program, call, wait_for


def session_ids(program: Program) -> list[str]:
    listed = program("sessions", "list", "--json")
    return [info["id"] for info in json.loads(listed.out)]


def test_the_answer_and_nothing_else_is_on_stdout(program: Program) -> None:
    (program.folder / "a.txt").write_text("forty-two\n")
    model = program.script(
        {"text": "Reading.", "calls": [call("read_file", path="a.txt")]}, {"text": "It says forty-two."}
    )
    done = program("run", "what", "does a.txt say?", "--model", model)
    assert done.code == 0, done
    assert done.out == "Reading.\nIt says forty-two.\n"
    assert "a.txt" in done.err
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize("words", [[], ["-"]])
def test_the_prompt_may_come_through_a_pipe(program: Program, words: list[str]) -> None:
    model = program.script({"when": {"user": "piped words"}, "text": "taken"})
    assert program("run", *words, "--model", model, stdin="piped words\n").out == "taken\n"


def test_a_dash_puts_what_was_piped_beside_the_words(program: Program) -> None:
    model = program.script({"when": {"user": r"review this:\s+the diff"}, "text": "fine"})
    assert program("run", "review this:", "-", "--model", model, stdin="the diff\n").out == "fine\n"


def test_json_is_one_event_a_line_shaped_as_magent_event(program: Program) -> None:
    model = program.script({"text": "Listing.", "calls": [call("list_dir")]}, {"text": "Empty."})
    done = program("run", "list", "--model", model, "--json")
    assert done.code == 0, done
    events = done.events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {tuple(event) for event in events} == {("runId", "sessionId", "seq", "time", "event")}
    assert len({event["runId"] for event in events}) == 1
    types = [event["event"]["type"] for event in events]
    assert types[0] == "run_started"
    assert types[-1] == "run_finished"
    assert {"text_delta", "tool_call_started", "tool_call_finished"} < set(types)
    assert events[-1]["event"]["stopReason"] == "end_turn"
    assert events[-1]["event"]["text"] == "Empty."


def test_an_edit_reaches_the_disk_and_is_reported(program: Program) -> None:
    path = program.folder / "a.py"
    path.write_bytes(b"x = 1\r\ny = 2\r\n")
    edit = call("edit_file", path="a.py", old_string="x = 1", new_string="x = 3")
    model = program.script({"calls": [edit]}, {"text": "Done."})
    done = program("run", "set x", "--model", model, "--yes", "--json")
    assert done.code == 0, done
    assert path.read_bytes() == b"x = 3\r\ny = 2\r\n"
    assert done.events[-1]["event"]["edits"] == [{"uri": path.as_uri(), "outcome": "applied"}]


def test_a_failure_is_one_line_that_says_why_and_exit_code_1(program: Program) -> None:
    model = program.script({"error": {"kind": "auth", "message": "the key was refused; set OPENAI_API_KEY"}})
    done = program("run", "hi", "--model", model)
    assert done.code == 1
    assert done.out == ""
    assert done.err.splitlines()[-1] == "magent-lsp: the key was refused; set OPENAI_API_KEY"
    assert "Traceback" not in done.err


def test_without_any_model_it_says_what_to_set(program: Program) -> None:
    done = program("run", "hi")
    assert done.code == 1
    assert "model" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_limit_gives_exit_code_3_and_the_way_to_go_on(program: Program) -> None:
    model = program.script({"calls": [call("list_dir")], "repeat": True})
    done = program("run", "list", "--model", model, MAGENT_MAX_TURNS="2")
    assert done.code == 3, done
    assert "maxTurns" in done.err
    assert f"--session {session_ids(program)[0]}" in done.err


def bash_then_done(program: Program) -> str:
    tool = program.folder / "tool.sh"
    tool.write_text("#!/bin/sh\n: > made\n")
    tool.chmod(0o755)
    return program.script({"calls": [call("bash", command="./tool.sh now")]}, {"text": "As far as I could."})


def test_without_a_person_a_question_is_refused_the_run_goes_on_and_exit_code_is_4(program: Program) -> None:
    done = program("run", "make it", "--model", bash_then_done(program))
    assert done.code == 4, done
    assert done.out == "As far as I could.\n"
    assert "--allow TOOL[:PATTERN]" in done.err.splitlines()[-1]
    assert not (program.folder / "made").exists()


@pytest.mark.parametrize("words", [["--yes"], ["--allow", "bash:./tool.sh *"], ["--allow", "bash"]])
def test_yes_and_allow_permit(program: Program, words: list[str]) -> None:
    done = program("run", "make it", "--model", bash_then_done(program), *words)
    assert done.code == 0, done
    assert (program.folder / "made").exists()


def test_allow_permits_only_what_it_says(program: Program) -> None:
    done = program("run", "make it", "--model", bash_then_done(program), "--allow", "bash:git *")
    assert done.code == 4
    assert not (program.folder / "made").exists()


def test_yes_is_not_enough_for_protected_files(program: Program) -> None:
    write = call("write_file", path=".vscode/tasks.json", content="{}")
    model = program.script({"calls": [write]}, {"text": "Tried."})
    done = program("run", "write", "--model", model, "--yes")
    assert done.code == 4
    assert "--allow TOOL:PATTERN, as --yes is not enough for it" in done.err.splitlines()[-1]
    assert not (program.folder / ".vscode").exists()


def test_what_is_said_of_yes_counts_only_what_it_does_not_answer(program: Program) -> None:
    calls = [call("write_file", path=".vscode/tasks.json", content="{}"), call("bash", command="./tool.sh")]
    done = program("run", "x", "--model", program.script({"calls": calls}, {"text": "Tried."}))
    assert done.err.splitlines()[-1].startswith("magent-lsp: 2 calls had no permission")
    assert "--yes is not enough for 1 of them" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_run_and_command(program: Program, number: signal.Signals) -> None:
    command = "echo $$ > pid; sleep 600"
    model = program.script({"calls": [call("bash", command=command, timeout=700)]})
    process = program.start("run", "wait", "--model", model, "--yes")
    try:
        wait_for(program.folder / "pid")
        process.send_signal(number)
        _, err = process.communicate(timeout=15)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, err
    assert "cancelled" in err.splitlines()[-1]
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int((program.folder / "pid").read_text()), 0)
    assert len(session_ids(program)) == 1  # what was said is kept


def test_a_model_that_says_nothing_can_be_interrupted(program: Program) -> None:
    with ModelServer() as server:
        server.fault("stall", after=0)
        program.environ |= {
            "MAGENT_API_BASE": server.base("openai"),
            "OPENAI_API_KEY": "sk-no-key-0000000000",
        }
        process = program.start("run", "hello", "--model", server.model("openai"), "--json")
        try:
            while not server.requests:
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=15)
        finally:
            process.kill()
            process.communicate()
        assert asyncio.run(server.requests[0].wait_closed(5))
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["event"]["stopReason"] == "cancelled"
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_traceback(program: Program) -> None:
    model = program.script({"text": ["much\n"] * 50, "delay": 0.01})
    process = program.start("run", "talk", "--model", model)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stderr:
        assert process.stdout.readline() == "much\n"
        process.stdout.close()
        process.wait(timeout=30)
        err = process.stderr.read()
    assert "Traceback" not in err
    assert "Exception" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_answer_that_could_not_be_written_is_no_success(program: Program, words: list[str]) -> None:
    model = program.script({"text": "An answer."})
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program.command("run", "hi", "--model", model, *words),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=program.folder,
            env=program.environ,
            timeout=60,
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert session_ids(program)[0] in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_file_and_its_lines_reach_the_model(program: Program) -> None:
    (program.folder / "a.py").write_text("".join(f"line_{n} = {n}\n" for n in range(1, 10)))
    with ModelServer() as server:
        server.reply("Seen.")
        done = program(
            "run", "explain", "--file", "a.py:3-4", "--model", server.model("openai"),
            MAGENT_API_BASE=server.base("openai"), OPENAI_API_KEY="sk-not-a-real-key-000000",
        )  # fmt: skip
        assert done.code == 0, done
        said = json.dumps(server.requests[0].messages)
    assert done.out == "Seen.\n"
    assert "line_3 = 3" in said
    assert "line_4 = 4" in said
    assert "line_5" not in said
    assert "a.py" in said


def test_last_goes_on_with_the_newest_session_of_the_folder(program: Program) -> None:
    assert program("run", "first", "--model", program.script({"text": "one"})).code == 0
    model = program.script({"when": {"turn": 2}, "text": "two"})
    done = program("run", "second", "--session", "last", "--model", model)
    assert done.out == "two\n", done
    assert len(session_ids(program)) == 1
