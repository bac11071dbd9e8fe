"""Looks at the files that configure us as they are typed, long before they are saved."""

import asyncio
from typing import TYPE_CHECKING, Any

from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.own_files import is_own
from magent_lsp.store.problems import Problem

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge

SECONDS = 0.3
"""Keystrokes that come within this time are one look."""


class Checking:
    """The problems of open buffers; what is on disk stays in force."""

    def __init__(self, edge: "Edge") -> None:
        self._edge = edge
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0
        self._end = edge.documents.observe(self._changed)

    def _changed(self, document: Any, uri: str) -> None:
        if not is_own(uri, self._edge.dirs.user):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._edge.spawn(self.look(), name="check")

    async def look(self) -> None:
        """Show what is wrong, in open buffers as they are and in all other files as they are on disk."""
        self._looks += 1
        look = self._looks
        problems = await self._edge.in_thread(self._problems, self._open())
        if look == self._looks:
            self._edge.show_problems(problems)

    def _open(self) -> "dict[Any, str]":
        documents = self._edge.documents.open_documents()
        found = ((to_path(each.uri), each) for each in documents if is_own(each.uri, self._edge.dirs.user))
        return {path: document.source for path, document in found if path is not None}

    def _problems(self, texts: "dict[Any, str]") -> tuple[Problem, ...]:
        return self._edge.app.problems_with(texts) if texts else self._edge.app.problems

    def close(self) -> None:
        """Look no more."""
        self._end()
        if self._timer is not None:
            self._timer.cancel()
