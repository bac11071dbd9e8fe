"""An allowed edit on its way into the file: applied, verified, recorded; if it was stale, tried once more."""

import asyncio
from collections.abc import Sequence

from magent_lsp.core.document import Document, digest_of, split_lines
from magent_lsp.core.edits import EditOutcome, FileEdit, Outcome, TextEdits
from magent_lsp.core.errors import ToolError
from magent_lsp.core.events import EditApplied, EditRecord, TargetUpdated
from magent_lsp.core.known import Known, read_known
from magent_lsp.core.tool import Proposal, Subject, ToolContext, ToolResult, Verdict
from magent_lsp.engine.call import Prepared
from magent_lsp.engine.permit import judge_for
from magent_lsp.engine.run import Run
from magent_lsp.engine.scopes import outside_scope

OUTCOME_WORDS = {
    "applied": "The edit was applied and verified.",
    "rejected": "The editor or the user did not take the edit. Nothing was changed.",
    "stale": "The text changed since it was read. Nothing was changed; read the file again.",
    "diverged": "After the edit the buffer holds another text than expected. Read the file before you go on.",
    "unknown": "The editor did not confirm the edit; it may or may not be there. Read the file first.",
}


_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


class Landing:
    """Where the edits of one run land."""

    def __init__(self, run: Run, context: ToolContext) -> None:
        self._run = run
        self._context = context
        self.outcomes: dict[str, Outcome] = {}
        """What became of the edits of calls, also of those that are cancelled while it is found out."""

    def outside(self, edit: FileEdit) -> str:
        """Why an edit leaves the scope of the run; empty if it does not."""
        root = self._run.root
        return outside_scope(edit, root.request.scope, root.target, self._run.place)

    def astray(self, edit: FileEdit, prepared: Prepared) -> str:
        """Why an edit would be written where it was not judged, as a link changed; else empty."""
        real = getattr(edit, "real_path", None)
        if real is None:
            return ""
        subject = Subject(tool=prepared.tool.name, kind="path", value=str(real))
        there = judge_for(self._run, (subject,)).verdict
        judged = judge_for(self._run, prepared.subjects).verdict
        if self._run.place.resolve(edit.path) == real and _STRICTNESS[there] <= _STRICTNESS[judged]:
            return ""
        return f"{self._run.name_path(edit.path)!r} led to {str(real)!r} for a moment: a link changed."

    async def land(self, prepared: Prepared, proposal: Proposal) -> ToolResult:
        """Make the edit that was proposed and allowed; the result says in words what became of it."""
        outcome = await self._make(prepared, proposal)
        if outcome.outcome == "stale" and (fresh := await self._again(prepared, proposal)) is not None:
            proposal = fresh
            outcome = await self._make(prepared, proposal)
        edit = proposal.edit
        assert edit is not None
        self.outcomes[prepared.call.id] = outcome.outcome
        self._attempted(prepared, proposal, outcome)
        if outcome.outcome in ("applied", "diverged", "unknown"):
            await self._follow(edit, outcome)
        words = [OUTCOME_WORDS[outcome.outcome], outcome.detail, proposal.note]
        if outcome.outcome != "applied":
            return ToolResult(text=_join(words), failed=True)
        if not outcome.saved:
            words.append("The new text is in an unsaved buffer; the file on disk is older.")
        document = await self._run.host.editor.read(outcome.path)
        known = self._known(edit, outcome, document)
        if document.digest != known.digest:
            words.append("The text is another by now: somebody went on typing, or a formatter ran.")
        return ToolResult(text=_join(words), seen=((outcome.path, str(known)),))

    async def _make(self, prepared: Prepared, proposal: Proposal) -> EditOutcome:
        edit, host, root = proposal.edit, self._run.host, self._run.root
        assert edit is not None
        never_made = await host.keep_edit(root.session, root.id, edit)
        try:
            outcome = await host.editor.apply(edit, prepared.title)
        except asyncio.CancelledError:
            # It may be on its way still, so it is listed, and undo looks at what is there.
            self._attempted(prepared, proposal, EditOutcome(path=edit.path, outcome="unknown"))
            self.outcomes[prepared.call.id] = "unknown"
            raise
        if outcome.outcome in ("rejected", "stale"):
            never_made()
        return outcome

    def _attempted(self, prepared: Prepared, proposal: Proposal, outcome: EditOutcome) -> None:
        """List an edit among those of the run, and tell of it."""
        run, uri = self._run, outcome.path.as_uri()
        for listing in {id(one): one for one in (run, run.root)}.values():
            listing.edits.append(EditRecord(uri=uri, outcome=outcome.outcome))
        diff = proposal.diff or ""
        run.emit(EditApplied(uri=uri, outcome=outcome.outcome, diff=diff, tool_call_id=prepared.call.id))

    def _known(self, edit: FileEdit, outcome: EditOutcome, document: Document) -> Known:
        """What the model knows of the text once its edit was made: all of it, if it knew all before.

        A text that a person typed on in is not known; one that a formatter changed while it was saved is.
        """
        if isinstance(edit, TextEdits):
            seen = self._context.session.seen.get(str(edit.path))
            before = read_known(seen) if seen is not None else Known("", ())
            total = len(split_lines(edit.before))
            whole = not total or (before.of(digest_of(edit.before)) and before.covers(total))
            after = edit.after
        else:
            whole, after = True, getattr(edit, "text", "")
        formatted = document.origin == "buffer" and outcome.saved and not document.unsaved
        return Known(document.digest if formatted else digest_of(after), None if whole else ())

    async def _follow(self, edit: FileEdit, outcome: EditOutcome) -> None:
        """Move the target of a scoped run with the edit, and say where it is."""
        root = self._run.root
        target, scope = root.target, root.request.scope
        if target is None or scope is None or scope.path is None or edit.path != scope.path:
            return
        if outcome.outcome == "applied" and isinstance(edit, TextEdits):
            target.edited(edit)
        try:
            target.follow((await self._run.host.editor.read(edit.path)).text)
        except ToolError:
            return
        if (span := target.scope.span) is not None:
            root.emit(TargetUpdated(uri=scope.path.as_uri(), range=span))

    async def _again(self, prepared: Prepared, proposal: Proposal) -> Proposal | None:
        """The same change on the fresh text, if it still replaces the same by the same and is allowed."""
        try:
            fresh = await prepared.tool.run(prepared.input, self._context)
        except ToolError:
            return None
        if not isinstance(fresh, Proposal) or fresh.same is None or fresh.same != proposal.same:
            return None
        if self.outside(fresh.edit) if fresh.edit else True:
            return None
        decision = judge_for(self._run, (*prepared.subjects, *fresh.subjects))
        same_place = getattr(fresh.edit, "real_path", None) == getattr(proposal.edit, "real_path", None)
        return fresh if decision.verdict != "deny" and same_place else None


def _join(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word)
