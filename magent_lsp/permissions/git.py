"""What git's many commands do: which only read, which run something, which destroy work."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.arguments import names_option
from magent_lsp.permissions.tables import set_of, words_of

QUIET: Final = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}
)
"""Options before the subcommand that change nothing of importance."""
_HARMLESS_BEFORE: Final = QUIET | set_of("""
    -p --paginate --no-lazy-fetch --no-advice --glob-pathspecs --noglob-pathspecs --icase-pathspecs
    -v -h --version --help --html-path --man-path --info-path
""")
"""All others say which configuration, repository or programs count, such as `--bare` and `-c`."""
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
        if name not in _HARMLESS_BEFORE:
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
    name, first = call.subcommand, call.operands[0] if call.operands else ""
    if first and first in _RISKY_FIRST.get(name, ()):
        yield first
    if name in _RISKY_OPTIONS and call.has(*_RISKY_OPTIONS[name]):
        yield from (each for each in _RISKY_OPTIONS[name] if call.has(each))
    if name == "rebase" and call.has("-x", "-i", "--interactive"):
        yield name
    if name == "config" and not _config_reads(call):
        yield name
    if name == "config" and call.has("--includes") and call.has("-f", "--file", "--blob"):
        yield "--includes"
    if name == "maintenance" and first != "run":
        yield name
    if name in _MERGERS and (strategy := _strategy(call)) not in _STRATEGIES:
        yield strategy
    if name in _REMOTE:
        # A repository on this machine may run hooks of its own.
        yield from (each for each in call.operands if "::" in each or _is_path(each))
    if name and name not in _ORDINARY and name not in READERS:
        yield name


def _is_path(text: str) -> bool:
    return text.startswith((".", "/", "~", "file:"))


def _strategy(call: GitCall) -> str:
    """The merge strategy: an unknown one is a program `git-merge-NAME`."""
    arguments = call.arguments
    for index, each in enumerate(arguments):
        name, equals, value = each.partition("=")
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if len(name) > 4 and names_option(name, "--strategy"):
            return value if equals else following
        if call.subcommand in _SHORT_STRATEGY and re.match(r"-[a-rt-zA-Z]*s", each):
            return each.partition("s")[2] or following
    return ""


_REMOTE: Final = frozenset({"ls-remote", "fetch", "pull", "clone", "push", "remote", "submodule"})
_MERGERS: Final = frozenset({"merge", "rebase", "pull", "cherry-pick", "revert"})
_SHORT_STRATEGY: Final = frozenset({"merge", "rebase", "pull"})
"""Of the others `-s` means to sign off."""
_STRATEGIES: Final = frozenset({"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"})
_RISKY_FIRST: Final[Mapping[str, frozenset[str]]] = {
    "bisect": frozenset({"run", "view", "visualize", "replay"}),
    "submodule": frozenset({"foreach"}),
}
_RISKY_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "grep": ("-O",),
    "cat-file": ("--batch", "--batch-command"),
    "clone": ("-u", "-c", "--config"),
    "help": ("-w", "-i", "--web", "--info"),
    "archive": ("-o",),
    "format-patch": ("-o",),
    "bundle": ("-o",),
}
_ORDINARY: Final = set_of("""
    add commit push pull fetch checkout switch restore branch tag merge rebase reset stash cherry-pick revert
    rm mv clean clone init worktree bisect notes submodule remote reflog config archive format-patch bundle
    gc prune help version sparse-checkout update-index maintenance ls-remote fsck rerere
""")
"""Subcommands that `git *` may mean. Any other is an alias, a program `git-NAME`, or a tool of git's own."""

_BRANCH_LIST: Final = set_of("""
    -a -r -v -vv -l --list --all --remotes --verbose --show-current --contains --no-contains --merged
    --no-merged --sort --format --points-at --color --no-color --column --no-column --abbrev --no-abbrev
    -i --ignore-case
""")
_TAG_LIST: Final = set_of("""
    -l --list -n --contains --no-contains --merged --no-merged --sort --format --points-at --color
    --column --no-column -i --ignore-case
""")

READERS: Final = set_of("""
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
    if call.subcommand in READERS:
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


_FILE_NAME: Final = re.compile(r"\w\.[A-Za-z]\w{0,5}$")
"""An operand of `checkout` that looks more like a file than like a branch."""


def _checkout(call: GitCall) -> str | None:
    paths = "--" in call.arguments or any(
        each == "." or each.startswith(("./", ":")) or _FILE_NAME.search(each) for each in call.operands
    )
    makes = call.has("-b", "-B", "--orphan", "-t", "--track")
    if (
        paths
        or (len(call.operands) > 1 and not makes)
        or call.has("-f", "--force", "--ours", "--theirs", "--pathspec-from-file", "-B")
    ):
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


def _removes_tree(call: GitCall) -> bool:
    return call.operands[:1] == ("remove",) and call.has("-f", "--force")


def _gc(call: GitCall) -> str | None:
    return "it drops the way back" if call.has("--prune") else None


_DESTROYERS: Final[Mapping[str, Callable[[GitCall], str | None]]] = {
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
    "prune": lambda call: None if call.has("-n", "--dry-run") else "it drops the way back",
    "update-ref": _rewrite,
    "read-tree": lambda call: "it discards uncommitted changes" if call.has("-u", "--reset") else None,
    "checkout-index": lambda call: "it discards uncommitted changes" if call.has("-f", "--force") else None,
    "rm": lambda call: "it discards uncommitted changes" if call.has("-f", "--force") else None,
    "worktree": lambda call: "it discards a working tree" if _removes_tree(call) else None,
}
