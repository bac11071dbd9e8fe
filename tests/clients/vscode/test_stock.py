"""VS Code with a generic language client, as the guide has it: nothing of our extension."""

import json
import os
import re
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.vscode.build import esbuild, install, packages
from tests.support.editors import REPOSITORY, Desk, calling, wait_until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]

GUIDE = (REPOSITORY / "docs/guide/stock-clients.md").read_text(encoding="utf-8")

OLD = "    return line[: len(line) - len(line.lstrip(BLANKS))]"
NEW = "    body = line.lstrip(BLANKS)\n    return line.removesuffix(body)"

MANIFEST = {
    "name": "generic",
    "publisher": "test",
    "version": "0.0.1",
    "engines": {"vscode": "^1.91.0"},
    "activationEvents": ["onStartupFinished"],
    "main": "./extension.js",
}

WRAPPER = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="generic" Version="0.0.1" Publisher="test"/></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/><Assets/>
</PackageManifest>"""


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions that holds the guide's lines as an extension, and nothing else."""
    folder = tmp_path_factory.mktemp("generic")
    match = re.search(r"```js\n(.*?)```", GUIDE, re.DOTALL)
    assert match, "the guide has no lines for VS Code"
    (folder / "source.js").write_text(match[1])
    (folder / "node_modules").symlink_to(packages())
    esbuild(folder / "source.js", folder / "extension.js", "--external:vscode")
    with zipfile.ZipFile(folder / "generic.vsix", "w") as archive:
        archive.writestr("extension.vsixmanifest", WRAPPER)
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.write(folder / "extension.js", "extension/extension.js")
    install(folder / "generic.vsix", folder / "extensions")
    return folder / "extensions"


@pytest.fixture
def window(desk: Desk, open_window: Callable[..., Any]) -> Any:
    """VS Code at the desk, in the desk's file."""
    window = open_window(ready=False)
    window.open(desk.name)
    return window


def answer(window: Any, title: str) -> None:
    """Click a button of the notification that asks."""
    window.page.locator(".notification-list-item .monaco-button", has_text=re.compile(f"^{title}$")).click()


@pytest.mark.covers("edit", "reject")
def test_select_choose_allow_undo_reject(desk: Desk, window: Any) -> None:
    edit = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    desk.script(edit, {"text": "Clearer."}, edit, {"text": "never said"})
    before = window.text()
    window.select_lines(13, 15)
    window.action("Magent: Improve")
    window.page.locator(".notification-list-item", has_text="Edit src/indent.py").wait_for()
    window.picture("generic")
    answer(window, "Allow once")
    window.page.locator(".notification-list-item", has_text="Clearer.").wait_for()
    window.tab("indent.py").click()
    assert NEW in window.wait_text("removesuffix")
    assert window.dirty("indent.py")
    assert desk.status() == []
    window.press("Control+z")
    wait_until(lambda: window.text() == before, 60, "the key takes it back")
    window.select_lines(13, 15)
    window.action("Magent: Improve")
    answer(window, "Reject")
    window.page.locator(".notification-list-item", has_text="refused").wait_for()
    window.tab("indent.py").click()
    assert window.text() == before


@pytest.mark.covers("unsaved text", "two edits", "new file", "killed")
def test_unsaved_text_two_edits_a_new_file_and_a_server_that_was_killed(desk: Desk, window: Any) -> None:
    one = calling("edit_file", path=desk.name, old_string=OLD, new_string=NEW)
    two = calling(
        "edit_file", path=desk.name, old_string="import BLANKS", new_string="import BLANKS as WHITE"
    )
    new = calling("write_file", path="notes/new.md", content="# New\n")
    desk.script({"calls": one["calls"] + two["calls"] + new["calls"]}, {"text": "All three."})
    window.press("Control+Home")
    window.type("# not saved ")
    window.action("Magent: Improve")
    for shown in ("line.removesuffix(body)", "import BLANKS as WHITE", "Create notes/new.md"):
        window.page.locator(".notification-list-item", has_text=shown).wait_for()
        answer(window, "Allow once")
        window.page.locator(".notification-list-item", has_text=shown).wait_for(state="detached")
    window.page.locator(".notification-list-item", has_text="All three.").wait_for()
    window.tab("indent.py").click()
    text = window.wait_text("as WHITE")
    assert text.startswith("# not saved ")
    assert NEW in text
    wait_until(lambda: (desk.root / "notes/new.md").exists(), 60, "the new file is on the disk")
    assert desk.status() == ["?? notes/"]
    desk.script({"text": "Back again."})
    [pid] = desk.server_pids()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: desk.server_pids() not in ([], [pid]), 60, "the client starts it again")
    window.action("Magent: Explain")
    window.page.locator(".view-line", has_text="Back again.").first.wait_for()
    window.tab("indent.py").click()
    assert window.text() == text


@pytest.mark.covers("ask", "cancel")
def test_an_answer_is_opened_and_a_run_cancelled_by_code_action(desk: Desk, window: Any) -> None:
    slow = {"text": "Once upon a time " * 200, "delay": 0.2}
    desk.model.queue({"text": "It returns the **leading blanks**."}, slow, {"text": "Still here."})
    window.select_lines(13, 15)
    window.action("Magent: Explain")
    window.page.locator(".tab[aria-label*='.md']").wait_for()
    window.page.locator(".view-line", has_text="leading").first.wait_for()
    window.picture("generic-answer")
    window.tab("indent.py").click()
    window.select_lines(13, 15)
    window.action("Magent: Explain")
    window.page.locator(".statusbar-item", has_text="Magent").first.wait_for()
    desk.wait_requests(2)
    window.action("Magent: Cancel")
    window.page.locator(".statusbar-item", has_text="Magent").first.wait_for(state="detached")
    window.action("Magent: Explain")
    window.page.locator(".view-line", has_text="Still here.").first.wait_for()
