"""What can be told of the extension without an editor: its manifest, its types, its package."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from clients.vscode.settings import MANIFEST, configuration
from magent_lsp import __version__
from magent_lsp.core.config import Settings
from tests.clients.vscode.build import SOURCE, copy_of_source, npm

MANIFEST_TEXT = MANIFEST.read_text(encoding="utf-8")


def test_the_settings_are_those_of_the_server() -> None:
    written = json.loads(MANIFEST_TEXT)["contributes"]["configuration"]
    assert written == configuration(), "run `python clients/vscode/settings.py`"
    agents = written[1]["properties"]
    assert {key.split(".")[1] for key in agents} == {field.alias for field in Settings.model_fields.values()}


def test_the_settings_of_the_server_are_the_persons_alone() -> None:
    """A repository's `.vscode/settings.json` holds none: it could loosen what a project may only tighten."""
    ours, agents = json.loads(MANIFEST_TEXT)["contributes"]["configuration"]
    assert {setting["scope"] for setting in agents["properties"].values()} == {"machine"}
    for key, setting in ours["properties"].items():
        assert setting["scope"] == ("machine" if key.split(".")[1] == "server" else "window"), key


def test_every_command_is_registered_and_the_reverse() -> None:
    contributed = {entry["command"] for entry in json.loads(MANIFEST_TEXT)["contributes"]["commands"]}
    source = (SOURCE / "src/commands.ts").read_text(encoding="utf-8")
    block = source[source.index("const all") : source.index("return Object.entries")]
    registered = {f"magentLsp.{name}" for name in re.findall(r"^    (\w+): \(", block, re.MULTILINE)}
    assert registered == contributed
    # `magent.*` are registered by vscode-languageclient, one for each command of the server.
    assert '"magent.' not in MANIFEST_TEXT


def test_versions_are_one() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))
    assert json.loads(MANIFEST_TEXT)["version"] == lock["version"] == __version__


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))
    assert not [place for place, entry in lock["packages"].items() if "resolved" in entry]


@pytest.mark.editor
@pytest.mark.timeout(180)
def test_the_types_are_right(tmp_path: Path) -> None:
    done = npm(copy_of_source(tmp_path / "source"), "check")
    assert done.returncode == 0, done.stdout


@pytest.mark.editor
def test_the_package_holds_what_it_needs(vsix: Path) -> None:
    with zipfile.ZipFile(vsix) as archive:
        names = set(archive.namelist())
        notices = archive.read("extension/THIRD-PARTY-NOTICES.txt").decode()
        manifest = json.loads(archive.read("extension/package.json"))
    assert {"extension.vsixmanifest", "extension/LICENSE.txt", "extension/readme.md"} <= names
    assert f"extension/{manifest['icon']}" in names
    assert f"extension/{manifest['main'].removeprefix('./')}" in names
    steps = manifest["contributes"]["walkthroughs"][0]["steps"]
    assert {f"extension/{step['media']['markdown']}" for step in steps} <= names
    assert all(name in notices for name in ("vscode-languageclient", "markdown-it"))
    assert vsix.stat().st_size < 400_000
