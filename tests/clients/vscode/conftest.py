"""Fixtures of the tests in VS Code."""

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.vscode.build import install, make_vsix
from tests.support.editors import Desk, missing, need

if importlib.util.find_spec("playwright") is None and os.environ.get("CI", "").lower() != "true":
    # The everyday tests do without it; these could not even be collected.
    collect_ignore = ["test_chat.py", "test_chat_documents.py", "test_edits.py", "test_stock.py"]

CHROMIUM = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, built and packed."""
    return make_vsix(tmp_path_factory.mktemp("vsix"))


@pytest.fixture(scope="session")
def extensions(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions in which ours is installed."""
    folder = tmp_path_factory.mktemp("extensions") / "extensions"
    install(vsix, folder)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window.

    Of a module, not of the session: an event loop runs in this thread as long as Playwright does, and a test
    with one of its own may come next.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright", "pip install playwright")
    chromium = need("chromium", "apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        yield browser
        browser.close()


@pytest.fixture
def open_window(
    desk: Desk, extensions: Path, browser: Any, pictures: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Opens VS Code at the desk: `open_window({"magentLsp.model": …})`; our server runs when it returns."""
    from tests.clients.vscode.window import CodeServer, Window

    closing: list[Callable[[], None]] = []
    windows: list[Window] = []

    def start(settings: Mapping[str, Any] | None = None, *, ready: bool = True) -> Window:
        server = CodeServer(desk, extensions, tmp_path / f"data-{len(windows)}", dict(settings or {}))
        closing.append(server.close)
        window = Window(browser, server, desk, pictures)
        closing.append(window.close)
        windows.append(window)
        if ready:
            window.wait_ready()
        return window

    yield start
    for number, window in enumerate(windows):
        window.picture(f"last-{request.node.name}-{number}")
    for close in reversed(closing):
        close()
