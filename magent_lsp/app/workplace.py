"""What runs of one client find there, apart from what only they need, which is loaded with the first one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magent_lsp.app.model_access import ModelAccess
from magent_lsp.core.ports import Editor, EventSink
from magent_lsp.core.ways import Ways
from magent_lsp.engine.gate import Gate
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.store.blobs import BlobStore
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.sessions import SessionStore

if TYPE_CHECKING:
    from magent_lsp.engine.run import Run


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """The parts of the app, and what it wants to be told."""

    dirs: Dirs
    environ: Mapping[str, str]
    editor: Editor
    gate: Gate
    access: ModelAccess
    sessions: SessionStore
    blobs: BlobStore
    sink: EventSink
    load: Callable[[Path | None], Snapshot]
    folders: Callable[[], tuple[Path, ...]]
    remember: Callable[[Sequence[Any], str], None]
    """Stores permission rules for good, with the reason."""
    settled: "Callable[[Run], None]"
    interactive: bool
    assume_yes: bool
    ways: Ways
