"""`magent-lsp sessions`: past conversations, listed, read, searched and kept in order."""

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from json import dumps
from pathlib import Path

from magent_lsp.core.errors import CallerError, UserError
from magent_lsp.core.events import to_json
from magent_lsp.headless.start import find_session
from magent_lsp.headless.terminal import Terminal
from magent_lsp.llm.secrets import known_secrets, redact
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.listing import SessionInfo
from magent_lsp.store.sessions import SessionStore


def _store() -> SessionStore:
    secrets = known_secrets(os.environ)
    return SessionStore(Dirs.from_environment(os.environ).state, redact=lambda text: redact(text, secrets))


def _list(arguments: argparse.Namespace) -> int:
    terminal = Terminal.standard()
    infos = _store().list(None if arguments.all else Path.cwd())
    if arguments.json:
        terminal.data(dumps([to_json(info) for info in infos]))
    elif infos:
        _table(terminal, infos, folders=arguments.all)
    else:
        where = "" if arguments.all else " of this folder; --all lists those of every folder"
        terminal.line(f"There are no sessions{where}.")
    return 0


def _search(arguments: argparse.Namespace) -> int:
    terminal = Terminal.standard()
    found = _store().search(" ".join(arguments.text), None if arguments.all else Path.cwd())
    if arguments.json:
        terminal.data(dumps([to_json(each) for each in found]))
    for each in [] if arguments.json else found:
        terminal.data(f"{each.session.id}  {_plain(each.session.title)}")
        more = f" (and {each.count - 1} more)" if each.count > 1 else ""
        terminal.data(f"    {_plain(each.excerpt)}{more}")
    if not found:
        terminal.line(
            "Nothing was found." if arguments.all else "Nothing was found here; --all looks in every folder."
        )
    return 0 if found else 1


def _show(arguments: argparse.Namespace) -> int:
    terminal, store = Terminal.standard(), _store()
    terminal.answer(store.export(_find(store, arguments), "text"))
    terminal.fresh()
    return 0


def _export(arguments: argparse.Namespace) -> int:
    terminal, store = Terminal.standard(), _store()
    text = store.export(_find(store, arguments), arguments.format)
    if arguments.output is None:
        terminal.answer(text)
        terminal.fresh()
        return 0
    try:
        with arguments.output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{str(arguments.output)!r} exists; name a new file") from None
    terminal.line(f"Written to {arguments.output}")
    return 0


def _fork(arguments: argparse.Namespace) -> int:
    terminal, store = Terminal.standard(), _store()
    session = store.fork(_find(store, arguments), arguments.message)
    store.close(session)
    terminal.data(session.id)
    terminal.line(f"`magent-lsp chat --session {session.id}` goes on from there.", "dim")
    return 0


def _rename(arguments: argparse.Namespace) -> int:
    store, title = _store(), " ".join(arguments.title).strip()
    if not title:
        raise CallerError("the TITLE is empty; give one")
    found = _find(store, arguments)
    store.rename(found, title)
    Terminal.standard().line(f"{found} is called {title!r} now.")
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    store = _store()
    found = _find(store, arguments)
    title = next((_plain(info.title) for info in store.list() if info.id == found), "")
    store.delete(found)
    Terminal.standard().line(f"Deleted for good: {found}  {title}".rstrip())
    return 0


VERBS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "show": _show,
    "search": _search,
    "export": _export,
    "fork": _fork,
    "rename": _rename,
    "delete": _delete,
}
"""What `sessions` can do, by name; each returns the exit code."""


def _find(store: SessionStore, arguments: argparse.Namespace) -> str:
    return find_session(store, arguments.id, Path.cwd())


def _table(terminal: Terminal, infos: Iterable[SessionInfo], *, folders: bool) -> None:
    for info in infos:
        words = [info.id, _when(info.updated), info.agent, _size(info), _plain(info.title)]
        if info.parent:
            words.append(f"({'forked from' if info.forked else 'delegated by'} {info.parent})")
        if folders and info.folder:
            words.append(f"[{info.folder}]")
        terminal.data("  ".join(words))


def _when(stamp: str) -> str:
    """The moment in the time of this place."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return stamp


def _size(info: SessionInfo) -> str:
    """How long it is, and what it cost where that is known."""
    cost = info.usage.cost_usd if info.usage else None
    return f"{max(info.size // 1024, 1)} KB" + (f" ${cost:.4f}" if cost else "")


def _plain(text: str) -> str:
    return " ".join(text.split())
