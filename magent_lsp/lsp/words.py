"""When to take a client's word for an edit: of clients that tell of the change late, Eglot and vim-lsp."""

import contextlib
import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.lsp.documents import Documents
from magent_lsp.lsp.habits import Habits
from magent_lsp.lsp.parcel import Caller, Parcel
from magent_lsp.lsp.verify import Bounds, Expectation

logger = logging.getLogger(__name__)

_HAS: Final = re.compile(r"require version \d+, (?:you )?have (\d+)")
"""How Eglot refuses an edit of another version than it has (1.9 to 1.24)."""


class Words:
    """Finds out whether an edit was made that a client says it took, though no change is told."""

    def __init__(
        self,
        caller: Caller,
        documents: Callable[[], Documents],
        bounds: Bounds,
        habits: Habits,
        held_back: Callable[[], None],
        broken: Callable[[Path], None],
    ) -> None:
        self._caller = caller
        self._documents = documents
        self._bounds = bounds
        self._habits = habits
        self._held_back = held_back
        """Called when only a key of the person can help."""
        self._broken = broken
        """Called when the client tells of another text than it should have."""

    async def hold(
        self, parcel: Parcel, change: types.WorkspaceEdit, expectation: Expectation, *, asked: bool
    ) -> bool:
        """Whether the edit is in the text; `asked`: the client may have asked the person for it first."""
        if self._habits.told_by_dialog:
            return await self._told_now(parcel, expectation)
        if not self._habits.holds_back:
            return await expectation.arrives(self._bounds.change)
        if await expectation.arrives(self._bounds.idle):
            return True
        if not _told(expectation):
            version = _version_after(change)
            if version is not None and await self._proven(parcel, change, version, asked):
                if not _told(expectation):
                    broken = partial(self._break, parcel)
                    self._documents().vouch(parcel.uri, parcel.expected, version, broken=broken)
                    return True
            elif not _told(expectation):
                self._held_back()
                return await expectation.arrives(self._bounds.key)
        return await expectation.arrives(self._bounds.change)

    async def catch_up(self, parcel: Parcel, done: str = "") -> None:
        """Have a client tell of all changes now, if it is one that does so with a message."""
        if not self._habits.told_by_dialog:
            return
        words = f"Magent: {parcel.label.removeprefix('Magent: ')}{done}"
        params = types.ShowMessageRequestParams(type=types.MessageType.Info, message=words)
        with contextlib.suppress(TimeoutError, JsonRpcException, OSError):
            method = types.WINDOW_SHOW_MESSAGE_REQUEST
            await self._caller.call(method, params, seconds=self._bounds.message)

    async def _told_now(self, parcel: Parcel, expectation: Expectation) -> bool:
        """As above, in a client that tells of the buffer that is shown now, and of others once they are."""
        await self.catch_up(parcel, ": done")
        document = self._documents().open_document(parcel.uri)
        if _told(expectation) or document is None:
            return await expectation.arrives(self._bounds.change)
        # It makes the edit before it answers. What it tells later may have a person's text in it as well.
        self._documents().vouch(parcel.uri, parcel.expected, document.version or 0, broken=lambda: None)
        return True

    async def _proven(self, parcel: Parcel, change: types.WorkspaceEdit, version: int, asked: bool) -> bool:
        """Whether the edit was made for sure.

        The client counts changes as it makes them: then it refuses another edit of the old version, one of
        nothing, and says which it has. Where it asks the person for each edit, that is not tried.
        """
        if asked:
            return self._habits.vouches
        trial = types.ApplyWorkspaceEditParams(edit=_of_nothing(change), label=parcel.label)
        try:
            await self._caller.call(types.WORKSPACE_APPLY_EDIT, trial, seconds=self._bounds.change)
        except JsonRpcException as error:
            has = _HAS.search(str(error))
            return has is not None and int(has[1]) == version
        except (TimeoutError, OSError):
            return False
        return False

    def _break(self, parcel: Parcel) -> None:
        logger.warning("the client tells of another text of %r than its yes to an edit promised", parcel.uri)
        self._broken(parcel.edit.path)


def _told(expectation: Expectation) -> bool:
    return bool(expectation.changes) or expectation.closed


def _version_after(change: types.WorkspaceEdit) -> int | None:
    """The version of the document once the edit is made, as Eglot counts: one for each replacement."""
    documents = _documents(change)
    if len(documents) != 1 or documents[0].text_document.version is None:
        return None
    return documents[0].text_document.version + len(documents[0].edits)


def _of_nothing(change: types.WorkspaceEdit) -> types.WorkspaceEdit:
    """The same document and version, and an edit of nothing in it."""
    start = types.Position(line=0, character=0)
    nothing = types.TextEdit(range=types.Range(start=start, end=start), new_text="")
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(text_document=each.text_document, edits=[nothing])
            for each in _documents(change)
        ]
    )


def _documents(change: types.WorkspaceEdit) -> list[types.TextDocumentEdit]:
    return [each for each in change.document_changes or () if isinstance(each, types.TextDocumentEdit)]
