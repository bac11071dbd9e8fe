"""`write_file`: make a file, or replace the whole text of one that was read."""

import re
from pathlib import Path

from pydantic import BaseModel, Field

from magent_lsp.core.diff import unified_diff
from magent_lsp.core.document import Document, split_lines
from magent_lsp.core.edits import CreateFile, TextEdits, apply_replacements
from magent_lsp.core.errors import EditError, MissingError, StaleError
from magent_lsp.core.known import read_known
from magent_lsp.core.placeholders import placeholder_in
from magent_lsp.core.splice import rewrite
from magent_lsp.core.tool import Proposal, Subject, Tool, ToolContext
from magent_lsp.tools.paths import relative, resolve
from magent_lsp.tools.reading import read, real, work

_UNWRITABLE = re.compile("[\\0\\ud800-\\udfff]")


class Input(BaseModel):
    """Arguments of `write_file`."""

    path: str
    content: str = Field(description="The whole text of the file.")


async def _run(input: Input, context: ToolContext) -> Proposal:
    path = resolve(input.path, context.folders)
    name = relative(path, context.folder)
    try:
        document = await read(path, context)
    except MissingError:
        return await creation(path, name, input.content)
    # A buffer that was just opened for a new file may hold one empty line.
    if document.text.strip("\r\n"):
        check_seen(document, name, context)
    content = input.content.removeprefix("\ufeff") if document.encoding != "utf-8" else input.content
    real_path = await real(path)
    return await work(len(document.text) + len(content), _rewritten, document, content, name, real_path)


def check_seen(document: Document, name: str, context: ToolContext) -> None:
    """Refuse to replace a text that the model does not know."""
    seen = context.session.seen.get(str(document.path))
    known = read_known(seen) if seen is not None else None
    if known is None or (known.of(document.digest) and known.lines == ()):
        raise StaleError(
            f"{name!r} exists, and you have not read all of it in this session. Nothing was changed. Read it "
            "first, or change a part of it with edit_file."
        )
    if not known.of(document.digest):
        raise StaleError(
            f"{name!r} changed since you read it. Nothing was changed. Read it again, so that no other "
            "change is lost."
        )
    total = len(split_lines(document.text))
    if not known.covers(total):
        pieces = ", ".join(f"{first}-{last}" for first, last in known.lines or ())
        raise StaleError(
            f"Of the {total} lines of {name!r} you have seen only {pieces} as a whole; the others would be "
            "lost. Nothing was changed. Read the rest first, or change a part of it with edit_file."
        )


async def creation(path: Path, name: str, content: str) -> Proposal:
    """A proposal to make a new file."""
    refuse_unwritable(content)
    refuse_placeholders(content, "")
    diff = await work(len(content), unified_diff, "", content, name, escape=True, new_file=True)
    return Proposal(
        title=f"Create {name}",
        edit=CreateFile(path=path, text=content, real_path=await real(path)),
        diff=diff.text,
        paths=(path,),
    )


def refuse_placeholders(added: str, existing: str) -> None:
    """Refuse text in which a comment stands for code."""
    if line := placeholder_in(added, existing):
        raise EditError(
            f"{line!r} stands for text instead of being it, and would take the place of that text. Nothing "
            "was changed. Write everything out, or change only a part with edit_file."
        )


def refuse_unwritable(added: str) -> None:
    """Refuse characters that no text file can hold, before they are in a buffer that cannot be saved."""
    if found := _UNWRITABLE.search(added):
        what = "a NUL character" if found[0] == "\0" else f"{found[0]!r}, half of a surrogate pair"
        raise EditError(f"The new text holds {what}, which no text file can hold. Nothing was changed.")


def _rewritten(document: Document, content: str, name: str, real_path: Path) -> Proposal:
    refuse_unwritable(content)
    refuse_placeholders(content, document.text)
    replacements = rewrite(document.text, content)
    if not replacements:
        raise EditError(f"{name!r} already holds exactly this text. Nothing was changed.")
    after = apply_replacements(document.text, replacements)
    return Proposal(
        title=f"Write {name}",
        edit=TextEdits(
            path=document.path,
            replacements=replacements,
            before=document.text,
            after=after,
            real_path=real_path,
        ),
        diff=unified_diff(document.text, after, name, escape=True).text,
        paths=(document.path,),
    )


def _subjects(input: Input) -> tuple[Subject, ...]:
    return (Subject(tool="write_file", kind="path", value=input.path),)


TOOL = Tool(
    name="write_file",
    description=(
        "Make a new file (folders too), or replace the whole text of a file that you have read. Give the "
        "complete text. For a change of a part use edit_file."
    ),
    input=Input,
    kind="edit",
    run=_run,
    subjects=_subjects,
    title=lambda input: f"Write {input.path}",
)
