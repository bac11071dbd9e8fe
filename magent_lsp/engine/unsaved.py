"""Unsaved buffers before a command runs: the disk would have an older text."""

from pathlib import Path

from magent_lsp.core.request import Question
from magent_lsp.engine.run import Run

SAVE = "Save all"
LEAVE = "Run without saving"


async def save_before(run: Run, call_id: str) -> None:
    """Save unsaved buffers of the workspace if the setting or the person says so and the client can."""
    editor, setting = run.host.editor, run.settings.edits.save_before_commands
    if setting == "never" or not editor.can_save:
        return
    unsaved = unsaved_paths(run)
    if not unsaved:
        return
    if setting == "ask":
        names = ", ".join(run.name_path(path) for path in unsaved)
        answer = await editor.ask(
            Question(
                title="Unsaved changes",
                message=f"A command is about to run, and these files have unsaved changes: {names}.",
                options=(SAVE, LEAVE),
                run_id=run.id,
                tool_call_id=call_id,
            )
        )
        if answer is None or answer.values != (SAVE,):
            return
    await editor.save(unsaved)


def unsaved_paths(run: Run) -> list[Path]:
    """Files of the workspace folders whose buffer holds text that the disk does not have."""
    return [
        document.path
        for document in run.host.editor.documents()
        if document.unsaved and any(document.path.is_relative_to(folder) for folder in run.place.folders)
    ]
