"""A deny reaches the command behind what runs it, and nothing that only has its name."""

import pytest

from tests.support.permissions import bash, policy


@pytest.mark.parametrize(
    "command",
    [
        "bundle exec rm -rf x",
        "bundle exec -- rm x",
        "uv run rm x",
        "uv run --with a --with b rm x",
        "uv run -- rm x",
        "uv -q run rm x",
        "pipenv run rm x",
        "hatch run rm x",
        "hatch -e test run rm x",
        "pdm run rm x",
        "rye run rm x",
        "poetry run rm x",
        "poetry -C sub run rm x",
        "conda run -n env rm x",
        "npm exec rm x",
        "npm exec -- rm x",
        "npm exec -c 'rm x'",
        "npm x --call='rm x'",
        "npx -c 'ls; rm x'",
        "npx rm x",
        "pnpm exec rm x",
        "pnpm -r exec rm x",
        "yarn exec rm x",
        "mise exec node@20 -- rm x",
        "mise x -- rm x",
        "mise exec -c 'rm x'",
        "docker exec -it c rm x",
        "docker compose exec web rm x",
        "kubectl exec pod -- rm x",
        "kubectl -n y exec pod -c main -- rm x",
        "nix develop -c rm x",
        "nix shell a b -c rm x",
        "nix develop --command bash -c 'rm x'",
        "nix-shell -p a --run 'rm x'",
        "arch rm x",
        "arch -arm64 rm x",
        "uv run env rm x",
        "uv run sh -c 'rm x'",
    ],
)
def test_a_deny_is_seen_behind_what_runs_it(command: str) -> None:
    rules = policy({"bash": {"*": "allow", "rm *": "deny"}})
    assert bash(command, rules).verdict == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "uv run pytest rm",
        "uv add rm",
        "npm install rm",
        "npm run rm",
        "npm exec eslint rm",
        "docker ps",
        "kubectl get pods",
        "poetry run pytest -q",
        "bundle install",
        "conda run -n env pytest",
    ],
)
def test_what_is_no_command_behind_a_runner_is_not_denied(command: str) -> None:
    rules = policy({"bash": {"*": "allow", "rm *": "deny"}})
    assert bash(command, rules).verdict == "allow"
