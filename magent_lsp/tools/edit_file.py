"""`edit_file`: replace pieces of a file's text by other pieces."""

import json
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, model_validator

from magent_lsp.core.diff import unified_diff
from magent_lsp.core.document import Document
from magent_lsp.core.edits import Replacement, TextEdits
from magent_lsp.core.errors import EditError, MissingError
from magent_lsp.core.known import read_known
from magent_lsp.core.matching import Edit, place
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.reading import read, real, work
from magent_lsp.tools.write_file import creation, refuse_placeholders, refuse_unwritable

_PARTS = ("old_string", "new_string", "replace_all", "replaceAll")


class OneEdit(BaseModel):
    """One replacement."""

    old_string: str = Field(description="Text to replace, exactly as in the file; empty to make a new file.")
    new_string: str = Field(description="Text to put in its place.")
    replace_all: bool = Field(
        False,
        validation_alias=AliasChoices("replace_all", "replaceAll"),
        description="Replace every occurrence; otherwise it must occur exactly once.",
    )


class Input(BaseModel):
    """Arguments of `edit_file`."""

    path: str
    edits: list[OneEdit] = Field(min_length=1, description="All are placed in the file as it is now.")

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: Any) -> Any:
        """Accept `{path, old_string, new_string}`, a lone edit, and edits as a string of JSON."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        edits = data.get("edits")
        if isinstance(edits, str):
            try:
                edits = json.loads(edits)
            except ValueError:
                return data  # the list's own error says what is wrong
        if not edits and any(key in data for key in ("old_string", "new_string")):
            edits = {key: data[key] for key in _PARTS if key in data}
        data["edits"] = [edits] if isinstance(edits, dict) else edits
        return {key: value for key, value in data.items() if value is not None}


async def _run(input: Input, context: ToolContext) -> Proposal:
    path = resolve(input.path, context.folders)
    name = relative(path, context.folder)
    edits = tuple(Edit(one.old_string, one.new_string, one.replace_all) for one in input.edits)
    whole = next((edit for edit in edits if not edit.old), None)
    if whole is not None and len(edits) > 1:
        raise EditError("An edit with an empty old_string makes a file; it must be the only one of the call.")
    try:
        document = await read(path, context)
    except MissingError:
        if whole is None:
            raise
        return await creation(path, name, whole.new)
    if whole is not None and document.text:
        raise EditError(
            f"{name!r} exists, so an empty old_string cannot make it. Nothing was changed. Give the text to "
            "replace in old_string, or replace the whole file with write_file."
        )
    real_path = await real(path)
    size = len(document.text) + sum(len(edit.old) + len(edit.new) for edit in edits)
    try:
        return await work(size, _proposal, document, edits, name, real_path)
    except EditError as error:
        seen = context.session.seen.get(str(path))
        if seen is not None and not read_known(seen).of(document.digest):
            raise EditError(f"{error}\n{name!r} changed since you read it; read it again.") from None
        raise


def _proposal(document: Document, edits: tuple[Edit, ...], name: str, real_path: Path) -> Proposal:
    for edit in edits:
        refuse_unwritable(edit.new)
        refuse_placeholders(edit.new, document.text)
    before = document.text
    if not edits[0].old:
        replacements: tuple[Replacement, ...] = (Replacement(0, 0, edits[0].new),)
        after, note = edits[0].new, ""
        found: tuple[tuple[str, int], ...] = ()
    else:
        placed = place(before, edits, repr(name))
        replacements, after, note = placed.replacements, placed.after, placed.note
        found = tuple(zip(placed.strategies, placed.places, strict=True))
    return Proposal(
        title=f"Edit {name}",
        edit=TextEdits(
            path=document.path, replacements=replacements, before=before, after=after, real_path=real_path
        ),
        same=(document.path, edits, found),
        diff=unified_diff(before, after, name, escape=True).text,
        note=note,
        paths=(document.path,),
    )


def _subjects(input: Input) -> tuple[Subject, ...]:
    return (Subject(tool="edit_file", kind="path", value=input.path),)


TOOL = Tool(
    name="edit_file",
    description=(
        "Change parts of a file. Each old_string must be copied exactly from the file, with its indentation, "
        "and occur exactly once: give a few lines around it, or set replace_all. All edits of a call are "
        "placed in the text as it is before the call, and are made together or not at all. Write new text "
        "out in full, never a comment in its place."
    ),
    input=Input,
    kind="edit",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"Edit {input.path}",
    quotes=True,
)
