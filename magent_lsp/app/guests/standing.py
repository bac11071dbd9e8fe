"""How it is with agents of other programs, for the doctor."""

from pathlib import Path

from magent_lsp.engine.report import Line, Section
from magent_lsp.mcp.doors import Door, doors
from magent_lsp.mcp.load import INSTALL, installed


def sections(folder: Path, *, wanted: bool) -> tuple[Section, ...]:
    """Which editors let them in; nothing where nobody wants that. Reads files."""
    found = doors(folder)
    if not wanted and not found:
        return ()
    lines = [_line(door) for door in found]
    if not found:
        lines.append(Line(name="serveMcp", state="ok", detail="on; no editor runs that lets them in"))
    if not installed():
        detail = "`magent-lsp mcp` cannot start"
        lines.append(Line(name="library", state="warn", detail=detail, mend=f"It needs: {INSTALL}"))
    return (Section(title="Other agents", lines=tuple(lines)),)


def _line(door: Door) -> Line:
    folders = ", ".join(str(folder) for folder in door.folders)
    return Line(name="let in", state="ok", detail=f"{door.words}: {folders}")
