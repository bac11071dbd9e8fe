"""VS Code in a browser, driven as a person drives it: keys, clicks and what can be seen."""

import itertools
import re
import time
from pathlib import Path

from playwright.sync_api import Browser, ElementHandle, Frame, Locator, Page, TimeoutError

from tests.support.editors import Desk, wait_until

SECONDS = 60
"""What happens at all happens within these, also on a machine that does much besides."""


MARKED = """() => {
  const editor = document.querySelector(".editor-instance");
  const tops = new Map([...editor.querySelectorAll(".view-line")].map((line) => [line.style.top, line]));
  const label = (line) => [...line.querySelectorAll("[class*=ced-]")]
    .map((part) => getComputedStyle(part, "::after").content.replaceAll('"', ""))
    .find((text) => text && text !== "none") ?? "";
  return [...editor.querySelectorAll(".view-overlays > div")]
    .filter((row) => row.querySelector(".cdr[class*=ced-]"))
    .sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))
    .map((row) => tops.get(row.style.top))
    .filter((line) => line)
    .map((line) => [line.textContent.replaceAll("\\xa0", " "), label(line)]);
}"""
"""Each line with a decoration of an extension over its whole width: its text, and what stands behind it."""


class Tab:
    """A tab of a browser, for one window after the other: what the first has loaded, the next need not."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    def page(self) -> Page:
        """The tab, made if there is none."""
        if self._page is None:
            context = self._browser.new_context(viewport={"width": 1280, "height": 800})
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            self._page = context.new_page()
            self._page.set_default_timeout(SECONDS * 1000)
            self._page.on("dialog", lambda dialog: dialog.accept())  # yes, leave what is not saved
        return self._page

    def drop(self) -> None:
        """Close it."""
        if self._page is not None:
            self._page.context.close()
            self._page = None


class Window:
    """A window with a workspace, its editor, chat and status bar."""

    def __init__(self, page: Page, url: str, desk: Desk, pictures: Path) -> None:
        self.desk = desk
        self._pictures = pictures
        self.page = page
        self.page.goto(url)
        self.page.locator(".explorer-folders-view .monaco-list-row").first.wait_for()  # it takes keys

    def close(self) -> None:
        """Leave, and forget what VS Code keeps in the browser: layout, open files, unsaved text, choices."""
        origin = self.page.evaluate("location.origin")
        self.page.goto("about:blank")
        session = self.page.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        wait_until(lambda: not self.desk.server_pids(), SECONDS, "our server ends with its window")

    # -- doing --------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        """Press keys, as Playwright names them."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Type a text where the cursor is."""
        self.page.keyboard.type(text)

    def quick_input(self, key: str, text: str) -> None:
        """Fill in the box at the top that a key opens."""
        making = self.page.locator("iframe.webview:not(.ready)").first
        making.wait_for(state="detached")  # it would swallow the key
        box = self.page.locator(".quick-input-widget input[type=text]")

        def opened() -> bool:
            self.press(key)
            try:
                box.wait_for(timeout=5000)
                box.fill(text, timeout=5000)
            except TimeoutError:
                return False  # what took the cursor meanwhile has closed it: once more, as people do
            return box.is_visible()

        wait_until(opened, SECONDS, f"{key} opens a box")

    def run(self, title: str) -> None:
        """Run a command by its title in the palette."""
        self.quick_input("F1", f">{title}")
        row = self.chosen(title)
        row.wait_for()
        self.press("Enter")
        row.wait_for(state="hidden")

    def open(self, name: str) -> None:
        """Open a file of the workspace and click into it."""
        last = name.rpartition("/")[2]
        self.quick_input("Control+p", name)
        self.chosen(last).wait_for()
        self.press("Enter")
        self.page.locator(f".tab.active[data-resource-name='{last}']").wait_for()
        self.page.locator(".editor-instance .view-line").first.click()

    def select_lines(self, first: int, last: int) -> None:
        """Select whole lines, from 1."""
        self.quick_input("Control+g", f":{first}")
        self.press("Enter")
        self.page.locator(".quick-input-widget").wait_for(state="hidden")
        self.press("Home", *["Shift+ArrowDown"] * (last - first), "Shift+End")

    def offer(self, title: str) -> Locator:
        """Open the menu of Ctrl+. that has a code action; its row.

        The light bulb is no sign to wait for: now and then VS Code has the answer and shows none.
        """
        row = self.actions().filter(has_text=re.compile(f"^{re.escape(title)}$"))
        tries = itertools.count()

        def offered() -> bool:
            tried = next(tries)
            if tried:
                self.run("Quick Fix...")  # in a menu that came late, Ctrl+. would choose the first action
            else:
                self.press("Control+.")
            try:
                self.actions().first.wait_for(timeout=2000 * 2**tried)
            except TimeoutError:
                return False  # no server knew of any yet: once more, as people do
            if row.first.is_visible():
                return True
            self.press("Escape")  # a look at the text that VS Code had under way took the place of ours
            return False

        wait_until(offered, 2 * SECONDS, f"the action {title!r} is offered")
        return row.first

    def action(self, title: str) -> None:
        """Choose a code action from the menu of Ctrl+."""
        row = self.offer(title)
        box = row.bounding_box()
        assert box is not None
        # Something covers the menu until the pointer has moved.
        self.page.mouse.move(box["x"] + 20, box["y"] + 5)
        self.page.mouse.move(box["x"] + 30, box["y"] + 9)
        row.click()

    def chord(self, *keys: str) -> None:
        """Press keys that are one key of ours; VS Code says when it waits for the second."""
        first, second = keys
        self.press(first)
        waiting = self.page.locator(".statusbar-item", has_text="Waiting for second key of chord")
        waiting.wait_for()
        self.press(second)
        waiting.wait_for(state="hidden")

    def context_menu(self, *titles: str) -> None:
        """Choose from the menu of the right button at the cursor, and its sub-menus."""
        self.press("Shift+F10")
        self.menu(*titles)

    def menu(self, *titles: str) -> None:
        """Choose from the menu that is open, and its sub-menus."""
        for title in titles:
            self.page.locator(".monaco-menu .action-menu-item", has_text=title).hover()
            self.page.locator(".monaco-menu .focused > .action-menu-item", has_text=title).wait_for()
            self.press("Enter")  # a menu takes no click in the first moment that it is shown

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

    def chosen(self, title: str) -> Locator:
        """The row of the box at the top that Enter takes."""
        return self.page.locator(".quick-input-list .monaco-list-row.focused", has_text=title)

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

    def wait_text(self, wanted: str, seconds: float = SECONDS) -> str:
        """The text of the active editor, once something is in it."""
        last = ""
        end = time.monotonic() + seconds
        while wanted not in last:
            assert time.monotonic() < end, f"not within {seconds} s: {wanted!r} in\n{last}"
            last = self.text()
        return last

    def wait_marked(self, lines: list[str]) -> None:
        """Wait until these lines, and no others, are marked as those that a run may change."""
        wanted = [[line, "" if number else "Magent works here"] for number, line in enumerate(lines)]
        wait_until(lambda: self.page.evaluate(MARKED) == wanted, SECONDS, f"the marked lines are {lines}")

    @property
    def status(self) -> Locator:
        """Our item in the status bar."""
        return self.page.locator(".statusbar-item[id='magent-lsp.magent-lsp.magentLsp.status']")

    def wait_ready(self) -> None:
        """Wait until our server runs."""
        self.status.locator(".codicon-sparkle").wait_for()

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
