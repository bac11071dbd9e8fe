"""The guard through the real server: what a person set is what happens, whatever the model tries."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from tests.support.lsp_client import (
    EVENTS,
    NO_ANSWER,
    LspClient,
    ResponseError,
    editor,
    server_environment,
    settings_of,
)

RULES = """\
permission:
  bash:
    "*": ask
    "git status *": allow
    "ls *": allow
    "echo *": allow
    "cat *": allow
    "grep *": allow
    "find *": allow
    "rm *": deny
  read_file: {"*": allow, ".env": deny, "vault/**": deny}
  edit_file: {"*": allow, ".env": deny}
  write_file: {"*": allow, ".env": deny}
"""
SECRET = "KEY=hush-hush-hush-1"

Wanted = Literal["allow", "ask", "deny"]


@dataclass(frozen=True)
class Row:
    wanted: Wanted
    tool: str
    value: str

    @property
    def arguments(self) -> dict[str, Any]:
        if self.tool == "bash":
            return {"command": self.value}
        if self.tool == "write_file":
            return {"path": self.value, "content": "x = 1\n"}
        if self.tool == "edit_file":
            return {"path": self.value, "edits": [{"old_string": "a", "new_string": "b"}]}
        if self.tool == "glob":
            return {"pattern": "**/*", "path": self.value}
        return {{"fetch": "url", "grep": "pattern"}.get(self.tool, "path"): self.value}


def rows(tool: str, text: str) -> list[Row]:
    result = []
    for line in text.strip().splitlines():
        wanted, _, value = line.strip().partition(" ")
        assert wanted in ("allow", "ask", "deny")
        result.append(Row(wanted, tool, value.strip().replace("␤", "\n")))  # type: ignore[arg-type]
    return result


ROWS = [
    *rows(
        "bash",
        """
        ask   cat awa?
        ask   grep h a[w]ay
        allow cat a.[p]y
        deny  grep --color KEY .env
        deny  git status && rm -rf keep
        deny  git status; rm keep
        deny  git status | rm keep
        deny  git status & rm keep
        deny  git status␤rm keep
        deny  git status \\␤&& rm keep
        deny  git status $(rm keep)
        deny  git status `rm keep`
        deny  cat <(rm keep)
        deny  cat <<E␤$(rm keep)␤E
        allow cat <<'E'␤$(rm keep)␤E
        deny  ls() { rm keep; }; ls
        ask   alias ls=rm
        ask   trap 'rm keep' EXIT
        deny  'rm' keep
        deny  r\\m keep
        deny  /bin/rm keep
        deny  env rm keep
        deny  timeout 5 rm keep
        deny  echo keep | xargs rm
        deny  bash -c 'rm keep'
        ask   C=rm; $C nothing
        ask   {rm,-f,nothing}
        ask   bash -c "$NOTHING"
        ask   source nothing
        ask   python3 -c pass
        deny  find . -name keep -exec rm {} +
        ask   find . -name nothing -delete
        deny  echo a > .env
        deny  > .env
        deny  echo a | tee .env
        ask   echo a > ../beside/x
        ask   cd ../beside && echo x > y
        deny  cat .env
        deny  cd sub && cat ../.env
        ask   cat .e*
        allow git status 2>/dev/null
        allow git status 2>&1 | grep x
        allow git status && ls -la
        allow echo "a && rm b"
        allow grep 'rm ' a.py
        allow ls # rm keep
        allow git status;
        """,
    ),
    *rows(
        "read_file",
        """
        ask  ../beside/f
        ask  ../ws-evil/f
        ask  away
        deny envlink
        deny .env
        allow ./sub/../a.py
        """,
    ),
    *rows(
        "write_file",
        """
        ask  awaydir/new.py
        ask  .git/hooks/pre-commit
        ask  sub/.git/config
        ask  .vscode/tasks.json
        ask  .magent/agent/x.md
        deny .env
        allow new.py
        """,
    ),
    *rows("grep", "allow hush"),
    *rows("list_dir", "deny vault␤ask ../beside␤allow .".replace("␤", "\n")),
    *rows("glob", "deny vault␤ask ../beside␤allow .".replace("␤", "\n")),
    *rows(
        "fetch",
        """
        deny file:///etc/passwd
        deny http://user:pw@example.com/
        deny http://169.254.169.254/latest
        deny http://metadata.google.internal/
        ask  http://localhost:9/
        """,
    ),
]


def furnish(home: Path) -> Path:
    """A workspace with what the rows speak of, and its surroundings."""
    workspace = home / "ws"
    for name in ("ws/sub", "ws/.git", "ws/vault", "beside", "ws-evil", "config"):
        (home / name).mkdir(parents=True)
    for path, text in {
        "ws/keep": "k",
        "ws/.env": SECRET,
        "ws/vault/key": SECRET,
        "ws/a.py": "a\n",
        "beside/f": "f",
        "ws-evil/f": "f",
    }.items():
        (home / path).write_text(text)
    (workspace / "away").symlink_to("/etc/hostname")
    (workspace / "envlink").symlink_to(".env")
    (workspace / "awaydir").symlink_to(home / "beside")
    (home / "config/config.yaml").write_text(RULES)
    return workspace


def calls(*each: Row) -> list[dict[str, Any]]:
    script: list[dict[str, Any]] = [
        {"text": "", "calls": [{"tool": row.tool, "arguments": row.arguments}]} for row in each
    ]
    return [*script, {"text": "Done."}]


async def test_each_case_as_a_model_would_try_it(tmp_path: Path) -> None:
    workspace = furnish(tmp_path)
    # A question is answered with no and a word, so that nothing happens and the turn goes on.
    no = {"reply": "reject", "feedback": "not now"}
    async with editor(
        tmp_path,
        script=calls(*ROWS),
        client=EVENTS,
        settings={"maxTurns": 200, "log": "debug"},
    ) as client:
        client.always = silent
        ended, events = await _carried_out(client, no)
    wrong = [(row, got, output) for row, (got, output) in zip(ROWS, ended, strict=True) if got != row.wanted]
    assert not wrong
    config = str(tmp_path / "config/config.yaml")
    verdicts = [text for _, text in client.logs if "verdict " in text]
    assert len(verdicts) >= len(ROWS)
    for verdict, rule, line in (
        ("deny", "bash rm * deny", 10),
        ("allow", "bash ls * allow", 5),
        ("deny", "read_file .env deny", 11),
    ):
        assert any(
            f"verdict {verdict}" in text and rule in text and f"{config}:{line}" in text for text in verdicts
        )
    seen = [output for row, (_, output) in zip(ROWS, ended, strict=True) if row.tool in ("glob", "list_dir")]
    assert any("a.py" in output for output in seen)
    assert not any(re.search(r"\.env|vault/", output) for output in seen if "Not allowed" not in output)
    assert (workspace / "keep").exists()
    assert (workspace / ".env").read_text() == SECRET
    assert sorted(path.name for path in (tmp_path / "beside").iterdir()) == ["f"]
    assert "hush-hush" not in json.dumps(events)


def silent(params: dict[str, Any]) -> Any:
    """A dialog that nobody looks at."""
    return NO_ANSWER


async def _carried_out(
    client: LspClient, reply: dict[str, str]
) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The verdict and the output of each call that the script makes, and all events of the run."""
    started = await client.command("magent.prompt", prompt="try everything")
    answering = asyncio.create_task(_answer(client, reply))
    finished = await client.finished(started["runId"], seconds=60)
    answering.cancel()
    assert finished["text"] == "Done.", finished
    events = client.of_run(started["runId"])
    asked = {event["toolCallId"] for event in events if event["type"] == "permission_requested"}
    ended = []
    for event in events:
        if event["type"] == "tool_call_finished":
            output = event["output"] or ""
            refused = output.startswith("Not allowed")
            verdict = "deny" if refused else "ask" if event["toolCallId"] in asked else "allow"
            ended.append((verdict, output))
    return ended, events


async def _answer(client: LspClient, reply: dict[str, str]) -> None:
    """Give every question the same answer, as soon as it is there."""
    seen: list[dict[str, Any]] = []
    while True:
        await client.until(lambda: len(_asked(client)) > len(seen), seconds=60)
        seen[:] = _asked(client)
        for request in await client.command("magent.pending"):
            await client.command("magent.respond", requestId=request["requestId"], **reply)


def _asked(client: LspClient) -> list[dict[str, Any]]:
    return [each for each in client.events if each["event"]["type"] == "permission_requested"]


async def prompt(client: LspClient, text: str = "go on", seconds: float = 30, **more: Any) -> dict[str, Any]:
    run = await client.command("magent.prompt", prompt=text, **more)
    return {**run, **await client.finished(run["runId"], seconds=seconds)}


def bash(*commands: str) -> dict[str, Any]:
    return {"text": "", "calls": [{"tool": "bash", "arguments": {"command": each}} for each in commands]}


def choose(ending: str = "", beginning: str = "") -> Any:
    """The button whose title begins and ends like this."""

    def answer(params: dict[str, Any]) -> dict[str, str]:
        titles = [action["title"] for action in params["actions"]]
        return {"title": next(t for t in titles if t.endswith(ending) and t.startswith(beginning))}

    return answer


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
        answering = asyncio.create_task(_answer(client, no))
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
            _answer(client, {"reply": "reject", "feedback": "use pytest instead"})
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


async def test_what_is_judged_is_what_is_opened(tmp_path: Path) -> None:
    """A home of somebody else and the second folder of a workspace: the tools look where the guard looked."""
    for name in ("one", "two", "away"):
        (tmp_path / name).mkdir()
    (tmp_path / "away/notes").write_text("hush-hush")
    (tmp_path / "one/$PWD").symlink_to(tmp_path / "away")
    (tmp_path / "two/conf").symlink_to(tmp_path / "away")
    (tmp_path / "two/plain").write_text("plain text")
    opened = [
        Row("allow", "read_file", "~root/.bashrc"),
        Row("allow", "list_dir", "~root"),
        Row("ask", "read_file", "conf/notes"),
        Row("ask", "list_dir", "conf"),
        Row("ask", "glob", "conf"),
        Row("ask", "read_file", "$PWD/notes"),
        Row("ask", "bash", "cat '$PWD/notes'"),
        Row("allow", "read_file", "plain"),
    ]
    folders = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("one", "two")]
    async with editor(tmp_path, initialize=False) as client:
        client.always = silent
        options = settings_of(tmp_path, calls(*opened), warmUp=False)
        await client.initialize(magent={**options, "client": EVENTS}, workspaceFolders=folders)
        ended, events = await _carried_out(client, {"reply": "reject", "feedback": "not now"})
    assert [verdict for verdict, _ in ended] == [row.wanted for row in opened]
    assert all("is not looked up" in output for _, output in ended[:2])
    assert "plain text" in ended[-1][1]
    assert "hush-hush" not in json.dumps(events)
