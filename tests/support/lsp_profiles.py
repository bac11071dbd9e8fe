"""What real editors declare, and how they behave, for tests that must hold in all of them."""

import json
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal


@dataclass(frozen=True)
class Profile:
    """A kind of editor."""

    name: str
    capabilities: dict[str, Any] = field(default_factory=dict)
    client: str = ""
    """What it calls itself in `clientInfo`."""
    first_version: int = 1
    first_change: int | None = None
    """The version after the first change, where it is not the next one."""
    debounce: float = 0.02
    """Seconds from the reply to `applyEdit` to the `didChange`."""
    unknown_request: Literal["error", "null"] = "error"
    """The answer to a request that it does not know."""
    checks_version: bool = True
    """Whether it refuses an edit of any other version than the one it has."""
    drops_stale: bool = False
    """Whether it drops an edit of an older version, and says that it was applied."""
    names_version: bool = False
    """Whether it refuses such an edit with an error that says which version it has."""
    counts_late: bool = False
    """Whether the version grows when changes are told, not when they are made."""
    counts_edits: bool = False
    """Whether the version grows with every replacement, not with every message."""
    sleeps: bool = False
    """Whether it tells of no changes after a dialog, until the person presses a key."""
    dialogs: bool = True
    """Whether it serves `showMessageRequest`."""


def _canned(name: str) -> dict[str, Any]:
    text = (files("pytest_lsp") / "clients" / name).read_text(encoding="utf-8")
    capabilities: dict[str, Any] = json.loads(text)["capabilities"]
    return capabilities


def _neovim() -> dict[str, Any]:
    capabilities = _canned("neovim_v0.11.0.json")
    # Measured in 0.11.4: `documentChanges` is honoured but not declared.
    capabilities["workspace"]["workspaceEdit"].pop("documentChanges", None)
    return capabilities


_EGLOT_1_9: dict[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "executeCommand": {"dynamicRegistration": False},
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": {"dynamicRegistration": False},
        "configuration": True,
    },
    "textDocument": {
        "synchronization": {
            "dynamicRegistration": False,
            "willSave": True,
            "willSaveWaitUntil": True,
            "didSave": True,
        },
        "codeAction": {
            "dynamicRegistration": False,
            "codeActionLiteralSupport": {
                "codeActionKind": {
                    "valueSet": [
                        "quickfix",
                        "refactor",
                        "refactor.extract",
                        "refactor.inline",
                        "refactor.rewrite",
                        "source",
                        "source.organizeImports",
                    ]
                }
            },
            "isPreferredSupport": True,
        },
        "publishDiagnostics": {"relatedInformation": False},
    },
    "experimental": {},
}

VSCODE = Profile("vscode", _canned("visual_studio_code_v1.65.2.json"))
NEOVIM = Profile(
    "neovim",
    _neovim(),
    client="Neovim",
    first_version=0,
    first_change=3,
    debounce=0.15,
    checks_version=False,
    drops_stale=True,
)
# Measured in Emacs 28.2: an idle timer tells of changes, and after a dialog in the minibuffer Emacs is not
# idle before the next key.
EMACS = Profile(
    "emacs",
    _EGLOT_1_9,
    first_version=0,
    debounce=0.3,
    unknown_request="null",
    names_version=True,
    counts_edits=True,
    sleeps=True,
)
EGLOT_1_17 = replace(EMACS, name="eglot 1.17", client="Eglot", counts_edits=False, counts_late=True)
"""That of Emacs 30, as far as edits go."""
EGLOT_1_24 = replace(EMACS, name="eglot 1.24", client="Eglot")
POOR = Profile("poor", {}, dialogs=False)

PROFILES = (VSCODE, NEOVIM, EMACS, POOR)
