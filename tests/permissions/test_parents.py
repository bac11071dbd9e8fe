"""A child runs nothing that its parent may not."""

from magent_lsp.core.request import Scope
from magent_lsp.permissions.rules import Policy
from tests.support.permissions import FIXTURE, bash, layer, place, policy


def _child(parent: Policy) -> Policy:
    return policy({"bash": "allow", "edit": "allow"}, parent=parent)


def test_a_child_never_runs_what_its_parent_may_not() -> None:
    plan = policy(None, layer("agent", {"bash": {"*": "deny", "@read-only": "allow"}, "edit": "deny"}))
    assert bash("make", _child(plan)).verdict == "deny"
    assert bash("ls", _child(plan)).verdict == "allow"
    assert bash("echo a > x", _child(plan)).verdict == "deny"
    assert bash("make", _child(policy())).verdict == "ask"
    scoped = policy(FIXTURE, scope=Scope(kind="directory", path=place().cwd))
    assert bash("make", _child(scoped)).verdict == "deny"
