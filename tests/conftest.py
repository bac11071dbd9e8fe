"""What all tests share."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Leave out two warnings of litellm, which say nothing about us: of pydantic, and of a cancelled call."""
    config.addinivalue_line(
        "filterwarnings", "ignore:Accessing the .* attribute on the instance is deprecated"
    )
    config.addinivalue_line(
        "filterwarnings",
        "ignore:coroutine 'OpenAIChatCompletion.async_streaming' was never awaited:RuntimeWarning",
    )
