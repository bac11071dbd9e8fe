"""What all tests share."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Leave out a warning of litellm about pydantic, which it silences itself outside of pytest."""
    config.addinivalue_line(
        "filterwarnings", "ignore:Accessing the .* attribute on the instance is deprecated"
    )
