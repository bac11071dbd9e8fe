"""A project with many agents, commands and skills of all families: each of them is read."""

from pathlib import Path

from magent_lsp.store.agents import load_agents
from magent_lsp.store.commands import load_commands
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.skills import load_skills
from magent_lsp.store.trust import TrustStore
from tests.support.many_files import many


def test_all_of_200_files_are_read_again(empty: Path, dirs: Dirs) -> None:
    ours = len(load_agents(empty, dirs, True).agents)
    many(empty)
    store = TrustStore(dirs)
    assert not store.is_trusted(empty)
    store.trust(empty, store.review(empty).digest)
    assert store.is_trusted(empty)
    assert len(load_agents(empty, dirs, True).agents) == ours + 70
    assert len(load_commands(empty, dirs, True).commands) > 70
    assert len(load_skills(empty, dirs, True).skills) == 62
