"""Lines that are allowed without a question, run for real: nothing changes, no secret shows."""

import shutil
import subprocess
from pathlib import Path

import pytest

from magent_lsp.permissions.place import Place
from magent_lsp.tools.ground import Ground
from tests.permissions.test_attacks import EVERYDAY
from tests.support.permissions import bash, policy

BWRAP = shutil.which("bwrap")
SECRET = "S3CRET-S3CRET"

LOOKS_BAD = r"""
    echo $'a\'; touch canary #'
    echo "a\"; touch canary"
    echo 'a'\''; touch canary'
    echo 'a␤touch canary␤b'
    echo "a␤touch canary␤b"
    echo "a && rm README.md"
    echo "\$(touch canary) \`touch canary\`"
    echo '$(touch canary)' '`touch canary`'
    echo \; touch canary
    echo a\␤b touch canary
    ls "\$(touch canary)"
    ls # ; touch canary
    ls #$(touch canary)
    ls # a\
    ls $'#\n'touch canary
    grep '$(touch canary)' README.md
    grep 'rm ' README.md
    cat <<'E'␤$(touch canary)␤E
    cat <<\E␤`touch canary`␤E
    printf %d 'a[$(touch canary)]'
    printf '%d\n' "a[\$(touch canary)]"
    expr 'a[$(touch canary)]' : x
    git for-each-ref --shell --format='$(touch canary)'
    git log --format='%(trailers)$(touch canary)'
    sort -T . README.md
    sed -n 's/a/b/p' README.md
    ls {x}>&1
    ((x++)); ls
    [[ 1 -eq 1 ]] && ls
    for i in 1 2 3; do ((n += i)); done; ls
    for i in 1 2 3; do [ $i -gt 2 ] && ls; done
    for i in {1..3}; do [[ $i -gt 2 ]] && ls; done
    for x in 'a[$(touch canary)]'; do [ "$x" -eq 1 ]; done; ls
    for x in 'a[$(touch canary)]'; do [ -t "$x" ] || [ "$x" = y ]; done; ls
    for x in 'a[$(touch canary)]'; do [[ $x == y || -n "$x" ]] && ls; done
    for x in 'a[$(touch canary)]'; do case "$x" in y) ls;; esac; done; ls
    [[ -v LANG ]]; ls
    [[ b > a ]] && ls
    [[ $? -eq 0 && $# -lt 1 ]] && ls
    [[ $(ls | wc -l) -gt 5 ]] || ls
    [ $(wc -l < README.md) -gt 5 ] || ls
    [ -n "$(git status --porcelain)" ] || ls
    grep '${ touch canary; }' README.md
    export LC_ALL=C.UTF-8; ls
    git log HEAD@{0}..HEAD
    git diff HEAD@{0}..HEAD@{0}
    cat ?env [.]env *.env
    echo .* *
    git status 2>&1 | grep x
    git log -n 1 | head
"""
LINES = [each.strip().replace("␤", "\n") for each in LOOKS_BAD.strip().splitlines()]
LINES += [line for verdict, line in EVERYDAY if verdict == "allow"]


def works() -> bool:
    command = [BWRAP or "", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return BWRAP is not None and subprocess.run(command, check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not works(), reason="bubblewrap cannot run here")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = tmp_path / "ws"
    for name in ("ws/src", "ws/tests", "other", ".ssh"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".env", "src/.env", "../other/secret", "../.ssh/id_rsa"):
        (workspace / name).write_text(f"KEY={SECRET}\n")
    for name in ("README.md", "src/a.py", "src/b.py", "names.txt", "data.csv", "tests/test_a.py"):
        (workspace / name).write_text("b,1\na,2\n")
    (workspace / ".gitignore").write_text(".env\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=b@c", "commit", "-qm", "x"],
    ):
        subprocess.run(
            ["git", *words], cwd=workspace, check=True, capture_output=True, env=environment(tmp_path)
        )
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"}


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_what_is_allowed_changes_nothing_and_shows_no_secret(home: Path) -> None:
    workspace = home / "ws"
    where = Place(folders=(workspace,), cwd=workspace, home=home, resolve=Path.resolve, disk=Ground())
    asked = [line for line in LINES if bash(line, policy(), where).verdict != "allow"]
    assert asked == []
    before = contents(home)
    words = [str(BWRAP), "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    words += ["--bind", str(home), str(home), "--chdir", str(workspace), "--"]
    script = 'for line; do printf "\n== %s\n" "$line"; timeout 5 bash -c "$line" </dev/null; done'
    run = subprocess.run(
        [*words, "bash", "-c", script, "x", *LINES],
        env=environment(home),
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert SECRET not in run.stdout, run.stdout
    after = contents(home)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == set()
    assert run.stdout.count("\n== ") == len(LINES), "every line was run"
