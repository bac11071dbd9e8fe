"""Sends one document's edit to the client, and finds out what became of it."""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from magent_lsp.core.edits import EditOutcome, Outcome, TextEdits
from magent_lsp.lsp.convert import to_path
from magent_lsp.lsp.documents import Documents
from magent_lsp.lsp.habits import Habits
from magent_lsp.lsp.parcel import Caller, Parcel
from magent_lsp.lsp.verify import Bounds, Expectation, lacks
from magent_lsp.lsp.words import Words
from magent_lsp.store.land import in_thread

logger = logging.getLogger(__name__)

STALE = "The text changed in the editor before the edit arrived there."

_NO_VERDICT = ("connection to the client ended", "wrong shape")
"""Failures that say nothing about whether the edit was made; words of our own wire."""


class Delivery:
    """Delivers edits of one client; the caller holds a lock for each document."""

    def __init__(
        self, caller: Caller, documents: Callable[[], Documents], bounds: Bounds, habits: Habits
    ) -> None:
        self._caller = caller
        self._documents = documents
        self._bounds = bounds
        self._drops_stale = habits.drops_stale
        self._words = Words(caller, documents, bounds, habits, self._held_back, self._broken)
        self._open: dict[str, _Unsettled] = {}
        self._replies: set[asyncio.Task[types.ApplyWorkspaceEditResult | None]] = set()
        self._refusals: dict[str, Expectation] = {}
        """What would show that an edit was made though it was refused; of each document the last one."""
        self.late: Callable[[EditOutcome], None] | None = None
        """Told when an edit that was reported `unknown` turns out to be applied or rejected, one that was
        reported `rejected` to be applied, or one that was reported `applied` on the client's word alone to
        have `diverged`."""
        self.held_back: Callable[[], None] | None = None
        """Told when the client seems to wait for a key before it tells of an edit."""

    async def settled(self, uri: str, seconds: float | None = None) -> bool:
        """Wait, bounded, for an earlier edit of the document that is not confirmed yet."""
        unsettled = self._open.get(_key(uri))
        return unsettled is None or await unsettled.wait(self._bounds.earlier if seconds is None else seconds)

    def forget(self, uri: str) -> None:
        """Wait no more for an edit of the document: its fate was learnt in another way."""
        if (unsettled := self._open.get(_key(uri))) is not None:
            unsettled.settle()

    async def send(self, parcel: Parcel) -> EditOutcome:
        """Send the edit and verify it; a refusal while nothing had changed is tried once more."""
        for again in (True, False):
            await self._words.catch_up(parcel)
            if not parcel.unchanged():
                return _outcome(parcel, "stale", "The text changed in the editor before the edit was sent.")
            outcome = await self._attempt(parcel, again)
            if outcome is not None:
                return outcome
        raise AssertionError("the second attempt has an outcome")

    def close(self) -> None:
        """Give up what is still waited for."""
        for reply in self._replies:
            reply.cancel()
        for unsettled in list(self._open.values()):
            unsettled.settle()
        for key in list(self._refusals):
            self._end_refusal(key)

    async def _attempt(self, parcel: Parcel, again: bool) -> EditOutcome | None:
        self._end_refusal(_key(parcel.uri))  # what shows now may be this one
        expectation = Expectation(self._documents(), parcel.uri, parcel.expected)
        params = types.ApplyWorkspaceEditParams(edit=parcel.change(), label=parcel.label)
        msg_id = str(uuid.uuid4())
        sent: list[float] = []
        call = self._caller.call(
            types.WORKSPACE_APPLY_EDIT,
            params,
            seconds=None,
            msg_id=msg_id,
            sent=lambda: sent.append(time.monotonic()),
        )
        reply = asyncio.create_task(call, name=f"edit {parcel.uri}")
        self._replies.add(reply)
        reply.add_done_callback(self._replied)

        def take_back() -> bool:
            """Whether it has not gone, and will not."""
            if not sent and self._caller.take_back(msg_id):
                reply.cancel()
            return not sent and (reply.done() or reply.cancelling() > 0)

        expectation.on_change = lambda: expectation.closed and take_back()
        try:
            outcome = await self._verdict(parcel, params.edit, expectation, reply, again, sent)
        except BaseException:
            if take_back():  # cancelled before it went
                expectation.end()
            else:
                self._keep(parcel, expectation, reply)
            raise
        if outcome is not None and outcome.outcome == "rejected":
            self._doubt(parcel, expectation)
        elif outcome is None or outcome.outcome != "unknown":
            expectation.end()
        elif take_back():
            expectation.end()
            return _never_sent(parcel, expectation)
        else:
            self._keep(parcel, expectation, reply)
        return outcome

    async def _verdict(
        self,
        parcel: Parcel,
        change: types.WorkspaceEdit,
        expectation: Expectation,
        reply: "asyncio.Task[types.ApplyWorkspaceEditResult | None]",
        again: bool,
        sent: list[float],
    ) -> EditOutcome | None:
        """What became of the edit; None: send it once more."""
        arrives = asyncio.create_task(expectation.arrives(None))
        try:
            await asyncio.wait(
                {reply, arrives}, timeout=self._bounds.reply, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            arrives.cancel()
        if expectation.seen:
            return _outcome(parcel, "applied")
        if not reply.done() or reply.cancelled():
            if expectation.closed:
                return _outcome(parcel, "unknown", "The document was closed before the edit was confirmed.")
            return _outcome(
                parcel, "unknown", f"The editor did not answer within {self._bounds.reply:g} seconds."
            )
        refusal = _refusal(reply)
        if refusal is not None:
            return await self._refused(parcel, expectation, refusal, again)
        if parcel.landed is not None and await parcel.landed():
            return _outcome(parcel, "applied")
        if self._drops_stale and await self._dropped(parcel, expectation):
            return _outcome(parcel, "stale", STALE)
        asked = not sent or time.monotonic() - sent[0] > self._bounds.unasked
        if await self._words.hold(parcel, change, expectation, asked=asked):
            return _outcome(parcel, "applied")
        if expectation.changes and not expectation.closed:
            return _outcome(parcel, "diverged", "The editor reports another text than the edit should give.")
        return _outcome(
            parcel, "unknown", "The editor said it had taken the edit, but no change of the text arrived."
        )

    def _held_back(self) -> None:
        if self.held_back is not None:
            self.held_back()

    def _broken(self, path: Path) -> None:
        if self.late is not None:
            why = "The editor's text turned out to be another one."
            self.late(EditOutcome(path=path, outcome="diverged", detail=why, saved=True))

    async def _dropped(self, parcel: Parcel, expectation: Expectation) -> bool:
        """Whether the text that the client tells of next has surely none of the edit in it."""
        await expectation.changed(self._bounds.change)
        document = self._documents().open_document(parcel.uri)
        if expectation.seen or document is None or not isinstance(parcel.edit, TextEdits):
            return False
        return await in_thread(lacks, document.source, parcel.edit.before, parcel.expected)

    async def _refused(
        self, parcel: Parcel, expectation: Expectation, refusal: "_Refusal", again: bool
    ) -> EditOutcome | None:
        behind = "version" in refusal.reason.lower()
        # An error is a person's no (eglot); asking again would ask the person again.
        again = again and not refusal.is_error
        # A client that is ahead of us will say so: its next didChange is what the edit has to be made for.
        # Of an edit that it made all the same it tells at once, or once nobody has typed for a moment, and
        # must not get another.
        await expectation.changed(
            self._bounds.change if behind else self._bounds.idle if again else self._bounds.retry
        )
        if expectation.seen:
            return _outcome(parcel, "applied")
        if behind or not parcel.unchanged():
            return _outcome(parcel, "stale", STALE)
        if again:
            return None
        said = f"The editor says: {refusal.reason}" if refusal.reason else "The editor refused the edit."
        return _outcome(parcel, "rejected", said)

    def _doubt(self, parcel: Parcel, expectation: Expectation) -> None:
        """Say so if an edit shows that the client has refused; a hook of its may have failed behind it."""
        key = _key(parcel.uri)

        def look() -> None:
            if expectation.seen or expectation.closed:
                self._end_refusal(key)
            if expectation.seen and self.late is not None:
                self.late(_outcome(parcel, "applied", "The editor made the edit though it had refused it."))

        self._refusals[key] = expectation
        expectation.on_change = look
        asyncio.get_running_loop().call_later(self._bounds.change, self._end_refusal, key, expectation)

    def _end_refusal(self, key: str, only: Expectation | None = None) -> None:
        expectation = self._refusals.get(key)
        if expectation is not None and only in (None, expectation):
            del self._refusals[key]
            expectation.end()

    def _keep(
        self,
        parcel: Parcel,
        expectation: Expectation,
        reply: "asyncio.Task[types.ApplyWorkspaceEditResult | None]",
    ) -> None:
        """Go on watching an edit whose fate is unknown; later edits of the document wait for it."""
        unsettled = _Unsettled(parcel, expectation, reply, self._settle)
        self._open[_key(parcel.uri)] = unsettled
        unsettled.watch()

    def _settle(self, unsettled: "_Unsettled", outcome: Outcome | None) -> None:
        key = _key(unsettled.parcel.uri)
        if self._open.get(key) is unsettled:
            del self._open[key]
        if outcome is not None and self.late is not None:
            self.late(_outcome(unsettled.parcel, outcome, "The editor confirmed this late."))

    def _replied(self, reply: "asyncio.Task[types.ApplyWorkspaceEditResult | None]") -> None:
        self._replies.discard(reply)
        if not reply.cancelled():
            reply.exception()  # taken, so that nobody reports it as lost


class _Unsettled:
    """An edit that may still land."""

    def __init__(
        self,
        parcel: Parcel,
        expectation: Expectation,
        reply: "asyncio.Task[types.ApplyWorkspaceEditResult | None]",
        settled: Callable[["_Unsettled", Outcome | None], None],
    ) -> None:
        self.parcel = parcel
        self._expectation = expectation
        self._reply = reply
        self._settled = settled
        self._over = asyncio.Event()

    def watch(self) -> None:
        self._expectation.on_change = self._look
        self._reply.add_done_callback(lambda _: self._look())
        if self._expectation.seen or self._expectation.closed:
            self._look()

    async def wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            return False
        return True

    def settle(self, outcome: Outcome | None = None) -> None:
        if not self._over.is_set():
            self._over.set()
            self._expectation.end()
            self._settled(self, outcome)

    def _look(self) -> None:
        """The client answers first and tells of the change then: a change after the answer has all in it."""
        if self._expectation.seen:
            self.settle("applied")
        elif self._expectation.closed:
            self.settle()
        elif self._reply.done() and not self._reply.cancelled():
            if _refusal(self._reply) is not None:
                self.settle("rejected")
            elif self._expectation.changes:
                self.settle()


class _Refusal(NamedTuple):
    reason: str
    """Empty if the client gave none."""
    is_error: bool


def _refusal(reply: "asyncio.Task[types.ApplyWorkspaceEditResult | None]") -> _Refusal | None:
    """Why the client did not take the edit; None if it says that it took it, or nothing clear."""
    error = reply.exception()
    if error is None:
        result = reply.result()
        if getattr(result, "applied", None) is False:
            return _Refusal(str(getattr(result, "failure_reason", None) or ""), False)
        return None
    text = str(error)
    if isinstance(error, JsonRpcException) and not any(words in text for words in _NO_VERDICT):
        return _Refusal(text, True)
    return None


def _never_sent(parcel: Parcel, expectation: Expectation) -> EditOutcome:
    if expectation.closed:
        return _outcome(parcel, "stale", "The document was closed before the edit was sent.")
    why = "The editor has not read what it was sent before, so the edit was not sent."
    return _outcome(parcel, "rejected", why)


def _key(uri: str) -> str:
    """The same for every spelling of a URI."""
    return str(to_path(uri) or unquote(uri))


def _outcome(parcel: Parcel, outcome: Outcome, detail: str = "") -> EditOutcome:
    return EditOutcome(path=parcel.edit.path, outcome=outcome, detail=detail, saved=outcome != "applied")
