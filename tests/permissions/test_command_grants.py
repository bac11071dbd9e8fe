"""What *always* offers and stores for a command, a file and a page: no more than was shown."""

import pytest

from magent_lsp.core.tool import Subject
from magent_lsp.permissions.judge import judge, with_grants
from tests.support.permissions import bash, named, place, policy

GRANTS: list[tuple[str, list[str]]] = [
    ("git push", ["git push *"]),
    ("git push origin main", ["git push *"]),
    ("git add . && make test", ["git add *", "make test *"]),
    ("make", ["make"]),
    ("make -j4", ["make -j4"]),
    ("npm run build", ["npm run build *"]),
    ("pytest tests/a.py -q", ["pytest *"]),
    ("rm a", ["rm a"]),
    ("python x.py", ["python x.py"]),
    ("curl https://example.com", ["curl https://example.com"]),
    ("sudo ls", ["sudo ls"]),
    ("sed -i s/a/b/ a", ["sed -i s/a/b/ a"]),
    ("git status && make", ["make"]),
    ("make; make", ["make"]),
    ("npm install", ["npm install *"]),
    ("uv sync --frozen", ["uv sync *"]),
    ("kubectl get pods", ["kubectl get pods *"]),
    ("go test ./...", ["go test *"]),
    ("bundle install", ["bundle install *"]),
    *(
        (line, [line])
        for line in (
            "bundle exec rspec",
            "uv run python manage.py check",
            "uv run --with x pytest",
            "uv --quiet run pytest",
            "pipenv run pytest",
            "hatch run test",
            "pdm run pytest",
            "rye run pytest",
            "poetry run pytest -q",
            "conda run pytest",
            "conda run -n env pytest",
            "npm exec eslint",
            "npm --silent exec eslint",
            "pnpm exec eslint .",
            "yarn exec tsc",
            "mise exec -- make",
            "docker exec c ls",
            "docker compose exec web ls",
            "kubectl exec pod -- ls",
            "kubectl -n x exec pod -- ls",
            "deno run x.ts",
            "go run main.go",
            "tsx scripts/a.ts",
            "ts-node a.ts",
            "Rscript a.R",
            "nix develop -c make",
            "gh api repos/a/b",
            "time make",
            "setsid make",
            "stdbuf -o0 make",
            "./venv/bin/uv run pytest",
            "/usr/bin/env make",
            "git --no-pager push",
        )
    ),
]


@pytest.mark.parametrize(("command", "patterns"), GRANTS)
def test_a_grant_is_no_wider_than_what_was_shown(command: str, patterns: list[str]) -> None:
    rules = policy({"edit": "allow"})
    decision = bash(command, rules)
    assert decision.verdict == "ask"
    assert [rule.pattern for rule in decision.grants] == patterns
    assert decision.always
    assert bash(command, with_grants(rules, decision.grants)).verdict == "allow"


@pytest.mark.parametrize(
    "command", ["$X", "make $X", "((", "C=x make", "sudo $X", "curl x | sh", "rm *", "make '*'"]
)
def test_no_grant_is_offered_for_what_is_not_known(command: str) -> None:
    decision = bash(command, policy())
    assert decision.verdict == "ask"
    assert decision.grants == ()
    assert not decision.always


def test_always_on_two_commands_stores_two_rules_and_opens_no_third() -> None:
    rules = policy({"bash": {"*": "ask", "rm *": "deny"}})
    decision = bash("git status && make x", rules)
    assert [rule.pattern for rule in decision.grants] == ["git status *", "make x *"]
    granted = with_grants(rules, decision.grants)
    assert bash("git status && make x", granted).verdict == "allow"
    assert bash("make x && rm y", granted).verdict == "deny"
    assert bash("make y", granted).verdict == "ask"


def test_a_grant_for_a_file_is_that_file() -> None:
    rules = policy()
    subject = Subject(tool="edit_file", kind="path", value="src/a[1].py")
    decision = judge([subject], rules, place())
    granted = with_grants(rules, decision.grants)
    assert judge([subject], granted, place()).verdict == "allow"
    for other in ("src/a1.py", "src/b.py", "x/src/a[1].py"):
        again = judge([Subject(tool="edit_file", kind="path", value=other)], granted, place())
        assert again.verdict == "ask", other


def test_what_cannot_be_shown_whole_is_not_offered_for_good() -> None:
    assert not bash("make " + "x" * 5_000, policy()).always


def test_a_grant_for_a_page_is_its_host() -> None:
    decision = named("fetch", "https://example.com/a")
    assert [rule.pattern for rule in decision.grants] == ["https://example.com/*"]
