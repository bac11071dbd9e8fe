"""Commands written to slip through, under rules that people really have; everyday ones stay quiet."""

from pathlib import Path

import pytest

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Policy
from tests.support.permissions import bash, place, policy

ATTACKS = [
    line.replace("␤", "\n")
    for line in (Path(__file__).parent / "attacks.txt").read_text(encoding="utf-8").splitlines()
]
"""One a line, `␤` for its end: each would read a secret, leave the workspace, write, or run what it hides."""

REALISTIC = {
    "bash": {
        "*": "ask",
        "git *": "allow",
        "npm test *": "allow",
        "rg *": "allow",
        "find *": "allow",
        "sed -n *": "allow",
        "awk *": "allow",
        "python -m pytest *": "allow",
        "cat *": "allow",
        "ls *": "allow",
        "tee build/*": "allow",
        **dict.fromkeys(
            [
                "tar *",
                "sort *",
                "xargs *",
                "printf *",
                "man *",
                "less *",
                "grep *",
                "jq *",
                "echo *",
                "diff *",
            ],
            "allow",
        ),
    },
    "edit": {"*": "ask", "build/**": "allow"},
}
OPEN = {"bash": "allow", "edit": {"*": "ask", "build/**": "allow"}}


def workspace() -> Place:
    links = {
        "/ws/envlink": "/ws/.env",
        "/ws/link": "/etc/passwd",
        "/ws/dirlink": "/etc",
        "/ws/build/blink": "/ws/.git/hooks/pre-commit",
    }
    return place(links=links)


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize(
    "rules", [policy(), policy(REALISTIC), policy(OPEN)], ids=["defaults", "realistic", "open"]
)
def test_no_attack_is_allowed(rules: Policy, part: int) -> None:
    where = workspace()
    assert [each for each in ATTACKS[part::8] if bash(each, rules, where).verdict == "allow"] == []


_DAY: dict[Verdict, str] = {
    "allow": """
            ls
            ls -la src
            ls *.py
            pwd
            cat README.md
            cat src/a.py tests/test_a.py
            cat package.json | jq .scripts
            jq '.dependencies | keys' package.json
            jq -r '.env' app.json
            head -n 40 src/a.py
            tail -n 20 build.log
            sed -n '10,40p' src/a.py
            sed -n 5,9p src/a.py
            wc -l src/*.py
            grep -n "def main" src/a.py
            grep -c import src/a.py src/b.py
            grep -E 'a|b' src/a.py | sort | uniq -c
            find . -name '*.py'
            find src -type f -name 'test_*' | head
            find . -maxdepth 2 -not -path './.git/*'
            tree -L 2
            du -sh .
            df -h
            file src/a.py
            stat src/a.py
            diff src/a.py src/b.py
            sort names.txt
            cut -d, -f1 data.csv
            column -t -s, data.csv
            git status
            git status --short
            git status && git diff --stat
            git diff
            git diff HEAD~3 -- src/a.py
            git diff --cached
            git diff main...HEAD
            git diff origin/main..HEAD --name-only
            git log --oneline -n 20
            git log --oneline --graph --all
            git log -p -- src/a.py
            git log -S needle
            git log --author=me --since=2.weeks
            git show HEAD
            git show HEAD~2:src/a.py
            git blame -L 10,20 src/a.py
            git branch -a
            git branch --show-current
            git tag --list
            git remote -v
            git stash list
            git rev-parse --abbrev-ref HEAD
            git ls-files
            git ls-files '*.py'
            git grep -n needle
            git grep needle -- '*.py'
            git grep /api/v1
            git describe --tags
            git cat-file -p HEAD
            git config --get user.email
            pytest --collect-only -q
            pytest --collect-only tests/test_a.py::test_b
            python -m pytest --co -q
            python --version
            node --version
            which python
            command -v rg
            echo done
            echo "a && b"
            date
            date +%F
            date -d yesterday +%F
            cd src && ls
            test -f src/a.py && echo yes
            [ -d src ] && ls src
            ls missing 2>/dev/null
            git log | head
            for i in 1 2 3; do echo x; done
            basename src/a.py .py
            realpath src
            md5sum src/a.py
            seq 3
            LC_ALL=C sort names.txt
            TZ=Europe/Berlin date
        """,
    "ask": """
            make
            make test
            npm test
            npm run build
            npm install
            pytest -q
            pytest tests/test_a.py
            python script.py
            python -c 'print(1)'
            cargo build
            go test ./...
            pip install x
            rg needle
            grep -r needle .
            touch x
            mkdir x
            cp a b
            mv a b
            rm x
            chmod +x x
            sed -i s/a/b/ src/a.py
            echo x > notes.txt
            git add .
            git commit -m "fix: the thing"
            git push
            git pull --rebase
            git checkout -b topic
            git switch main
            git merge topic
            git rebase main
            git stash
            git reset --hard
            git apply fix.patch
            git clone https://example.com/x.git
            curl https://example.com
            docker ps
            ssh host
            sudo ls
            cd src && git status
            cat ../other/file
            env
        """,
    "deny": """
            cat .env
            cat src/.env
            head -c 10 id_rsa
            cat ~/.ssh/id_rsa
            base64 server.key
            grep KEY .env.local
        """,
}
EVERYDAY = [(verdict, line.strip()) for verdict, lines in _DAY.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("verdict", "command"), EVERYDAY)
def test_the_day_of_a_developer_under_the_defaults(verdict: Verdict, command: str) -> None:
    decision = bash(command, policy(), workspace())
    assert decision.verdict == verdict, decision.explain()


WITH_GIT = """
    git add -A
    git add src/a.py
    git commit -am wip
    git commit -m "fix: a/b ../c"
    git push
    git push -u origin topic
    git pull --rebase origin main
    git fetch --all --prune
    git checkout main
    git checkout -b feature/x
    git switch -c topic
    git merge --no-ff topic
    git rebase origin/main
    git rebase --continue
    git stash push -m wip
    git stash pop
    git cherry-pick abc123
    git revert HEAD
    git tag -a v1.0.0 -m v1.0.0
    git reset HEAD~1
    git restore --staged src/a.py
    git branch -d topic
    git remote update
    git submodule update --init
    git clean -n
    git log --format='%h %s'
    npm test
    npm test -- --watch=false
    python -m pytest tests -q -x
    python -m pytest -k 'a and not b' -p no:cacheprovider --cov=src
    awk -F, '{print $1}' data.csv
    find . -name '*.ts' -newer a
    cat a | tee build/log
""".strip().splitlines()


@pytest.mark.parametrize("command", [each.strip() for each in WITH_GIT])
def test_what_a_broad_rule_means_is_not_asked(command: str) -> None:
    decision = bash(command, policy(REALISTIC), workspace())
    assert decision.verdict == "allow", decision.explain()
