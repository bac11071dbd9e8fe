"""Bubblewrap: commands that can write only to the workspace, and there to nothing that runs later outside."""

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from magent_lsp.core.errors import ToolError
from magent_lsp.tools import process
from magent_lsp.tools.intruders import Guard

_MEND = "Install bubblewrap, allow unprivileged user namespaces, or set `bash.sandbox` to `off`."


class Sandbox:
    """One sandbox for one command."""

    def __init__(self, words: Sequence[str], guard: Guard) -> None:
        self.words = list(words)
        """They stand before the command."""
        self._guard = guard

    def tidy(self, held: Path | None) -> str:
        """Take away what the command put where it would run outside the sandbox; a note for the model."""
        return self._guard.clear(held)


def make(
    folders: Sequence[Path],
    cwd: Path,
    env: Mapping[str, str],
    *,
    network: bool,
    own: Sequence[Path] = (),
    closed: Sequence[Path] = (),
) -> Sandbox:
    """A sandbox for one command; ToolError if there is no `bwrap`.

    The workspace folders are writable, all else is read-only; `/tmp` and `/run` are empty and private.
    `own` are folders of this program, which are read-only wherever they are. `closed` are such as are empty
    inside: a socket can be used through a read-only mount, and from another network.
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
    real = [Path(os.path.realpath(folder)) for folder in folders]
    for folder in real:
        words += ["--bind", str(folder), str(folder)]
    guard = Guard(real)
    for path in guard.pinned:  # stay where they are, so that no other is put in their place
        words += ["--bind-try", str(path), str(path)]
    for path in [*guard.kept, *(Path(os.path.realpath(each)) for each in own)]:
        words += ["--ro-bind-try", str(path), str(path)]
    for path in closed:
        with contextlib.suppress(OSError):  # it must be there to be covered, also if it is filled later
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            words += ["--tmpfs", os.path.realpath(path)]
    return Sandbox([*words, "--chdir", os.path.realpath(cwd), "--"], guard)


async def check(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    """ToolError if this sandbox cannot start at all."""
    try:
        tried = await process.capture([*words, "true"], cwd=cwd, env=env, timeout=10)
    except TimeoutError:
        raise ToolError(f"The command was not run: `bwrap` did not answer. {_MEND}") from None
    if tried.code:
        reason = tried.err.decode("utf-8", "replace").strip()
        raise ToolError(f"The command was not run: the sandbox cannot start ({reason}). {_MEND}")
