"""Sessions on disk: made, resumed, listed, searched, forked, renamed, deleted, exported."""

import hashlib
import json
import logging
import os
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from magent_lsp.core.errors import UnknownId, UserError
from magent_lsp.core.messages import Message, SystemMessage, Usage, UserMessage
from magent_lsp.core.session import Journal, RecordKind, Session
from magent_lsp.store import export, listing, transcript
from magent_lsp.store.journal import JournalFile, private_folder
from magent_lsp.store.ledger import Ledger
from magent_lsp.store.listing import Found, SessionInfo
from magent_lsp.store.lock import Lock, SessionLocked
from magent_lsp.store.records import EditRecord, GrantRecord, MetaRecord, encode
from magent_lsp.store.transcript import Transcript

_log = logging.getLogger(__name__)

_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-z]{4,16}")
_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"

Normalise = Callable[[Sequence[Message]], list[Message]]


def _unchanged(messages: Sequence[Message]) -> list[Message]:
    return [*messages]


@dataclass(kw_only=True)
class _Open:
    session: Session
    file: JournalFile
    lock: Lock | None
    titled_at: int = 0
    """Length of the file, in bytes written by us, when its title was last written."""


class SessionStore:
    """All sessions of a user; one process writes to a session at a time.

    Methods read and write files: call them in a thread where an event loop must not wait. The journals of
    open sessions are quick enough for the loop itself, and never raise.
    """

    def __init__(
        self,
        state: Path,
        *,
        normalise: Normalise = _unchanged,
        tell: Callable[[str], None] = _log.warning,
        redact: Callable[[str], str] | None = None,
        save_reasoning: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`normalise` mends a loaded history; `tell` gets a sentence about each trouble with a file."""
        self.folder = state / "sessions"
        self.ledger = Ledger(state)
        """What each day used, over all sessions."""
        self.redact = redact
        self.save_reasoning = save_reasoning
        self._normalise = normalise
        self._tell = tell
        self._told = False
        self._now = now
        self._open: dict[str, _Open] = {}
        self._guard = threading.RLock()
        """Held while sessions are opened and closed, in whatever threads; never during an fsync."""

    def create(
        self, folder: Path, agent: str, model: str | None = None, parent: str | None = None
    ) -> Session:
        """A new session; it works in memory where nothing can be written, and says so."""
        return self._begin(MetaRecord(folder=str(folder), agent=agent, model=model, parent=parent)).session

    def open(self, session_id: str, *, read_only: bool = False) -> Session:
        """A session to go on with; the same object if it is open already.

        UnknownId if there is none; SessionLocked if another process writes to it: fork it, or open it
        `read_only`, which journals nothing. Rules that loosen are not restored.
        """
        with self._guard:
            if entry := self._open.get(session_id):
                return entry.session
            path = self.path(session_id)
            lock = None if read_only else self._lock(path)
            try:
                session = self._session(session_id, self._read(path))
            except BaseException:
                if lock:
                    lock.release()
                raise
            if not read_only:
                file = JournalFile(path, self._disk_trouble)
                session.journal = self._journal(file, session_id)
                self._open[session_id] = _Open(session=session, file=file, lock=lock)
            return session

    def list(self, folder: Path | None = None) -> Sequence[SessionInfo]:
        """Sessions in which something was said, the last used first; of one workspace folder or of all."""
        infos = (listing.info(path) for path in self._files(folder))
        return sorted((i for i in infos if i and not i.empty), key=lambda i: (i.updated, i.id), reverse=True)

    def last(self, folder: Path, fits: Callable[[str], bool]) -> str | None:
        """The last used session of a workspace folder whose agent fits; None if there is none."""
        paths = {path: path.stat().st_mtime for path in self._files(folder) if path.exists()}
        for path in sorted(paths, key=lambda path: paths[path], reverse=True):
            about = listing.info(path)
            if about is None or about.empty or (about.parent is not None and not about.forked):
                continue
            if fits(about.agent):
                return about.id
        return None

    def search(self, text: str, folder: Path | None = None, limit: int = 50) -> Sequence[Found]:
        """Sessions whose prompts or answers hold the text, newest first."""
        return listing.search(self._files(folder), text, limit)

    def fork(self, session_id: str, message_id: str | None = None) -> Session:
        """A new session that begins as another one was after a message (None: as it is now).

        It gets the other's history, todos and title, but no grants. The other may be in use elsewhere.
        """
        source = self.path(session_id)
        old = self._read(source)
        lines = transcript.fork_lines(transcript.lines_of(source), message_id)
        if lines is None:
            raise UnknownId(
                f"Session {session_id!r} has no message {message_id!r}; export it to see their ids."
            )
        forked = transcript.of_lines(lines, source)
        last = message_id or next(
            (m.id for m in reversed(old.messages) if not isinstance(m, SystemMessage)), ""
        )
        meta = old.meta.model_copy(update={"parent": session_id, "forked_at": last})
        entry = self._begin(meta, forked)
        for line in lines:
            entry.file.append(line)
        if old.title:
            entry.session.rename(f"{old.title} (fork)")
        entry.file.sync()
        return entry.session

    def rename(self, session_id: str, title: str) -> None:
        """Give a session another title; SessionLocked if it is in use elsewhere."""
        if entry := self._open.get(session_id):
            entry.session.rename(title)
        else:
            self.add(session_id, "title", title)

    def delete(self, session_id: str) -> None:
        """Remove a session for good; SessionLocked if it is in use elsewhere."""
        path = self.path(session_id)
        if entry := self._open.get(session_id):
            self.close(entry.session)
        lock = self._lock(path)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"Session {session_id!r} cannot be deleted: {error.strerror}.") from error
        finally:
            if lock:
                lock.release()

    def export(
        self, session_id: str, format: str = "markdown", redact: Callable[[str], str] | None = None
    ) -> str:
        """The whole session as `markdown`, `json` or `text`, without secrets if a redactor is given."""
        written = self._read(self.path(session_id))
        return export.export(written, session_id, format, redact or self.redact)

    def messages(self, session_id: str) -> Sequence[Message]:
        """All that was ever said in a session, also what was compacted away or cleared."""
        return self._read(self.path(session_id)).messages

    def edits(self, session_id: str) -> Sequence[EditRecord]:
        """The edits of a session's runs in order, with what was undone and redone."""
        return self._read(self.path(session_id)).edits

    def session_of_run(self, run_id: str) -> str | None:
        """The session in which a run changed files; None if there is none."""
        needle = b'"runId":' + json.dumps(run_id).encode()
        return next((path.stem for path in self._files(None) if listing.holds(path, needle)), None)

    def add(self, session_id: str, kind: RecordKind, value: Any) -> None:
        """Write one record to a session that may not be open; SessionLocked if it is in use elsewhere."""
        entry = self._open.get(session_id)
        session = entry.session if entry else self.open(session_id)
        session.journal(kind, value)
        if entry is None:
            self.close(session)

    def note(self, session_id: str, write: Callable[[Session], UserMessage]) -> None:
        """Add a message to a session, which may not be open, if anything was said in it yet."""
        entry = self._open.get(session_id)
        session = entry.session if entry else self.open(session_id)
        if session.messages:
            session.append(write(session))
        if entry is None:
            self.close(session)

    def sync(self, session: Session) -> None:
        """Bring a session to the disk; for the end of a turn, in a thread."""
        if entry := self._open.get(session.id):
            if session.title and entry.file.written - entry.titled_at > listing.PIECE // 2:
                # So that a list finds them in the last piece.
                session.journal("title", session.title)
                if session.usage != Usage():
                    session.journal("usage", {"usage": Usage(), "total": session.usage, "of": session.id})
                entry.titled_at = entry.file.written
            entry.file.sync()

    def close(self, session: Session) -> None:
        """Let others write to a session; one that nobody used leaves no file.

        One that was only begun, and cancelled before its prompt was written down, can still be gone on with.
        """
        self.sync(session)
        with self._guard:
            entry = self._open.pop(session.id, None)
            if entry is None:
                return
            entry.file.close()
            about = listing.info(entry.file.path)
            if about is not None and about.empty and not session.messages and not session.title:
                entry.file.path.unlink(missing_ok=True)
            if entry.lock:
                entry.lock.release()

    def close_all(self) -> None:
        """Close every open session."""
        for entry in tuple(self._open.values()):
            self.close(entry.session)

    def path(self, session_id: str) -> Path:
        """The file of a session; UnknownId if there is none."""
        if entry := self._open.get(session_id):
            return entry.file.path
        if _ID.fullmatch(session_id):
            for path in self.folder.glob(f"*/{session_id}.jsonl"):
                return path
        raise UnknownId(f"There is no session {session_id!r}; list them to see their ids.")

    def _files(self, folder: Path | None) -> Sequence[Path]:
        return listing.files(self.folder, workspace_name(folder) if folder else None)

    def _read(self, path: Path) -> Transcript:
        try:
            written = transcript.read(path)
        except OSError as error:
            raise UserError(f"Session {path.stem!r} cannot be read: {error.strerror}.") from error
        for problem in written.problems:
            self._tell(str(problem))
        return written

    def _begin(self, meta: MetaRecord, written: Transcript | None = None) -> _Open:
        """A new session with its file, its lock and its first record."""
        path, lock = self._new_path(self.folder / workspace_name(Path(meta.folder or "")))
        created = self._now().isoformat(timespec="seconds").replace("+00:00", "Z")
        meta = meta.model_copy(update={"id": path.stem, "created": created})
        written = written or Transcript(path=path)
        written.meta = meta
        session = self._session(path.stem, written)
        file = JournalFile(path, self._disk_trouble)
        session.journal = self._journal(file, session.id)
        session.journal("meta", meta)
        self._open[session.id] = entry = _Open(session=session, file=file, lock=lock)
        return entry

    def _new_path(self, workspace: Path) -> tuple[Path, Lock | None]:
        """A path that no session has, locked; no lock where nothing can be written."""
        while True:
            tail = "".join(secrets.choice(_LETTERS) for _ in range(4))
            path = workspace / f"{self._now():%Y%m%d-%H%M%S}-{tail}.jsonl"
            try:
                private_folder(workspace)
                lock = Lock(path.with_suffix(".lock"))
                if not path.exists():
                    return path, lock
                lock.release()
            except SessionLocked:
                continue
            except OSError:
                return path, None  # the journal tells of it

    def _disk_trouble(self, text: str) -> None:
        """A disk that is full concerns every session, and is told once."""
        if not self._told:
            self._told = True
            self._tell(text)

    def _lock(self, path: Path) -> Lock | None:
        try:
            return Lock(path.with_suffix(".lock"))
        except OSError:
            return None

    def _session(self, session_id: str, written: Transcript) -> Session:
        meta = written.meta
        if meta.folder is None:
            raise UserError(
                f"Session {session_id!r} cannot go on: its first record is damaged. "
                "Export it to see what was said."
            )
        return Session(
            id=session_id,
            folder=Path(meta.folder),
            agent=meta.agent or "",
            passing=bool(meta.passing),
            model=meta.model,
            title=written.title,
            created=meta.created or meta.time,
            parent=meta.parent,
            messages=self._normalise(written.view),
            todos=written.todos,
            seen=written.seen,
            skills=written.skills,
            grants=_tightening(written.grants),
            usage=written.usage,
        )

    def _journal(self, file: JournalFile, session_id: str) -> Journal:
        def journal(kind: RecordKind, value: Any) -> None:
            if kind == "usage" and not value["of"]:
                self.ledger.add(value["usage"], session_id)
            try:
                line = encode(kind, value, self._now(), reasoning=self.save_reasoning, redact=self.redact)
            except Exception:  # a journal never raises: what it cannot write must not end a run
                _log.exception("a %s record cannot be written to %s", kind, file.path)
            else:
                file.append(line)

        return journal


def workspace_name(folder: Path) -> str:
    """The folder of a workspace's sessions: readable, and one for each real path."""
    real = os.path.normcase(os.path.realpath(folder))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(real).name)[:40].strip(".-") or "root"
    return f"{name}-{hashlib.sha256(real.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _tightening(grants: Sequence[GrantRecord]) -> list[Any]:
    """The rules that a resumed session keeps: what a person allowed once is not allowed for ever."""
    from magent_lsp.permissions.rules import Rule, Source

    return [
        Rule(tool=g.tool, pattern=g.pattern, verdict="deny", source=Source(name=g.source or "this session"))
        for g in grants
        if g.verdict == "deny"
    ]
