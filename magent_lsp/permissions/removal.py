"""Removals that no one means: the root, the home folder, the workspace or what is above it."""

from typing import Final

from magent_lsp.permissions.line import Command
from magent_lsp.permissions.place import Map, names_of

REMOVERS: Final = frozenset({"rm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put"})


def critical_removal(name: str, command: Command, map: Map) -> str | None:
    """Why a removal is always asked, as a sentence; None if it is an ordinary one."""
    if name not in REMOVERS:
        return None
    for each in command.words[1:]:
        text = each.text
        if text.startswith("-"):
            continue
        if not each.exact:
            return f"`{text[:60]}` is only known when it runs; a removal of it is always asked."
        if not each.wild:
            targets = [text]
        else:
            last = text.rstrip("/").rpartition("/")
            targets = [last[0] or (last[1] or ".")] if not last[2].strip("*.?") else []
        for target in targets:
            for folder in command.folders:
                if (what := _critical(target, folder, map)) is not None:
                    return f"A removal of `{text[:60]}`, {what}, is always asked."
    return None


def _critical(target: str, folder: str | None, map: Map) -> str | None:
    located = map.locate(target, folder)
    home = {names_of(str(map.place.home)), names_of(map.real(str(map.place.home)) or str(map.place.home))}
    for form in located.forms:
        names = form.item.absolute[0]
        if not names:
            return "the root of the file system"
        if any(each[: len(names)] == names for each in home):
            return "the home folder or one above it"
        if any(root[: len(names)] == names for roots in map.roots for root in roots):
            return "the workspace or a folder above it"
    return None
