"""What single editors do beside the protocol, told from what they say of themselves."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lsprotocol import types

from magent_lsp.core.request import PermissionOption


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How one client behaves."""

    drops_stale: bool = False
    """It leaves an edit of an older version out, and says that it took it (Neovim)."""
    versions_from_one: bool = False
    """It compares no version below 1 (Neovim)."""
    first_is_default: bool = False
    """It takes an empty answer to a dialog for the first button (Eglot, coc.nvim, Helix)."""
    only_first_button: bool = False
    """Of a dialog's buttons it can only give the first; any other counts as none (vim-lsp)."""
    told_by_dialog: bool = False
    """It tells of all changes before it answers a dialog, and answers one without buttons at once (vim-lsp);
    otherwise it tells late, and of nothing while the person inserts text."""
    one_line: bool = False
    """It shows a message as one line, whatever the message holds (Helix, kakoune-lsp, vim-lsp,
    yegappan/lsp)."""
    keeps_last_break: bool = False
    """It has no place behind the line break at a text's end: what goes there lands before (kakoune-lsp)."""
    one_completion: bool = False
    """Completion of a server shuts out all other of a buffer, even if it never finds one (Eglot)."""
    vouches: bool = False
    """Its yes to a versioned edit is proof also if it has asked the person: who declines gives an error
    (Eglot before 1.13)."""
    holds_back: bool = False
    """It tells of changes when it is idle, which a dialog ends until the next key (Eglot)."""
    stops_at_answers: bool = False
    """What it reads in one piece with the answer it waits for is left behind, as a `throw` ends the reading:
    until more comes (Eglot before 1.16), or for ever (lsp-mode before May 2026, its issue 4323)."""

    def in_order(self, options: Sequence[PermissionOption]) -> list[PermissionOption]:
        """The ways to answer as they are offered: a bare RET must never allow anything."""
        if self.first_is_default:
            return sorted(options, key=lambda option: option.reply != "reject")
        return list(options)


_NAMED: Final[Mapping[str, Habits]] = {
    "neovim": Habits(drops_stale=True, versions_from_one=True),
    "coc.nvim": Habits(first_is_default=True),
    "helix": Habits(first_is_default=True, one_line=True),
    "kakoune-lsp": Habits(first_is_default=True, one_line=True, keeps_last_break=True),
    "vim-lsp": Habits(only_first_button=True, told_by_dialog=True, one_line=True),
    "vim": Habits(one_line=True),
    "emacs": Habits(stops_at_answers=True),
}
"""Of clients whose name says it all; `vim` is yegappan/lsp, `emacs` is lsp-mode, which tells no version of
its own."""


def habits_of(client: types.ClientInfo | None, capabilities: types.ClientCapabilities) -> Habits:
    """The habits of a client; of one that is not known, none."""
    name = client.name.lower() if client is not None else ""
    if name in _NAMED:
        return _NAMED[name]
    nameless = client is None and _is_old_eglot(capabilities)
    if name == "eglot" or nameless:
        return Habits(
            first_is_default=True,
            one_completion=True,
            vouches=nameless,
            holds_back=True,
            stops_at_answers=nameless or _version(client) < (1, 16),
        )
    # Versions of Eglot that do not give their name are among those without one.
    return Habits(first_is_default=capabilities.window is None, one_completion=client is None)


def _version(client: types.ClientInfo | None) -> tuple[int, ...]:
    """The numbers a version begins with; of one that is not told, none."""
    told = re.match(r"\d+(?:\.\d+)*", (client.version or "") if client is not None else "")
    return tuple(map(int, told[0].split("."))) if told else ()


def _is_old_eglot(capabilities: types.ClientCapabilities) -> bool:
    """Whether these are what Eglot declared before it gave its name."""
    workspace, documents = capabilities.workspace, capabilities.text_document
    edits = workspace.workspace_edit if workspace is not None else None
    saving = documents.synchronization if documents is not None else None
    return (
        capabilities.window is None
        and capabilities.experimental == {}
        and edits is not None
        and edits.document_changes is True
        and saving is not None
        and saving.will_save_wait_until is True
    )
