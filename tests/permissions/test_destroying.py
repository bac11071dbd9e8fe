"""What destroys work is asked whatever is allowed, but by the command line's own word."""

import pytest

from tests.support.permissions import bash, commands, layer, policy

DESTROYING = commands("""
git reset --hard
git reset --hard HEAD~1
git reset --har
git checkout -- a
git checkout .
git checkout -f
git checkout HEAD -- a
git restore a
git switch -f main
git clean -fd
git clean -fdx
git push --force
git push -f
git push -uf origin x
git push --force-with-lease
git push origin +main
git push origin :main
git push --mirror
git push --delete origin x
git branch -D x
git stash drop
git stash clear
git filter-branch
git --no-pager reset --hard
git -C x reset --hard
sudo git reset --hard
env A=b git reset --hard
bash -c 'git reset --hard'
ls && git clean -f
rm -rf /
rm -rf ~
rm -rf $HOME
rm -rf .
rm -rf ./
rm -rf ..
rm -rf /ws
rm -rf /ws/
rm -rf /home
rm -rf /*
rm -rf ~/*
rm -rf *
rm -rf ./*
rm -rf "$X"/
rm -rf "$X"/bin
rm -rf $X
rm -rf src/..
sudo rm -rf /
rm -rf .git
rm -rf --no-preserve-root /
cd / && rm -rf ws
/bin/rm -rf /
find . -exec rm -rf / \\;
""")


@pytest.mark.parametrize("command", DESTROYING)
def test_what_destroys_work_is_always_asked(command: str) -> None:
    rules = policy({"bash": {"*": "allow"}, "edit": "allow"}, layer("grant", {"bash": "allow"}))
    decision = bash(command, rules)
    assert (decision.verdict, decision.protected) == ("ask", True), decision.explain()
    assert decision.grants == ()


def test_an_explicit_allow_on_the_command_line_opens_it() -> None:
    given = {"bash": {"git reset *": "allow"}}
    rules = policy(None, layer("environment", given), allow=given)
    assert bash("git reset --hard", rules).verdict == "allow"
    assert bash("git clean -f", rules).protected


@pytest.mark.parametrize(
    "command",
    ["git reset HEAD a", "git checkout main", "git clean -n", "git push", "git restore --staged a", "rm a"],
)
def test_ordinary_work_with_git_is_an_ordinary_question(command: str) -> None:
    decision = bash(command, policy())
    assert (decision.verdict, decision.protected) == ("ask", False)
