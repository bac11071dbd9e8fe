"""VS Code in a browser, driven as a person drives it: keys, clicks and what can be seen."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, ElementHandle, Frame, Locator, Page, TimeoutError

from tests.clients.vscode.build import entry
from tests.support.editors import Desk, wait_until

SETTINGS: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.tips.enabled": False,
    "telemetry.telemetryLevel": "off",
    "chat.disableAIFeatures": True,
    "chat.commandCenter.enabled": False,
    "files.autoSave": "off",
    "git.enabled": False,
    "extensions.autoUpdate": False,
    "editor.minimap.enabled": False,
    "editor.fontSize": 13,
    "window.commandCenter": False,
}


class CodeServer:
    """The process that serves VS Code for a desk."""

    def __init__(self, desk: Desk, extensions: Path, folder: Path, settings: dict[str, Any]) -> None:
        given = {**SETTINGS, "magentLsp.server.command": desk.server, **settings}
        # Where VS Code looks for a person's settings changed between its versions.
        for place in ("User", "Machine"):
            (folder / place).mkdir(parents=True)
            (folder / place / "settings.json").write_text(json.dumps(given))
        command = ["node", str(entry()), "--auth", "none", "--bind-addr", "127.0.0.1:0"]
        command += ["--user-data-dir", str(folder), "--extensions-dir", str(extensions)]
        command += ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
        command += ["--disable-getting-started-override", str(desk.root)]
        node = shutil.which("node")
        assert node is not None
        env = {**desk.env, "EXTENSIONS_GALLERY": '{"serviceUrl":""}'}
        self._log = folder / "code-server.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [node, *command[1:]], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.url = self._address()

    def _address(self) -> str:
        found: list[str] = []

        def listening() -> bool:
            text = self._log.read_text()
            assert self._process.poll() is None, text
            found[:] = re.findall(r"listening on (http://\S+?)/?\s", text)
            return bool(found)

        wait_until(listening, 30, "code-server listens")
        return found[0]

    def close(self) -> None:
        """End it and what it started."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Window:
    """A window with a workspace, its editor, chat and status bar."""

    def __init__(self, browser: Browser, server: CodeServer, desk: Desk, pictures: Path) -> None:
        self.desk = desk
        self._pictures = pictures
        self._context = browser.new_context(viewport={"width": 1280, "height": 800})
        self._context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(40_000)
        self.page.goto(f"{server.url}/?folder={quote(str(desk.root))}")
        self.page.locator(".monaco-workbench").wait_for()

    def close(self) -> None:
        """Leave without being asked whether to save."""
        self._context.close()

    # -- doing --------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Press keys, as Playwright names them."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Type a text where the cursor is."""
        self.page.keyboard.type(text)

    def quick_input(self, key: str) -> Locator:
        """The box at the top that a key opens."""
        box = self.page.locator(".quick-input-widget input[type=text]")
        for _ in range(10):  # a view that is just being made swallows keys
            self.press(key)
            try:
                box.wait_for(timeout=3000)
                break
            except TimeoutError:
                continue
        return box

    def run(self, title: str) -> None:
        """Run a command by its title in the palette."""
        self.quick_input("F1").fill(f">{title}")
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=title).first
        row.wait_for()
        self.press("Enter")
        row.wait_for(state="hidden")

    def open(self, name: str) -> None:
        """Open a file of the workspace and click into it."""
        self.quick_input("Control+p").fill(name)
        self.page.locator(
            ".quick-input-list .monaco-list-row", has_text=name.rpartition("/")[2]
        ).first.wait_for()
        self.press("Enter")
        self.tab(name.rpartition("/")[2]).wait_for()
        self.page.locator(".editor-instance .view-line").first.click()

    def select_lines(self, first: int, last: int) -> None:
        """Select whole lines, from 1."""
        self.quick_input("Control+g").fill(f":{first}")
        self.press("Enter")
        self.page.locator(".quick-input-widget").wait_for(state="hidden")
        self.press("Home", *["Shift+ArrowDown"] * (last - first), "Shift+End")

    def action(self, title: str) -> None:
        """Choose a code action from the menu of Ctrl+."""
        row = self.actions().filter(has_text=re.compile(f"^{re.escape(title)}$"))
        for _ in range(20):  # the server may not have begun yet
            self.press("Control+.")
            try:
                row.first.wait_for(timeout=1500)
                break
            except TimeoutError:
                self.press("Escape")
        box = row.first.bounding_box()
        assert box is not None, f"there is no action {title!r}"
        # Something covers the menu until the pointer has moved.
        self.page.mouse.move(box["x"] + 20, box["y"] + 5)
        self.page.mouse.move(box["x"] + 30, box["y"] + 9)
        row.first.click()

    def answer_box(self, text: str, title: str) -> None:
        """Fill in the input box that has a title."""
        box = self.page.locator(".quick-input-widget", has_text=title)
        box.wait_for()
        box.locator("input[type=text]").fill(text)
        self.press("Enter")
        box.wait_for(state="hidden")

    def picture(self, name: str) -> Path:
        """Save what is seen."""
        path = self._pictures / f"{name}.png"
        self.page.screenshot(path=path)
        return path

    # -- seeing -------------------------------------------------------------------------------------

    def tab(self, name: str) -> Locator:
        """The tab of a file."""
        return self.page.locator(f".tab[data-resource-name='{name}']")

    def diff_tab(self) -> Locator:
        """The tab of an edit that waits for permission."""
        return self.page.locator(".tab[aria-label*='accept this edit?']")

    def dirty(self, name: str) -> bool:
        """Whether a file has unsaved changes."""
        return "dirty" in (self.tab(name).get_attribute("class") or "")

    def actions(self) -> Locator:
        """The rows of the menu of code actions."""
        return self.page.locator(".action-widget .monaco-list-row.action")

    def text(self) -> str:
        """The whole text of the active editor, as a person copies it."""
        self.page.locator(".editor-instance .view-line").first.click()
        self.press("Control+a", "Control+c", "ArrowLeft")
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def wait_text(self, wanted: str, seconds: float = 20) -> str:
        """The text of the active editor, once something is in it."""
        last = ""
        end = time.monotonic() + seconds
        while wanted not in last:
            assert time.monotonic() < end, f"not within {seconds} s: {wanted!r} in\n{last}"
            last = self.text()
        return last

    @property
    def status(self) -> Locator:
        """Our item in the status bar."""
        return self.page.locator(".statusbar-item[id='magent-lsp.magent-lsp.magentLsp.status']")

    def wait_ready(self) -> None:
        """Wait until our server runs."""
        running = self.status.locator(".codicon-sparkle")
        try:
            running.wait_for(timeout=45_000)
        except TimeoutError:  # on a busy machine VS Code may miss its own extension host
            self.page.reload()
            running.wait_for(timeout=60_000)

    @property
    def chat(self) -> "Chat":
        """The chat view, once it is there."""
        outer = self.page.locator("iframe.webview.ready").first.element_handle()
        inner = content(outer).wait_for_selector("iframe#active-frame")
        assert inner is not None
        frame = content(inner)
        frame.locator("#agent:not(:empty)").wait_for(state="attached")  # it knows what goes on
        return Chat(frame)


class Chat:
    """The page inside of the chat view."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def item(self, kind: str, text: str | None = None) -> Locator:
        """Items of a kind: prompt, text, tool, end, …"""
        return self.frame.locator(f".item.{kind}", has_text=text)

    def button(self, title: str) -> Locator:
        """A button by its whole title."""
        return self.frame.get_by_role("button", name=title, exact=True)

    def send(self, text: str) -> None:
        """Write and send a message."""
        self.frame.locator("#input").fill(text)
        self.frame.locator("#input").press("Enter")


def content(element: ElementHandle) -> Frame:
    """The frame inside of an element."""
    frame = element.content_frame()
    assert frame is not None
    return frame
