"""Reading everything again is quick enough to do after every change of a file."""

import time
from pathlib import Path

from magent_lsp.store.agents import load_agents
from magent_lsp.store.commands import load_commands
from magent_lsp.store.config import load_settings
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.skills import load_skills
from magent_lsp.store.trust import TrustStore

BODY = "Text of a prompt, as long as they are.\n" * 40


def many(folder: Path) -> None:
    """200 files: agents, commands and skills of all families."""
    head = (
        "---\nname: {name}\ndescription: Does {name}\ntools: Read, Grep, Bash(git *)\n"
        "permission:\n  bash:\n    'git *': ask\n---\n"
    )
    for number in range(70):
        for family in (".claude/agents", ".opencode/command"):
            path = folder / family / f"n{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head.format(name=f"n{number}") + BODY)
    for number in range(60):
        path = folder / ".agents" / "skills" / f"n{number}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\ndescription: Does {number}\n---\n" + BODY)


def test_a_reload_of_200_files_takes_less_than_100_ms(empty: Path, dirs: Dirs) -> None:
    many(empty)
    store = TrustStore(dirs)
    store.trust(empty, store.review(empty).digest)
    times = []
    for _ in range(4):
        start = time.process_time()
        trusted = store.is_trusted(empty)
        load_settings(dirs=dirs, folder=empty, trusted=trusted, client={}, environ={})
        assert len(load_agents(empty, dirs, trusted).agents) == 78
        assert len(load_commands(empty, dirs, trusted).commands) > 70
        assert len(load_skills(empty, dirs, trusted).skills) == 62
        times.append(time.process_time() - start)
    assert min(times) < 0.1
    assert trusted
