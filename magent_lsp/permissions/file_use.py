"""A file that a command names, and what it does with it."""

from dataclasses import dataclass

from magent_lsp.permissions.words import Word


@dataclass(frozen=True, kw_only=True)
class FileUse:
    """A file that a command names."""

    word: Word
    write: bool
    read: bool
    deep: bool = False
    """Whether everything in a folder is read."""
    peers: tuple[Word, ...] = ()
    """Where all these are folders, everything in it is read."""
    loose: bool = False
    """Whether it only counts where git finds no repository, and all the peers are there."""
