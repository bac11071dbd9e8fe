"""What git's many commands do: which only read, which run something, which destroy work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.arguments import names_option
from magent_lsp.permissions.tables import set_of, words_of

QUIET: Final = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}
)
"""Options before the subcommand that change nothing of importance."""
_GLOBAL_VALUED: Final = set_of("""
    -c -C --git-dir --work-tree --exec-path --namespace --config-env --super-prefix --attr-source
""")
_RUNNERS: Final = frozenset(
    {"difftool", "mergetool", "filter-branch", "instaweb", "daemon", "shell", "hook", "credential"}
)
"""Subcommands that exist to run something else."""
_RISKY_LONG: Final = words_of("""
    --output --ext-diff --textconv --exec --upload-pack --receive-pack --open-files-in-pager
    --upload-archive --remote --template --separate-git-dir --reference --filters --output-directory
    --extcmd --exec-path
""")


@dataclass(frozen=True, kw_only=True)
class GitCall:
    """A git command line, taken apart."""

    before: tuple[str, ...]
    """Options in front of the subcommand."""
    subcommand: str
    arguments: tuple[str, ...]

    @property
    def options(self) -> tuple[str, ...]:
        """The arguments before `--` that are options."""
        return tuple(each for each in self._front() if each.startswith("-") and each != "-")

    @property
    def operands(self) -> tuple[str, ...]:
        """The other arguments."""
        front = [each for each in self._front() if not each.startswith("-")]
        behind = self.arguments[self.arguments.index("--") + 1 :] if "--" in self.arguments else ()
        return (*front, *behind)

    def _front(self) -> tuple[str, ...]:
        return self.arguments[: self.arguments.index("--")] if "--" in self.arguments else self.arguments

    def has(self, *names: str) -> bool:
        """Whether an option is given: long ones may be shortened, short ones stand in clusters."""
        for each in self.options:
            given = each.partition("=")[0]
            for name in names:
                if name.startswith("--") and names_option(given, name):
                    return True
                if not name.startswith("--") and not each.startswith("--") and name[1:] in each[1:]:
                    return True
        return False


def take_apart(words: Sequence[str]) -> GitCall:
    """Find the subcommand behind git's own options."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_VALUED else 1
    return GitCall(
        before=tuple(words[1:at]),
        subcommand=words[at] if at < len(words) else "",
        arguments=tuple(words[at + 1 :]),
    )


def git_escape(words: Sequence[str]) -> str | None:
    """The argument with which git writes elsewhere, or runs something; None if there is none."""
    call = take_apart(words)
    for each in call.before:
        name = each.partition("=")[0]
        if name.startswith(("-c", "-C")) or any(
            names_option(name, risky) for risky in _GLOBAL_VALUED if risky[:2] == "--"
        ):
            return each
    if call.subcommand in _RUNNERS:
        return call.subcommand
    for each in call.options:
        name = each.partition("=")[0]
        if (
            each.startswith("--")
            and len(name) > 2
            and any(names_option(name, risky) for risky in _RISKY_LONG)
        ):
            return each
    return next(_particular(call), None)


def _particular(call: GitCall) -> Iterator[str]:
    """What is risky in one subcommand only."""
    first = call.operands[0] if call.operands else ""
    if call.subcommand == "grep" and call.has("-O"):
        yield "-O"
    if call.subcommand == "rebase" and call.has("-x", "-i", "--interactive"):
        yield call.subcommand
    if call.subcommand == "bisect" and first == "run":
        yield first
    if call.subcommand == "submodule" and first == "foreach":
        yield first
    if call.subcommand == "config" and not _config_reads(call):
        yield call.subcommand
    if call.subcommand == "archive" and call.has("-o"):
        yield "-o"
    if call.subcommand in ("format-patch", "bundle") and call.has("-o"):
        yield "-o"
    if call.subcommand in ("ls-remote", "fetch", "pull", "clone", "push") and any(
        "::" in each for each in call.operands
    ):
        yield next(each for each in call.operands if "::" in each)
    if call.subcommand.startswith("!") or "/" in call.subcommand:
        yield call.subcommand


_BRANCH_LIST: Final = set_of("""
    -a -r -v -vv -l --list --all --remotes --verbose --show-current --contains --no-contains --merged
    --no-merged --sort --format --points-at --color --no-color --column --no-column --abbrev --no-abbrev
    -i --ignore-case
""")
_TAG_LIST: Final = set_of("""
    -l --list -n --contains --no-contains --merged --no-merged --sort --format --points-at --color
    --column --no-column -i --ignore-case
""")

_READERS: Final = set_of("""
    status diff log show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file
    name-rev merge-base show-ref for-each-ref grep count-objects check-ignore check-attr diff-tree
    diff-index diff-files whatchanged cherry version range-diff show-branch verify-commit verify-tag
""")
_SUB_READERS: Final[Mapping[str, frozenset[str]]] = {
    "stash": frozenset({"list", "show"}),
    "worktree": frozenset({"list"}),
    "reflog": frozenset({"", "show", "exists"}),
    "remote": frozenset({"", "get-url"}),
    "submodule": frozenset({"", "status", "summary"}),
    "notes": frozenset({"", "list", "show"}),
    "bisect": frozenset({"log"}),
}


def git_reads(words: Sequence[str]) -> bool:
    """Whether a git command only reads; its dangerous flags are looked at elsewhere."""
    call = take_apart(words)
    if not set(call.before) <= QUIET:
        return not call.subcommand and set(call.before) <= {"--version"}
    first = call.operands[0] if call.operands else ""
    if call.subcommand in _READERS:
        return True
    if call.subcommand in _SUB_READERS:
        return first in _SUB_READERS[call.subcommand] and not call.has("--expire", "-d", "--delete")
    if call.subcommand == "branch":
        return _lists(call, _BRANCH_LIST)
    if call.subcommand == "tag":
        return _lists(call, _TAG_LIST)
    return call.subcommand == "config" and _config_reads(call)


def _lists(call: GitCall, allowed: frozenset[str]) -> bool:
    """Whether `git branch` or `git tag` lists: an operand without `--list` and its kin makes a new one."""
    names = {each.partition("=")[0] for each in call.options}
    if not all(name in allowed or (name.startswith("-n") and name[2:].isdigit()) for name in names):
        return False
    asking = {"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}
    return not call.operands or bool(names & asking)


def _config_reads(call: GitCall) -> bool:
    first = call.operands[0] if call.operands else ""
    asking = (
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "--get-color",
        "--get-colorbool",
    )
    writing = (
        "--add",
        "--unset",
        "--unset-all",
        "--replace-all",
        "--edit",
        "-e",
        "--rename-section",
        "--remove-section",
    )
    if any(each.partition("=")[0] in writing for each in call.options):
        return False
    return first in ("get", "list") or any(each.partition("=")[0] in asking for each in call.options)


def destroys(words: Sequence[str]) -> str | None:
    """Which work a git command may destroy, in words; None if none."""
    call = take_apart(words)
    check = _DESTROYERS.get(call.subcommand)
    return check(call) if check else None


def _reset(call: GitCall) -> str | None:
    return "it discards uncommitted changes" if call.has("--hard", "--merge", "--keep") else None


def _checkout(call: GitCall) -> str | None:
    paths = "--" in call.arguments or any(
        each == "." or each.startswith(("./", ":")) for each in call.operands
    )
    if paths or call.has("-f", "--force", "--ours", "--theirs", "--pathspec-from-file", "-B"):
        return "it discards uncommitted changes"
    return None


def _restore(call: GitCall) -> str | None:
    only_index = call.has("--staged", "-S") and not call.has("--worktree", "-W")
    return None if only_index else "it discards uncommitted changes"


def _switch(call: GitCall) -> str | None:
    return "it discards uncommitted changes" if call.has("-f", "--force", "--discard-changes", "-C") else None


def _clean(call: GitCall) -> str | None:
    return None if call.has("-n", "--dry-run") else "it deletes untracked files"


def _push(call: GitCall) -> str | None:
    forced = call.has(
        "-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--prune", "-d", "--delete"
    )
    if forced or any(each.startswith(("+", ":")) for each in call.operands):
        return "it overwrites history on the remote"
    return None


def _branch(call: GitCall) -> str | None:
    return "it may drop commits" if call.has("-D", "-M", "-C", "-f", "--force") else None


def _stash(call: GitCall) -> str | None:
    return "it drops stashed changes" if call.operands[:1] and call.operands[0] in ("drop", "clear") else None


def _reflog(call: GitCall) -> str | None:
    return "it drops the way back" if call.operands[:1] and call.operands[0] in ("expire", "delete") else None


def _rewrite(call: GitCall) -> str | None:
    return "it rewrites history"


def _gc(call: GitCall) -> str | None:
    return "it drops the way back" if call.has("--prune") else None


_DESTROYERS: Final = {
    "reset": _reset,
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "clean": _clean,
    "push": _push,
    "branch": _branch,
    "stash": _stash,
    "reflog": _reflog,
    "filter-branch": _rewrite,
    "filter-repo": _rewrite,
    "gc": _gc,
    "prune": _gc,
}
