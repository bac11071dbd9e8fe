"""Fixtures of the tests in VS Code."""

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.vscode.build import install, make_vsix
from tests.clients.vscode.server import CodeServer
from tests.support.editors import Desk, missing, need

if importlib.util.find_spec("playwright") is None and os.environ.get("CI", "").lower() != "true":
    # The everyday tests do without it; these could not even be collected.
    collect_ignore = [
        f"test_{name}.py"
        for name in (
            *("chat", "chat_documents", "edits", "folders", "guests"),
            *("questions", "requests", "scoped", "stock"),
        )
    ]

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


@pytest.fixture(scope="module")
def code_server(extensions: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    """VS Code with these extensions; every window of a module finds it as if none had been there before."""
    server = CodeServer(extensions, tmp_path_factory.mktemp("code-server"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """The browser's tab in which the windows of a module are, one after the other."""
    from tests.clients.vscode.window import Tab

    tab = Tab(browser)
    yield tab
    tab.drop()


@pytest.fixture
def open_window(
    desk: Desk,
    code_server: CodeServer,
    tab: Any,
    pictures: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Any]]:
    """Opens VS Code at the desk: `open_window({"magentLsp.model": …})`; our server runs when it returns.

    A second window takes the place of the first. `program` is where our server is installed, if not on the
    PATH of VS Code; None is nowhere. With `ready=False` it is not waited for. A `workspace` is a file that
    names several folders.
    """
    from tests.clients.vscode.window import Window

    windows: list[Window] = []

    def leave() -> None:
        if not windows:
            return
        try:
            windows[-1].picture(f"last-{request.node.name}-{len(windows) - 1}")
            windows[-1].close()
        except BaseException:
            tab.drop()  # the next test is not to suffer
            raise

    def start(
        settings: Mapping[str, Any] | None = None,
        *,
        ready: bool = True,
        program: Path | None = code_server.program,
        workspace: Path | None = None,
    ) -> Window:
        leave()
        url = code_server.prepare(desk, settings or {}, program, workspace)
        windows.append(Window(tab.page(), url, desk, pictures))
        if ready:
            windows[-1].wait_ready()
        return windows[-1]

    yield start
    leave()
