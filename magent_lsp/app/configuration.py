"""What is configured for each workspace folder, read once and kept until it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from magent_lsp.core.config import Settings
from magent_lsp.core.request import RunRequest
from magent_lsp.engine.snapshot import Snapshot, Sources, load_snapshot
from magent_lsp.store.files import Texts
from magent_lsp.store.problems import Problem


class Configuration:
    """The snapshots of all folders."""

    def __init__(self, sources: Sources, folders: Sequence[Path]) -> None:
        self.folders: tuple[Path, ...] = tuple(folders)
        self._sources = sources
        self._snapshots: dict[Path | None, Snapshot] = {}
        self._last: dict[Path | None, Snapshot] = {}
        """What was read before the last reload: broken files keep their state from there."""

    def snapshot(self, folder: Path | None = None) -> Snapshot:
        """Config and registries of a folder; None: of the first."""
        folder = folder or (self.folders[0] if self.folders else None)
        return self._snapshots.get(folder) or self.load(folder)

    def load(self, folder: Path | None) -> Snapshot:
        """Read a folder's config anew; may be called in a thread."""
        snapshot = load_snapshot(folder, self._sources, self._last.get(folder))
        self._last[folder] = snapshot
        self._snapshots[folder] = snapshot
        return snapshot

    def forget(
        self, *, client_settings: Mapping[str, Any] | None = None, folders: Sequence[Path] | None = None
    ) -> None:
        """Forget what was read; runs that have begun keep their snapshot."""
        if folders is not None:
            self.folders = tuple(folders)
        if client_settings is not None:
            self._sources = replace(self._sources, client=client_settings)
        self._snapshots.clear()

    @property
    def settings(self) -> Settings:
        """The settings of the first folder."""
        return self.snapshot().settings

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong in the files that people wrote, in all folders."""
        every = [p for folder in self.folders or (None,) for p in self.snapshot(folder).problems]
        return tuple(dict.fromkeys(every))

    def problems_with(self, texts: Texts) -> tuple[Problem, ...]:
        """The same with these texts in place of what is on disk; nothing of them comes into force."""
        every: list[Problem] = []
        for folder in self.folders or (None,):
            before = self._snapshots.get(folder) or self._last.get(folder)
            every += load_snapshot(folder, self._sources, before, texts).problems
        return tuple(dict.fromkeys(every))

    @property
    def trusted(self) -> bool:
        """Whether the config of every folder is trusted."""
        return all(self.snapshot(folder).trusted for folder in self.folders)

    def folder_of(self, request: RunRequest) -> Path:
        """The workspace folder that a request belongs to."""
        if request.folder is not None:
            return request.folder
        if request.focus is not None:
            holder = self.holder(request.focus.path)
            if holder is not None:
                return holder
            if not self.folders:
                return request.focus.path.parent
        return self.folders[0] if self.folders else Path.cwd()

    def holder(self, path: Path) -> Path | None:
        """The innermost workspace folder in which a path lies."""
        holders = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(holders, key=lambda folder: len(folder.parts), default=None)
