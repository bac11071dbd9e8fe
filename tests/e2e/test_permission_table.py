"""Row by row what a model may try, what the guard says, and that what is judged is what is opened."""

import json
import re
from pathlib import Path

from tests.support.guarded import SECRET, Row, calls, carried_out, furnish, silent
from tests.support.lsp_client import (
    EVENTS,
    editor,
    settings_of,
)


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
        ended, events = await carried_out(client, no)
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
        ended, events = await carried_out(client, {"reply": "reject", "feedback": "not now"})
    assert [verdict for verdict, _ in ended] == [row.wanted for row in opened]
    assert all("is not looked up" in output for _, output in ended[:2])
    assert "plain text" in ended[-1][1]
    assert "hush-hush" not in json.dumps(events)
