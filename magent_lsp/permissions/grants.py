"""The narrowest rule that would open what was asked: never wider than what the person saw."""

import re
from typing import Final
from urllib.parse import urlsplit

from magent_lsp.permissions.line import Command
from magent_lsp.permissions.rules import Rule, Source
from magent_lsp.permissions.tables import set_of

SOURCE: Final = Source(name="grant")

DEEPER: Final = frozenset(
    {
        "npm run",
        "yarn run",
        "pnpm run",
        "docker compose",
        "uv run",
        "poetry run",
        "cargo run",
        "go tool",
        "git stash",
        "git remote",
        "git worktree",
        "git submodule",
        "kubectl get",
        "gh pr",
        "gh issue",
        "aws s3",
        "gcloud compute",
        "make -C",
        "npx",
    }
)
"""Subcommands that have subcommands."""

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
    text = command.text
    if not all(word.literal for word in command.words) or "*" in "".join(texts[:3]) or not text.isprintable():
        return ()
    if exact or texts[0].rstrip("0123456789.") in WHOLE:
        return () if "*" in text else (_allow("bash", text),)
    if len(texts) == 1:
        return (_allow("bash", text),)
    head = texts[:1]
    if _SUBCOMMAND.fullmatch(texts[1]):
        head = texts[:2]
        if " ".join(head) in DEEPER and len(texts) > 2 and _SUBCOMMAND.fullmatch(texts[2]):
            head = texts[:3]
    return (_allow("bash", " ".join(head) + " *"),)


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
