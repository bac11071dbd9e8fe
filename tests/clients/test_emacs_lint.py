"""The Emacs client as a package: it compiles without a warning, and the checkers of packages are content."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.editors import missing
from tests.support.emacs import CLIENT, find_emacs

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

TOO_NEW = "This makes the package uninstallable in all released Emacs versions."
"""What a package-lint of 2021 says of Emacs 28."""

NO_PAGE = "Package should have a Homepage or URL header."
"""It has none to name; the files come with the repository."""


def emacs(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [find_emacs(), "--batch", "-q", "-L", ".", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy, so that nothing is written beside the sources."""
    folder = tmp_path / "package"
    folder.mkdir()
    for file in CLIENT.glob("*.el"):
        shutil.copy(file, folder)
    return folder


def files(package: Path) -> list[str]:
    return sorted(file.name for file in package.glob("*.el"))


def test_it_compiles_without_a_warning(package: Path) -> None:
    done = emacs(
        package, "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", *files(package)
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_checkdoc_is_content(package: Path) -> None:
    code = (
        '(progn (require \'checkdoc) (dolist (file (directory-files "." t "\\\\.el$")) (checkdoc-file file)))'
    )
    done = emacs(package, "--eval", code)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if line.startswith("magent-lsp")] == []


def test_package_lint_is_content(package: Path) -> None:
    code = (
        '(progn (package-initialize) (setq package-lint-main-file "magent-lsp.el") (require \'package-lint))'
    )
    done = emacs(package, "--eval", code, "-f", "package-lint-batch-and-exit", *files(package))
    if "Cannot open load file" in done.stderr:
        missing("package-lint", "apt-get install elpa-package-lint")
    found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("magent-lsp")]
    assert [line for line in found if not line.endswith((TOO_NEW, NO_PAGE))] == []


def test_every_command_is_described(package: Path) -> None:
    code = """(progn (require 'magent-lsp)
      (mapatoms (lambda (it)
        (when (and (commandp it) (string-prefix-p "magent-lsp-" (symbol-name it)))
          (princ (format "%s %s\n" it (or (documentation it) "NONE")))))))"""
    done = emacs(package, "--eval", code)
    assert "magent-lsp-prompt " in done.stdout
    assert "NONE" not in done.stdout
