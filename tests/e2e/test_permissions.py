"""The guard through the real server: what a person set is what happens, whatever the model tries."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.guarded import Row, answer_all, bash, calls, choose, furnish, prompt, silent
from tests.support.lsp_client import (
    EVENTS,
    ResponseError,
    editor,
    server_environment,
)


async def test_always_is_kept_listed_and_taken_back(tmp_path: Path) -> None:
    furnish(tmp_path)
    line = "git status && touch made"
    script = [
        bash(line),
        bash(line),
        bash("touch made && rm keep"),
        {"text": "One."},
        bash(line),
        {"text": "Two."},
    ]
    async with editor(tmp_path, script=script, client=EVENTS) as client:
        client.answers.append(choose(beginning="Always allow"))
        first = await prompt(client)
        assert first["text"] == "One."
        assert len(client.questions) == 1, "the second time it is allowed, the third time denied"
        outputs = [e["output"] for e in client.of_run(first["runId"]) if e["type"] == "tool_call_finished"]
        assert outputs[2].startswith("Not allowed")
        [entry] = yaml.safe_load((tmp_path / "config/grants.yaml").read_text())
        assert "touch made" in entry["for"]
        assert entry["when"].endswith("+00:00")
        assert [rule["pattern"] for rule in entry["rules"]] == ["touch made *"]
        [grant] = await client.command("magent.grants")
        await client.command("magent.revokeGrant", grantId=grant["grantId"])
        assert await client.command("magent.grants") == []
        client.answers.append("Reject")
        again = await prompt(client)
        assert len(client.questions) == 2
        assert again["stopReason"] == "rejected"


async def test_our_own_files_are_never_granted_for_good(tmp_path: Path) -> None:
    workspace = furnish(tmp_path)
    own = [
        str(tmp_path / "config/grants.yaml"),
        str(tmp_path / "state/trust/x"),
        str(workspace / ".magent/config.yaml"),
    ]
    no = {"reply": "reject", "feedback": "no"}
    async with editor(
        tmp_path, script=calls(*(Row("ask", "write_file", path) for path in own)), client=EVENTS
    ) as client:
        client.always = silent
        answering = asyncio.create_task(answer_all(client, no))
        run = await prompt(client)
        answering.cancel()
        requests = [
            e.get("request", e) for e in client.of_run(run["runId"]) if e["type"] == "permission_requested"
        ]
    offered = [[option["reply"] for option in request["options"]] for request in requests]
    assert offered == [["allow_once", "reject"]] * 3


async def test_a_no_ends_the_turn_and_all_its_questions_unless_it_has_a_word_for_the_model(
    tmp_path: Path,
) -> None:
    workspace = furnish(tmp_path)
    when = {"tool": "use pytest instead"}
    script = [bash("touch one", "touch two"), bash("touch one"), {"when": when, "text": "Then pytest."}]
    async with editor(tmp_path, script=script, client=EVENTS) as client:
        client.answers.append("Reject")
        run = await prompt(client)
        assert run["stopReason"] == "rejected"
        assert len(client.questions) == 1, "one dialog at a time, and none after the no"
        assert await client.command("magent.pending") == []
        client.always = silent
        answering = asyncio.create_task(
            answer_all(client, {"reply": "reject", "feedback": "use pytest instead"})
        )
        assert (await prompt(client))["text"] == "Then pytest."
        answering.cancel()
    assert not {"one", "two"} & {path.name for path in workspace.iterdir()}


async def test_a_link_that_is_swapped_while_the_question_is_open_leads_no_write_elsewhere(
    tmp_path: Path,
) -> None:
    workspace = furnish(tmp_path)
    (workspace / "link").symlink_to("a.py")
    (workspace / "folder").mkdir()

    def swap_file(params: dict[str, Any]) -> dict[str, str]:
        (workspace / "link").unlink()
        (workspace / "link").symlink_to(tmp_path / "beside/f")
        return {"title": "Allow once"}

    def swap_folder(params: dict[str, Any]) -> dict[str, str]:
        (workspace / "folder").rmdir()
        (workspace / "folder").symlink_to(tmp_path / "beside")
        return {"title": "Allow once"}

    script = [
        *calls(
            Row("allow", "read_file", "link"),
            Row("ask", "write_file", "link"),
            Row("ask", "write_file", "folder/new.py"),
        ),
        {"text": "Seen."},
    ]
    (tmp_path / "config/config.yaml").write_text("permission: {read_file: {'vault/**': deny}}")
    async with editor(tmp_path, script=script, client=EVENTS) as client:
        client.answers += [swap_file, swap_folder]
        run = await prompt(client)
        assert len(client.questions) == 2
        assert [edit["outcome"] for edit in run["edits"]] == ["stale", "stale"]
        run = await prompt(client, "look at @a.py and @.env and @envlink and @vault/key")
    assert (tmp_path / "beside/f").read_text() == "f"
    assert [path.name for path in (tmp_path / "beside").iterdir()] == ["f"]
    kept = "\n".join(path.read_text() for path in (tmp_path / "state").rglob("*.jsonl"))
    assert '<file path=\\"a.py\\">' in kept, "a file that may be read is put beside the prompt"
    assert "hush-hush" not in kept


async def test_no_secret_that_is_known_leaves_the_process_or_is_kept(tmp_path: Path) -> None:
    furnish(tmp_path)
    key = "sup3r-s3cret-value-0123456789"
    files = {"a.txt": f"token = {key}\n", "AGENTS.md": f"Never say {key}.\n"}
    script = [
        *calls(Row("allow", "read_file", "a.txt"), Row("allow", "grep", "token"))[:-1],
        bash("cat a.txt", f"touch {key}"),
        {"text": f"It is {key}."},
    ]
    environment = {"OPENAI_API_KEY": key}
    settings = {"log": "debug"}
    async with editor(
        tmp_path, script=script, client=EVENTS, files=files, environment=environment, settings=settings
    ) as client:
        client.answers.append("Allow once")
        run = await prompt(client, f"what is {key}?")
        session = await client.command("magent.exportSession", sessionId=run["sessionId"], format="markdown")
        received = json.dumps([client.messages, client.questions, client.events, session])
        [question] = client.questions
    assert run["text"] == "It is [redacted]."
    assert "touch [redacted]" in question["message"]
    assert [action["title"] for action in question["actions"]] == ["Allow once", "Reject"], (
        "nor in grants.yaml"
    )
    assert key not in received
    kept = [
        path
        for path in (tmp_path / "state").rglob("*")
        if path.is_file() and key.encode() in path.read_bytes()
    ]
    assert kept == []
    assert key not in (tmp_path / "stderr.txt").read_text()


async def test_the_terminal_explains(tmp_path: Path) -> None:
    furnish(tmp_path)

    async def explain(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            await _program("permissions", "explain", *words, "--json", home=tmp_path)
        )
        return found

    denied, read = await asyncio.gather(
        explain("bash", "git status && rm keep"), explain("read_file", "envlink")
    )
    assert denied["verdict"] == "deny"
    assert ("rm keep", "deny") in [(atom["value"], atom["verdict"]) for atom in denied["atoms"]]
    assert ("git status", "allow") in [(atom["value"], atom["verdict"]) for atom in denied["atoms"]]
    assert f"{tmp_path / 'config/config.yaml'}:10" in denied["reason"]
    assert (read["verdict"], read["rule"]["pattern"]) == ("deny", ".env")


async def _program(*arguments: str, home: Path) -> str:
    """What `magent-lsp` writes when it is run in the workspace."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "magent_lsp",
        *arguments,
        cwd=home / "ws",
        env=server_environment(home),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return out.decode()


HOOK = "touch ran-a-hook"


PROJECT = {
    ".magent/config.yaml": yaml.safe_dump(
        {
            "permission": {"bash": {"*": "allow", "ls *": "deny"}, "edit": "allow"},
            "hooks": {"PreToolUse": [{"command": HOOK}]},
        }
    )
}


async def test_a_project_only_tightens_until_it_is_trusted_and_again_when_it_changes(tmp_path: Path) -> None:
    script = [
        bash("touch one"),
        bash("ls"),
        {"text": "x"},
        bash("touch two"),
        {"text": "x"},
        bash("touch three"),
        {"text": "x"},
    ]
    async with editor(tmp_path, script=script, client=EVENTS, files=PROJECT) as client:
        workspace = tmp_path / "ws"
        client.always = lambda params: (
            {"title": "Allow once"}
            if "touch" in params["message"] and "Trust" not in params["message"]
            else None
        )
        run = await prompt(client)
        outputs = [e["output"] for e in client.of_run(run["runId"]) if e["type"] == "tool_call_finished"]
        assert outputs[1].startswith("Not allowed"), "its deny counts"
        asked = [q for q in client.questions if "Trust" not in q["message"]]
        assert len(asked) == 1, "its allow does not"
        assert not (workspace / "ran-a-hook").exists()
        review = await client.command("magent.trust")
        assert not review["trusted"]
        text = "\n".join(review["items"])
        assert HOOK in text
        assert "allow bash: *" in text
        assert "deny" not in text
        trusted = await client.command("magent.trust", digest=review["digest"])
        assert trusted["trusted"]
        await prompt(client)
        assert (workspace / "two").exists()
        assert (workspace / "ran-a-hook").exists()
        assert len([q for q in client.questions if "Trust" not in q["message"]]) == 1
        (workspace / "ran-a-hook").unlink()
        with (workspace / ".magent/config.yaml").open("a") as file:
            file.write("# pulled\n")
        await prompt(client)
        assert not (workspace / "ran-a-hook").exists()
        assert len([q for q in client.questions if "Trust" not in q["message"]]) == 2
        with pytest.raises(ResponseError):
            await client.command("magent.trust", digest=review["digest"])


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
async def test_the_sandbox_holds_whatever_the_command_is(tmp_path: Path) -> None:
    workspace = furnish(tmp_path)
    (workspace / ".git/config").write_text("[core]\n")
    tries = [
        "echo a > inside; echo a > .envrc",
        "echo a > ../beside/out",
        "echo a > ~/out",
        "echo a >> .git/config; mv .git moved; echo a > .git/config",
        "exec 3<>/dev/tcp/127.0.0.1/9",
    ]
    settings = {
        "bash": {"sandbox": "bwrap"},
        "permission": {"bash": "allow", "edit": "allow", "read_file": "allow"},
    }
    (tmp_path / "config/config.yaml").write_text("{}")
    async with editor(
        tmp_path, script=[bash(each) for each in tries] + [{"text": "x"}], client=EVENTS, settings=settings
    ) as client:
        client.always = "Allow once"
        run = await prompt(client)
        ended = [e for e in client.of_run(run["runId"]) if e["type"] == "tool_call_finished"]
    said = await _program("doctor", home=tmp_path)
    if any("sandbox cannot start" in (event["output"] or "") for event in ended):
        assert not (workspace / "inside").exists(), "there is no silent fallback"
        pytest.skip("bwrap cannot run here")
    assert (workspace / "inside").exists()
    assert not (workspace / ".envrc").exists()
    assert [event["status"] for event in ended[3:]] == ["failed", "failed"]
    assert (workspace / ".git/config").read_text() == "[core]\n"
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in (tmp_path / "beside").iterdir()) == ["f"]
    assert re.search(r"bwrap\W+works", said), said


@pytest.mark.parametrize("nearly", [True, False], ids=["nearly right", "right"])
async def test_an_edit_tells_nothing_of_a_file_that_must_not_be_read(tmp_path: Path, nearly: bool) -> None:
    """An edit that does not fit is answered with the line that stands there; whether it fits tells enough."""
    outside = tmp_path / "outside.txt"
    outside.write_text("hush hush words\n")
    files = {".env": "hush hush words\n", "vault/x.txt": "hush hush words\n"}
    old = "hush hush wodrs" if nearly else "hush hush words"
    edits = [{"old_string": old, "new_string": "z"}]
    script = [
        *[
            {"calls": [{"tool": "edit_file", "arguments": {"path": path, "edits": edits}}]}
            for path in (".env", "vault/x.txt")
        ],
        {"calls": [{"tool": "edit_file", "arguments": {"path": str(outside), "edits": edits}}]},
        {"text": "done"},
    ]
    rules = {"edit_file": "allow", "read_file": {"*": "allow", ".env": "deny", "vault/**": "deny"}}
    settings = {"permission": rules}
    async with editor(tmp_path, script=script, files=files, client=EVENTS, settings=settings) as client:
        client.always = "Reject"
        run = await client.command("magent.prompt", prompt="edit")
        await client.finished(run["runId"])
        ended = [event for event in client.of_run(run["runId"]) if event["type"] == "tool_call_finished"]
        assert [event["status"] for event in ended] == ["failed", "failed", "rejected"]
        assert "hush hush words" not in json.dumps(client.of_run(run["runId"])).replace(old, "")
        assert all("line 1" not in event["output"].lower() for event in ended)
        assert [str(outside) in json.dumps(question) for question in client.questions] == [True]
        for path, verdict in ((".env", "deny"), (str(outside), "ask"), ("a.py", "allow")):
            call = {"path": path, "edits": edits}
            explained = await client.command("magent.explainPermission", tool="edit_file", arguments=call)
            assert explained["verdict"] == verdict, path
    assert outside.read_text() == files[".env"] == (tmp_path / "ws/.env").read_text()


async def test_a_name_spelt_by_its_bytes_is_the_name_that_a_rule_means(tmp_path: Path) -> None:
    """JSON can spell `é` as two halves of characters, and the system opens the same file for them."""
    name, alias = "secret-é.txt", "secret-\udcc3\udca9.txt"
    tried = [
        ("read_file", {"path": alias}),
        ("edit_file", {"path": alias, "edits": [{"old_string": "hush", "new_string": "loud"}]}),
        ("write_file", {"path": alias, "content": "loud\n"}),
        ("grep", {"pattern": "hush", "path": alias}),
    ]
    script = [
        *[{"calls": [{"tool": tool, "arguments": arguments}]} for tool, arguments in tried],
        {"text": "done"},
    ]
    rules = {tool: {"*": "allow", "*é*": "deny"} for tool, _ in tried}
    files = {name: "hush\n"}
    async with editor(
        tmp_path, script=script, files=files, client=EVENTS, settings={"permission": rules}
    ) as client:
        run = await client.command("magent.prompt", prompt="go")
        await client.finished(run["runId"])
        ended = [event for event in client.of_run(run["runId"]) if event["type"] == "tool_call_finished"]
        assert [event["status"] for event in ended] == ["failed"] * len(tried)
        assert not client.questions
        assert "hush" not in json.dumps([event["output"] for event in ended])
        for tool, arguments in tried:
            said = await client.command("magent.explainPermission", tool=tool, arguments=arguments)
            assert said["verdict"] == "deny", tool
    assert (tmp_path / "ws" / name).read_text() == "hush\n"
