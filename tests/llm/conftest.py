"""Models and a loopback server for them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from magent_lsp.llm.load import Models
from tests.support.model_server import ModelServer
from tests.support.talk import Talk


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def models(tmp_path: Path) -> AsyncIterator[Models]:
    answer = Models(folder=tmp_path)
    yield answer
    await answer.close()


@pytest.fixture
def talk(models: Models, server: ModelServer) -> Talk:
    return Talk(models, server)
