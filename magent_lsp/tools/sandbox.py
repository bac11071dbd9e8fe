"""Bubblewrap: commands that can write only to the workspace."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from magent_lsp.core.errors import ToolError
from magent_lsp.tools import process

_PINNED = (".git",)
"""Folders that stay where they are, so that none can be put in the place of what is read-only in them."""
_READ_ONLY_INSIDE = (
    ".git/config",
    ".git/hooks",
    ".gitmodules",
    ".magent",
    ".agents",
    ".claude",
    ".opencode",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".envrc",
    ".npmrc",
    ".pre-commit-config.yaml",
)
"""What runs code later, outside of the sandbox, stays as it is."""

_MEND = "Install bubblewrap, allow unprivileged user namespaces, or set `bash.sandbox` to `off`."


def prefix(folders: Sequence[Path], cwd: Path, env: Mapping[str, str], *, network: bool) -> list[str]:
    """The words before a command that put it into the sandbox; ToolError if there is no `bwrap`.

    The workspace folders are writable, all else is read-only; `/tmp` and `/run` are empty and private.
    """
    program = shutil.which("bwrap", path=env.get("PATH"))
    if program is None:
        raise ToolError(f"The command was not run: the sandbox needs `bwrap`, which is not on PATH. {_MEND}")
    words = [program, "--die-with-parent", "--unshare-all"]
    if network:
        words += ["--share-net"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    if network:  # the resolver's own files live there on many systems
        words += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    for folder in folders:
        words += ["--bind", str(folder), str(folder)]
        for name in _PINNED:
            words += ["--bind-try", str(folder / name), str(folder / name)]
        for name in _READ_ONLY_INSIDE:
            words += ["--ro-bind-try", str(folder / name), str(folder / name)]
    return [*words, "--chdir", str(cwd), "--"]


async def check(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    """ToolError if this sandbox cannot start at all."""
    try:
        tried = await process.capture([*words, "true"], cwd=cwd, env=env, timeout=10)
    except TimeoutError:
        raise ToolError(f"The command was not run: `bwrap` did not answer. {_MEND}") from None
    if tried.code:
        reason = tried.err.decode("utf-8", "replace").strip()
        raise ToolError(f"The command was not run: the sandbox cannot start ({reason}). {_MEND}")
