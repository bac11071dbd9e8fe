"""`magent-lsp doctor`: the truth about the set-up, without its secrets."""

import json
from typing import Any

import pytest

from tests.support.terminal import Program

KEY = "sk-doctor-0123456789abcdefghijklmnop"
HIDDEN = "hunter22"
"""A password that stands in an address alone: nothing else tells that it is one."""


def lines(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {line["name"]: line for section in report["sections"] for line in section["lines"]}


def test_with_a_scripted_model_all_is_well(program: Program) -> None:
    model = program.script({"text": "hi"})
    done = program("doctor", "--json", MAGENT_MODEL=model, OPENAI_API_KEY=KEY)
    report = json.loads(done.out)
    assert done.code == 0, report
    assert report["ok"] is True
    found = lines(report)
    assert found["keys"]["detail"] == "set: OPENAI_API_KEY"
    assert found["model"]["detail"].startswith("scripted:")
    assert {"version", "state", "user config", "project", "trust", "reachable", "rg", "bwrap"} <= set(found)
    assert KEY not in done.out + done.err
    assert {line["state"] for line in found.values()} <= {"ok", "warn", "fail"}


def test_a_script_is_looked_for_where_a_run_looks(program: Program) -> None:
    """A relative name belongs to the folder of the configuration, wherever the doctor is asked."""
    program.script({"text": "hi"}, name="demo.json")
    report = json.loads(program("doctor", "--json", MAGENT_MODEL="scripted:demo.json").out)
    assert lines(report)["reachable"]["state"] == "ok"
    report = json.loads(program("doctor", "--json", MAGENT_MODEL="scripted:gone.json").out)
    assert lines(report)["reachable"]["state"] != "ok"


def test_a_bad_verdict_counts_as_deny_and_nothing_says_otherwise(program: Program) -> None:
    program.config.write_text("permission:\n  bash:\n    touch *: no\n")
    done = program("doctor")
    [at] = [number for number, line in enumerate(done.out.splitlines()) if "config.yaml:3" in line]
    said = "\n".join(done.out.splitlines()[at : at + 2])
    assert "counts as deny" in said
    assert "Mend it in config.yaml" in said
    assert "default" not in said


def test_without_a_model_it_fails_and_says_how_to_mend_it(program: Program) -> None:
    done = program("doctor")
    assert done.code == 1
    assert "✗ model: " in done.out
    assert "set `model`" in done.out
    assert done.err == ""


def test_a_server_that_does_not_answer_is_named(program: Program) -> None:
    environ = {"MAGENT_MODEL": "openai/x", "MAGENT_API_BASE": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": KEY}
    done = program("doctor", "--json", **environ)
    found = lines(json.loads(done.out))
    assert done.code == 1
    assert found["reachable"]["state"] == "fail"
    assert "127.0.0.1:9" in found["reachable"]["detail"]
    assert "apiBase" in found["reachable"]["mend"]


def test_a_bad_config_is_reported_with_file_and_line(program: Program) -> None:
    program.config.write_text("agent: build\nmaxTurns: many\n")
    done = program("doctor", MAGENT_MODEL=program.script({"text": "hi"}))
    assert f"{program.config}:2" in done.out


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        ("gpt4", "model", "no provider 'gpt4'"),
        ("foo/bar", "model", "no provider 'foo'"),
        ("anthropic/claude-sonnet-4-5", "model", "ANTHROPIC_API_KEY"),
        ("ollama/llama3", "reachable", "Ollama"),
        ("scripted:", "reachable", "Is a directory"),
    ],
)
def test_a_model_that_cannot_work_is_found_out(program: Program, model: str, name: str, words: str) -> None:
    done = program("doctor", "--json", MAGENT_MODEL=model, OLLAMA_API_BASE="http://127.0.0.1:9")
    line = lines(json.loads(done.out))[name]
    assert done.code == 1
    assert line["state"] == "fail"
    assert words in line["detail"]
    assert "doctor" not in line["detail"], "that is what one is reading"


def test_an_address_that_is_not_known_is_no_good_news(program: Program) -> None:
    done = program("doctor", "--json", MAGENT_MODEL="cohere/command-r", COHERE_API_KEY=KEY)
    assert lines(json.loads(done.out))["reachable"]["state"] == "warn"


@pytest.mark.parametrize(
    "address",
    [
        f"http://user:{KEY}@127.0.0.1:9/v1",
        f"http://127.0.0.1:9/v1?key={KEY}",
        f"http://127.0.0.1:9/v1?key={HIDDEN}&for=https://api.openai.com",
        f"http://user:{HIDDEN}?x@127.0.0.1:9/v1",
        f"http://user:{HIDDEN}/x@127.0.0.1:9/v1",
        f"http://user:x://{HIDDEN}@127.0.0.1:9/v1",
        f"user:{HIDDEN}@127.0.0.1:9/v1",
        f"http://user:{HIDDEN}@127.0.0.1:9/v1",
        "http://[::1",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:abc/",
        f"http://{'h' * 300}/",
    ],
)
@pytest.mark.parametrize("model", ["openai/x", "auto"])
def test_an_address_that_does_not_serve_is_reported_without_what_is_secret_in_it(
    program: Program, model: str, address: str
) -> None:
    environ = {"MAGENT_MODEL": model, "MAGENT_API_BASE": address, "OPENAI_API_KEY": KEY}
    # With a model's name, an address that might serve is asked again for half a minute.
    run = [("run", "hello")] if model == "auto" else []
    for command in (("doctor", "--json"), *run):
        done = program(*command, **environ)
        assert done.code == 1
        assert "apiBase" in done.out + done.err, "what is to mend is named"
        assert KEY not in done.out + done.err
        assert HIDDEN not in done.out + done.err
