"""Programs that an agent or its person may use: are they there, and do they work."""

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from magent_lsp.core.errors import MagentError
from magent_lsp.engine.report import Line, State
from magent_lsp.tools.process import capture
from magent_lsp.tools.search import find_rg

_SECONDS = 5.0
_EDITORS = ("emacs", "nvim", "vim", "hx", "code", "codium")
_NEEDS = {
    "emacs": ("28", "Our Emacs client and Eglot need Emacs 28 or newer."),
    "nvim": (
        "0.11",
        "The configuration in the README needs Neovim 0.11, the plugin 0.10; the Neovim guide has another.",
    ),
    "code": ("1.91", "The extension needs VS Code 1.91 or newer."),
    "codium": ("1.91", "The extension needs VSCodium 1.91 or newer."),
}
"""The first version for which the guides' usual way works, and what to say of older ones."""


async def search(
    environ: Mapping[str, str], find: Callable[[Mapping[str, str]], str | None] = find_rg
) -> Line:
    """Whether ripgrep is there, where the tools look for it."""
    path = find(environ)
    if path is not None:
        return Line(name="rg", state="ok", detail=await _version(path, environ))
    mend = "Install ripgrep with your system's packages, or magent-lsp with its extra `[rg]`."
    return Line(name="rg", state="warn", detail="not found; searching is slower without it", mend=mend)


async def sandbox(*, wanted: bool, environ: Mapping[str, str]) -> Line:
    """Whether bubblewrap can really make a sandbox here; installed is not enough in many containers."""
    bad: State = "fail" if wanted else "ok"
    setting = "`bash.sandbox` is bwrap" if wanted else "`bash.sandbox` is off"
    if shutil.which("bwrap", path=environ.get("PATH")) is None:
        mend = "Install bubblewrap, or set `bash.sandbox` to off." if wanted else ""
        return Line(name="bwrap", state=bad, detail=f"not found; {setting}", mend=mend)
    argv = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "true")
    try:
        tried = await capture(argv, cwd=Path("/"), env=environ, timeout=_SECONDS)
    except (MagentError, OSError, TimeoutError) as error:
        return Line(name="bwrap", state=bad, detail=f"does not work: {error}; {setting}")
    if tried.code == 0:
        return Line(name="bwrap", state="ok", detail=f"works; {setting}")
    why = tried.err.decode(errors="replace").strip() or f"exit code {tried.code}"
    mend = "Allow unprivileged user namespaces, or set `bash.sandbox` to off." if wanted else ""
    return Line(name="bwrap", state=bad, detail=f"does not work here: {why}; {setting}", mend=mend)


async def editors(environ: Mapping[str, str]) -> tuple[Line, ...]:
    """The editors on PATH and their versions."""
    found = await asyncio.gather(*(_version_of(name, environ) for name in _EDITORS))
    lines = [_editor(name, version) for name, version in zip(_EDITORS, found, strict=True) if version]
    none = Line(
        name="editors",
        state="warn",
        detail="none of those known was found on PATH",
        mend="Any editor with a language client will do; `magent-lsp chat` needs none.",
    )
    return tuple(lines) or (none,)


def _editor(name: str, version: str) -> Line:
    needed, mend = _NEEDS.get(name, ("", ""))
    said = re.match(r"[\d.]+", version)
    if needed and said and _numbers(said[0]) < _numbers(needed):
        return Line(name=name, state="warn", detail=f"{version}; older than {needed}", mend=mend)
    return Line(name=name, state="ok", detail=version)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.strip(".").split(".")]


async def _version_of(name: str, environ: Mapping[str, str]) -> str:
    """`1.2.3, /usr/bin/name`, or nothing if the program is not there."""
    path = shutil.which(name, path=environ.get("PATH"))
    return "" if path is None else await _version(path, environ)


async def _version(path: str, environ: Mapping[str, str]) -> str:
    try:
        said = await capture((path, "--version"), cwd=Path("/"), env=environ, timeout=_SECONDS)
    except (MagentError, OSError, TimeoutError):
        return f"{path} (does not say its version)"
    version = re.search(r"\d+(?:\.\d+)+", said.out.decode(errors="replace"))
    return f"{version[0]}, {path}" if version else path
