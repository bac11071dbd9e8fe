"""Buttons above the last heading of a chat document, and what can be folded in it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from magent_lsp.core.document import line_starts, position_at, split_lines
from magent_lsp.lsp.chat.desk import is_chat
from magent_lsp.lsp.chat.document import LONG, places_of
from magent_lsp.lsp.chat.fences import code_lines
from magent_lsp.lsp.chat.marks import is_ours

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def lenses(edge: "Edge", uri: str) -> list[types.CodeLens]:
    """`Send` at the last heading of the person, or `Cancel` while an answer is written."""
    text = edge.open_text(uri) if is_chat(uri) else None
    if text is None:
        return []
    line = await edge.in_thread(_last_of_mine, text) if len(text) >= LONG else _last_of_mine(text)
    place = types.Position(line, 0)
    run_id = edge.chats.run_of(uri)
    if run_id is None:
        command = types.Command(title="Send", command="magent.send", arguments=[{"uri": uri}])
    elif run_id:
        command = types.Command(title="Cancel", command="magent.cancel", arguments=[{"runId": run_id}])
    else:
        return []
    return [types.CodeLens(range=types.Range(place, place), command=command)]


def _last_of_mine(text: str) -> int:
    """The line of the person's last heading."""
    mine = [place for place in places_of(text) if place.who == "you"]
    return position_at(text, mine[-1].at).line if mine else 0


async def folds(edge: "Edge", uri: str) -> list[types.FoldingRange]:
    """The parts of a chat document, and the lines about tools in them."""
    text = edge.open_text(uri) if is_chat(uri) else None
    if text is None:
        return []
    return await edge.in_thread(_folds, text) if len(text) >= LONG else _folds(text)


def _folds(text: str) -> list[types.FoldingRange]:
    lines, starts = split_lines(text), line_starts(text)
    found = []
    for part in places_of(text):
        first = position_at(text, part.at, starts).line
        last = _last_line(lines, first, position_at(text, part.end, starts).line)
        if last > first:
            found.append(types.FoldingRange(first, last, kind=types.FoldingRangeKind.Region))
    return [*found, *_tools(lines)]


def _last_line(lines: Sequence[str], first: int, end: int) -> int:
    """The last line of a part that is not blank."""
    last = min(end, len(lines)) - 1
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _tools(lines: Sequence[str]) -> Iterator[types.FoldingRange]:
    """Neighbouring lines about tools are one fold, and each tool's own lines are one in it."""
    code = code_lines(lines)
    group: list[int] = []
    tool: int | None = None
    for number in range(len(lines) + 1):
        ours = number < len(lines) and not code[number] and is_ours(lines[number], after_ours=bool(group))
        begins = ours and is_ours(lines[number], after_ours=False)
        if tool is not None and (begins or not ours):
            if number - 1 > tool > group[0]:
                yield _fold(tool, number - 1)
            tool = None
        if begins:
            tool = number
        if ours:
            group.append(number)
        elif group:
            if len(group) > 1:
                yield _fold(group[0], group[-1])
            group = []


def _fold(first: int, last: int) -> types.FoldingRange:
    return types.FoldingRange(first, last, kind=types.FoldingRangeKind.Comment)
