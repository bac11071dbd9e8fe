"""What all tests share."""

from typing import Final

import pytest
from hypothesis import HealthCheck, settings

# Time is no property: on a busy machine anything takes long.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

EVERYDAY: Final = frozenset(
    {
        "test_actions.py",
        "test_chat_guide.py",
        "test_commands.py",
        "test_guest_call.py",
        "test_permission_table.py",
        "test_runs.py",
    }
)
"""Of the tests that start processes of ours, those that the everyday loop keeps: one of each kind."""

LONG: Final = frozenset({"e2e", "headless"})
"""Folders of tests that start processes of ours."""


def pytest_configure(config: pytest.Config) -> None:
    """Leave out a warning of pydantic's that litellm brings about, and that says nothing about us."""
    config.addinivalue_line(
        "filterwarnings", "ignore:Accessing the .* attribute on the instance is deprecated"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most tests that start processes are of the long run: the everyday loop is to stay under 3 minutes."""
    for item in items:
        folders = item.path.relative_to(item.config.rootpath).parts
        if not LONG.isdisjoint(folders) and item.path.name not in EVERYDAY:
            item.add_marker(pytest.mark.slow)
