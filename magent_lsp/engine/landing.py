"""An allowed edit on its way into the file: applied, verified, recorded; if it was stale, tried once more."""

from collections.abc import Sequence

from magent_lsp.core.edits import EditOutcome, FileEdit, TextEdits
from magent_lsp.core.errors import ToolError
from magent_lsp.core.events import EditApplied, EditRecord, TargetUpdated
from magent_lsp.core.tool import Proposal, ToolContext, ToolResult
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


class Landing:
    """Where the edits of one run land."""

    def __init__(self, run: Run, context: ToolContext) -> None:
        self._run = run
        self._context = context

    def outside(self, edit: FileEdit) -> str:
        """Why an edit leaves the scope of the run; empty if it does not."""
        root = self._run.root
        return outside_scope(edit, root.request.scope, root.target, self._run.place)

    async def land(self, prepared: Prepared, proposal: Proposal) -> ToolResult:
        """Make the edit that was proposed and allowed; the result says in words what became of it."""
        assert proposal.edit is not None
        run = self._run
        await run.host.keep_edit(proposal.edit)
        outcome = await run.host.editor.apply(proposal.edit, prepared.title)
        if outcome.outcome == "stale":
            fresh = await self._again(prepared, proposal)
            if fresh is not None and fresh.edit is not None:
                proposal = fresh
                await run.host.keep_edit(fresh.edit)
                outcome = await run.host.editor.apply(fresh.edit, prepared.title)
        edit = proposal.edit
        assert edit is not None
        uri = outcome.path.as_uri()
        run.edits.append(EditRecord(uri=uri, outcome=outcome.outcome))
        if run.root is not run:
            run.root.edits.append(EditRecord(uri=uri, outcome=outcome.outcome))
        if outcome.outcome in ("applied", "diverged", "unknown"):
            run.host.record_edit(run.root.session, run.root.id, edit)
            await self._follow(edit, outcome)
        run.emit(
            EditApplied(
                uri=uri, outcome=outcome.outcome, diff=proposal.diff or "", tool_call_id=prepared.call.id
            )
        )
        words = [OUTCOME_WORDS[outcome.outcome], outcome.detail, proposal.note]
        if outcome.outcome == "applied":
            if not outcome.saved:
                words.append("The new text is in an unsaved buffer; the file on disk is older.")
            document = await run.host.editor.read(outcome.path)
            return ToolResult(text=_join(words), seen=((outcome.path, document.digest),))
        return ToolResult(text=_join(words), failed=True)

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
