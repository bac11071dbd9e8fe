"""The Emacs client with several of a thing: projects of one name, questions, servers after each other."""

import shutil
from collections.abc import Callable

import pytest

from tests.support.editors import Desk, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

Batch = Callable[[str], str]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}


def test_projects_of_one_name_have_buffers_of_their_own(desk: Desk, batch: Batch) -> None:
    other = desk.home / "other" / desk.root.name
    shutil.copytree(desk.root, other)
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    batch(f"""
    (test-begin)
    (defvar here test-conn)
    (defvar other-file "{other / desk.name}")
    (advice-add 'magent-lsp--pause-p :override #'always)
    (magent-lsp-prompt "Rename it here")
    (defvar asks (test-asks))
    ;; Who reads a question may be about to press a key.
    (defvar reading (selected-window))
    (test-check (eq asks (window-buffer reading)))
    (with-current-buffer (find-file-noselect other-file)
      (magent-lsp-mode 1)
      (setq test-conn (magent-lsp-ensure))
      (test-check (not (eq test-conn here)))
      (test-check (equal (jsonrpc-name test-conn) "magent other/{desk.root.name}"))
      (magent-lsp-prompt "Rename it there"))
    (test-check (not (eq asks (test-asks))))
    (test-check (eq reading (selected-window)))
    (test-check (eq asks (window-buffer reading)))
    (test-check (not (eq (test-conversation) (magent-lsp-conversation here))))
    (test-check (not (test-has "Rename it there" (magent-lsp-conversation here))))
    ;; The answer of one is for it alone.
    (test-press "y" asks)
    (test-until (null (magent-lsp-runs here)))
    (test-check (test-has "def indentation(line"))
    (test-check (magent-lsp-permissions test-conn))
    (test-check (not (test-has "def indentation(line" (get-file-buffer other-file))))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation(line" (get-file-buffer other-file)))
    ;; Each has its name again after the death of its server.
    (defvar conversation (test-conversation))
    (magent-lsp-shutdown here)
    (kill-buffer (magent-lsp-conversation here))
    (magent-lsp-shutdown test-conn)
    (setq test-conn (with-current-buffer (get-file-buffer other-file) (magent-lsp-ensure)))
    (test-check (eq conversation (test-conversation)))
    """)


def test_an_answer_in_the_conversation_is_for_the_question_at_point(desk: Desk, batch: Batch) -> None:
    desk.script(
        calling("edit_file", path=desk.name, **RENAME),
        calling("edit_file", path="README.md", old_string="A project", new_string="The project"),
        {"text": "One."},
        {"text": "Two."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "First")
    (test-asks)
    (magent-lsp-new-session)
    (with-current-buffer (get-file-buffer test-file) (magent-lsp-prompt "Second"))
    (test-until (cdr (magent-lsp-permissions test-conn)))
    (defvar readme (expand-file-name "README.md" (magent-lsp-root test-conn)))
    (switch-to-buffer (test-conversation))
    (goto-char (point-max))
    ;; It is not said for which of them this is.
    (test-check (string-match-p "2 questions" (condition-case err (test-press "y" (current-buffer))
                                                (user-error (cadr err)))))
    (test-check (eq (window-buffer (selected-window)) (test-asks)))
    (test-check (eql 2 (length (magent-lsp-permissions test-conn))))
    (with-current-buffer (test-conversation)
      (goto-char (point-min))
      (search-forward "? Edit README.md")
      (call-interactively (key-binding "y")))
    (test-until (null (cdr (magent-lsp-permissions test-conn))))
    (test-until (string-search "The project" (test-disk readme)))
    (test-check (not (test-has "def indentation(line")))
    ;; If one is left, it is meant wherever point is.
    (with-current-buffer (test-conversation)
      (goto-char (point-max))
      (call-interactively (key-binding "y")))
    (test-until (null (magent-lsp-runs test-conn)))
    (test-check (test-has "def indentation(line"))
    """)


def test_after_a_death_all_buffers_share_the_next_server(desk: Desk, batch: Batch) -> None:
    desk.script({"text": "Here I am."})
    batch("""
    (test-begin)
    (test-check (string-search "m: prompt" (with-current-buffer (test-conversation)
                                             (magent-lsp--header))))
    (delete-process (jsonrpc--process test-conn))
    (test-until (null (magent-lsp-current)))
    (defvar conversation (magent-lsp-conversation test-conn))
    (test-check (string-search "No server" (with-current-buffer conversation (magent-lsp--header))))
    (setq test-conn (magent-lsp-ensure))
    (with-current-buffer conversation
      (test-check (string-search "m: prompt" (magent-lsp--header)))
      (test-check (eq test-conn (magent-lsp-ensure)))
      (magent-lsp-prompt "Where are you?"))
    (test-ended)
    (test-check (test-has "Here I am." conversation))
    (test-check (eq test-conn (magent-lsp-current)))
    (test-check (eq test-conn (with-current-buffer conversation (magent-lsp-current))))
    (test-check (eql 1 (hash-table-count magent-lsp--connections)))
    """)
