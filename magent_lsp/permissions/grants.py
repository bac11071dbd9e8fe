"""The narrowest rule that would open what was asked: never wider than what the person saw."""

import re
from typing import Final
from urllib.parse import urlsplit

from magent_lsp.permissions.escapes import INTERPRETERS
from magent_lsp.permissions.line import Command
from magent_lsp.permissions.rules import Rule, Source
from magent_lsp.permissions.runners import RUNNERS, runner_head
from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.wrappers import WRAPPERS

SOURCE: Final = Source(name="grant")

DEEPER: Final = frozenset(
    {
        "npm run",
        "yarn run",
        "pnpm run",
        "docker compose",
        "cargo run",
        "git stash",
        "git remote",
        "git worktree",
        "git submodule",
        "kubectl get",
        "gh pr",
        "gh issue",
        "aws s3",
        "gcloud compute",
    }
)
"""Subcommands that have subcommands."""

ANYTHING: Final = frozenset(
    {
        "deno run",
        "deno task",
        "deno eval",
        "go run",
        "go tool",
        "go generate",
        "gh api",
        "gh alias",
        "gh extension",
        "cargo install",
        "uv tool",
        "yarn node",
        "aws ssm",
    }
)
"""Subcommands that can do anything, beside those of RUNNERS: only the very command is granted."""
_MANY: Final = frozenset({"git", "cargo", "go", "gh", "deno", "make", "aws", "gcloud", *RUNNERS})
"""Programs that do so many things that an option in front of the subcommand must not widen the grant."""

WHOLE: Final = set_of("""
    sudo doas env xargs sh bash zsh dash ksh fish rm rmdir mv dd eval exec command nohup timeout nice
    ssh scp rsync curl wget chmod chown kill pkill killall docker podman nsenter chroot su watch find
    parallel busybox npx uvx bunx pipx perl ruby node python php lua
""")
"""Programs that can do anything: only the very command is granted."""

_SUBCOMMAND: Final = re.compile(r"[A-Za-z][\w:-]*")


def command_grant(command: Command, *, exact: bool) -> tuple[Rule, ...]:
    """Program and subcommand, or the whole command where that could do anything."""
    texts = [word.text for word in command.words]
    text, name = command.text, texts[0].rpartition("/")[2]
    if not all(word.literal for word in command.words) or "*" in "".join(texts[:3]) or not text.isprintable():
        return ()
    if exact or _can_do_anything(name, texts):
        return () if "*" in text else (_allow("bash", text),)
    if len(texts) == 1:
        return (_allow("bash", text),)
    head = texts[:1]
    if _SUBCOMMAND.fullmatch(texts[1]):
        head = texts[:2]
        if " ".join(head) in DEEPER and len(texts) > 2 and _SUBCOMMAND.fullmatch(texts[2]):
            head = texts[:3]
    return (_allow("bash", " ".join(head) + " *"),)


def _can_do_anything(name: str, texts: list[str]) -> bool:
    """Whether a rule on program and subcommand would be wider than what was shown."""
    base = name.rstrip("0123456789.") or name
    if base in WHOLE or base in INTERPRETERS or name in WRAPPERS or runner_head(texts):
        return True
    if name in _MANY and len(texts) > 1 and not _SUBCOMMAND.fullmatch(texts[1]):
        return True
    return " ".join([name, *texts[1:2]]) in ANYTHING


def url_grant(url: str) -> tuple[Rule, ...]:
    """The host."""
    parts = urlsplit(url)
    pattern = f"{parts.scheme}://{parts.netloc}/*"
    return () if "*" in parts.netloc else (_allow("fetch", pattern),)


def name_grant(tool: str, name: str) -> tuple[Rule, ...]:
    """The very name, or the tool if it has none."""
    return () if "*" in name else (_allow(tool, name or "*"),)


def _allow(tool: str, pattern: str) -> Rule:
    return Rule(tool=tool, pattern=pattern, verdict="allow", source=SOURCE)
