"""`python -m magent_lsp`, the same as `magent-lsp`."""

import sys
from pathlib import Path


def _leave_this_folder() -> None:
    """Take the current folder off the path, where `-m` puts it first.

    It may be a repository that nobody trusts: its `litellm.py` would be imported in the place of the library.
    """
    here = str(Path.cwd())
    if sys.path and sys.path[0] in ("", here) and Path(here) != Path(__file__).parents[1]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_this_folder()
    from magent_lsp.cli import main

    main()
