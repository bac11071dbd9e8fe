"""How long it takes to read everything again after a change of a file: processor time, the median of 9.

python -m tests.benchmarks reload
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from magent_lsp.store.agents import load_agents
from magent_lsp.store.commands import load_commands
from magent_lsp.store.config import load_settings
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.skills import load_skills
from magent_lsp.store.trust import TrustStore
from tests.support.many_files import many

BOUND = 100.0
"""Milliseconds for 200 files."""


def main() -> int:
    """Print the figure; 1 if it is over its bound."""
    with tempfile.TemporaryDirectory() as home:
        dirs = Dirs.from_environment(
            {"MAGENT_CONFIG": f"{home}/config.yaml", "MAGENT_STATE_DIR": f"{home}/state"}
        )
        folder = Path(home, "project")
        folder.mkdir()
        many(folder)
        store = TrustStore(dirs)
        store.trust(folder, store.review(folder).digest)
        times = []
        for _ in range(9):
            start = time.process_time()
            trusted = store.is_trusted(folder)
            load_settings(dirs=dirs, folder=folder, trusted=trusted, client={}, environ={})
            load_agents(folder, dirs, trusted)
            load_commands(folder, dirs, trusted)
            load_skills(folder, dirs, trusted)
            times.append((time.process_time() - start) * 1000)
    median = statistics.median(times)
    over = median > BOUND
    print(f"200 files read again: {median:.0f} ms (bound {BOUND:g} ms){'  OVER' if over else ''}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
