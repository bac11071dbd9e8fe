"""What was used on each day, over all sessions: one small file a day, appended to by every process."""

import contextlib
import json
import logging
import os
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from magent_lsp.core.messages import Usage
from magent_lsp.store.journal import private_folder
from magent_lsp.store.records import UsagePart, stamp

_log = logging.getLogger(__name__)

KEPT_DAYS: Final = 400


class Ledger:
    """The usage of days, in the person's own time zone."""

    def __init__(
        self, state: Path, now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    ) -> None:
        self.folder = state / "usage"
        self._now = now
        self._read: dict[date, tuple[int, Usage]] = {}
        """How far a day's file was read, and what it said."""
        self._told = False

    def add(self, usage: Usage, session_id: str) -> None:
        """Count one request; never raises: a full disk ends no run."""
        now = self._now()
        entry = {"time": stamp(now), "session": session_id}
        used = UsagePart.model_validate(usage).model_dump(by_alias=True, exclude_none=True)
        line = json.dumps({**entry, **used}).encode() + b"\n"
        path = self._path(now.date())
        try:
            private_folder(self.folder)
            new = not path.exists()
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)  # one write: lines of several processes do not mix
            finally:
                os.close(descriptor)
            if new:
                self._prune(now.date())
        except OSError as error:
            if not self._told:
                self._told = True
                _log.info("the usage of today cannot be written: %s", error)

    def today(self) -> Usage:
        """What was used today, by every process."""
        return self.day(self._now().date())

    def day(self, day: date) -> Usage:
        """What was used on a day; only what is new since the last look is read."""
        at, usage = self._read.get(day, (0, Usage()))
        try:
            with self._path(day).open("rb") as file:
                file.seek(at)
                data = file.read()
        except OSError:
            return usage
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            with contextlib.suppress(ValidationError):
                usage += UsagePart.model_validate_json(line).value()
        self._read[day] = (at + len(whole), usage)
        return usage

    def _path(self, day: date) -> Path:
        return self.folder / f"{day.isoformat()}.jsonl"

    def _prune(self, today: date) -> None:
        oldest = self._path(today - timedelta(days=KEPT_DAYS)).name
        for path in self.folder.glob("*.jsonl"):
            if path.name < oldest:
                path.unlink(missing_ok=True)
