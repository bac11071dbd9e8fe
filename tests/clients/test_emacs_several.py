"""The Emacs client with several of a thing: projects of one name, questions, servers after each other."""

import json
import shutil
from collections.abc import Callable

import pytest

from tests.support.editors import Desk, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

Batch = Callable[[str], str]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}

TWO_ASK = """
(test-begin)
(magent-lsp-prompt "First")
(test-asks)
(magent-lsp-new-session)
(with-current-buffer (get-file-buffer test-file) (magent-lsp-prompt "Second"))
(test-until (cdr (magent-lsp-permissions test-conn)))
"""
"""Two conversations, in both of which the agent waits for a permission."""


def two_edits(desk: Desk) -> None:
    """What the model does in them."""
    desk.script(
        calling("edit_file", path=desk.name, **RENAME),
        calling("edit_file", path="README.md", old_string="A project", new_string="The project"),
        {"text": "One."},
        {"text": "Two."},
    )


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
    ;; The end of a server takes nothing from another one.
    (magent-lsp--highlight "run" (list :uri (magent-lsp--path-uri other-file)
                                       :range '(:start (:line 0 :character 0) :end (:line 1 :character 0)))
                           test-conn)
    (run-hook-with-args 'magent-lsp-shutdown-functions here)
    (test-check (gethash "run" magent-lsp--highlights))
    ;; Each has its name again after the death of its server.
    (defvar conversation (test-conversation))
    (magent-lsp-shutdown here)
    (kill-buffer (magent-lsp-conversation here))
    (magent-lsp-shutdown test-conn)
    (setq test-conn (with-current-buffer (get-file-buffer other-file) (magent-lsp-ensure)))
    (test-check (eq conversation (test-conversation)))
    """)


def test_an_answer_in_the_conversation_is_for_the_question_at_point(desk: Desk, batch: Batch) -> None:
    two_edits(desk)
    batch(f"""
    {TWO_ASK}
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


def test_a_key_that_was_struck_before_a_question_came_does_not_answer_it(desk: Desk, batch: Batch) -> None:
    one = calling("edit_file", path=desk.name, **RENAME)
    two = calling("edit_file", path="README.md", old_string="A project", new_string="The project")
    desk.script({"text": "Both.", "calls": one["calls"] + two["calls"]}, {"text": "Done."})
    batch("""
    (test-begin)
    (setq magent-lsp-pause 600 magent-lsp--reading-time 600 magent-lsp-select-approval t)
    (defun refused (keys buffer)
      (dolist (key keys)
        (test-check (string-search "just come" (condition-case err (test-press key buffer)
                                                 (user-error (cadr err)))))))
    (magent-lsp-prompt "Rename both")
    (refused '("y" "!" "a" "n" "e" "k") (test-asks))
    ;; Who goes there means it.
    (test-check (eq (window-buffer) (test-asks)))
    (test-press "C-c m p" (test-asks))
    (test-press "y" (test-asks))
    ;; The key is held down, and meets the next question in the conversation.
    (test-until (and (test-has "def indentation") (magent-lsp-permissions test-conn)))
    (refused '("y" "!" "a" "n" "e") (test-conversation))
    (test-press "C-c m p" (test-conversation))
    (test-press "y" (test-conversation))
    (test-ended)
    """)
    assert (desk.root / "README.md").read_text().startswith("# The project\n")


def test_a_reason_is_for_the_question_for_which_it_was_typed(desk: Desk, batch: Batch) -> None:
    two_edits(desk)
    batch(f"""
    {TWO_ASK}
    (cl-letf (((symbol-function 'read-string)
               (lambda (&rest _)
                 ;; Meanwhile it is answered elsewhere.
                 (let ((id (plist-get (car (magent-lsp-permissions test-conn)) :requestId)))
                   (magent-lsp-send test-conn "magent.respond" (list :requestId id :reply "allow_once")))
                 (test-until (null (cdr (magent-lsp-permissions test-conn))))
                 "Not this file")))
      (test-check (string-search "answered already"
                                 (condition-case err (test-press "e" (test-asks))
                                   (user-error (cadr err))))))
    (test-check (magent-lsp-permissions test-conn))
    """)


def test_a_folder_in_a_folder_keeps_its_own_server(desk: Desk, batch: Batch) -> None:
    inner = desk.home / "work/project"
    shutil.copytree(desk.root, inner)
    (desk.home / "notes.txt").write_text("notes\n")
    batch(f"""
    (require 'magent-lsp)
    (setq magent-lsp-server-command test-server)
    (global-magent-lsp-mode)
    (find-file "{inner / desk.name}")
    (find-file "{desk.home}/notes.txt")
    (test-check (equal (magent-lsp-root (magent-lsp-ensure)) "{desk.home}/"))
    (switch-to-buffer "indent.py")
    (test-check (null (magent-lsp-current)))
    (test-check (equal (magent-lsp-root (magent-lsp-ensure)) "{inner}/"))
    """)


def test_runs_of_others_and_of_subagents(desk: Desk, batch: Batch) -> None:
    batch("""
    (test-begin)
    (defun draw (kind run &rest event)
      (with-current-buffer (test-conversation)
        (magent-lsp-draw kind event run test-conn)))
    (draw 'run_started "own" :agent "build" :prompt "Mine" :model "m")
    (draw 'run_started "child" :agent "explore" :prompt "A part" :model "m" :parentRunId "own")
    (draw 'run_started "grandchild" :agent "explore" :prompt "Less" :model "m" :parentRunId "child")
    (draw 'run_started "other" :agent "guest" :prompt "Not mine" :model "m")
    (defvar told nil)
    (cl-letf (((symbol-function 'magent-lsp-send)
               (lambda (_conn _command arguments &rest _) (push (plist-get arguments :runId) told))))
      (magent-lsp-steer "Faster")
      (draw 'edit_applied "grandchild" :uri (magent-lsp--path-uri test-file) :outcome "applied")
      (draw 'edit_applied "other" :uri (magent-lsp--path-uri test-file) :outcome "stale")
      (magent-lsp-undo-run)
      (draw 'run_finished "own" :stopReason "end_turn")
      (magent-lsp-steer "You then"))
    (test-check (equal told '("other" "own" "own")))
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


def test_after_a_death_the_conversation_goes_on(desk: Desk, batch: Batch) -> None:
    desk.model.queue(calling("edit_file", path=desk.name, **RENAME), {"text": "One."}, {"text": "Two."})
    batch("""
    (test-begin)
    (magent-lsp-prompt "My word is swordfish")
    (test-press "y" (test-asks))
    (test-ended)
    (setf (magent-lsp-agent test-conn) "plan")
    (delete-process (jsonrpc--process test-conn))
    (test-until (not (magent-lsp-current)))
    ;; To take back what the dead one did starts the next.
    (test-press "C-c m u" (get-file-buffer test-file))
    (test-until (not (test-has "def indentation")))
    (setq test-conn (magent-lsp-current))
    (magent-lsp-prompt "What is my word?")
    (test-ended)
    (test-check (equal (magent-lsp-agent test-conn) "plan"))
    """)
    assert "swordfish" in json.dumps(desk.wait_requests(3)[2]["messages"])


def test_a_question_of_a_dead_server_looks_as_if_it_waited_no_more(desk: Desk, batch: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME))
    batch("""
    (test-begin)
    (magent-lsp-prompt "Rename it")
    (defvar asks (test-asks))
    (test-until (test-has "y once" (test-conversation)))
    (delete-process (jsonrpc--process test-conn))
    (test-until (not (magent-lsp-current)))
    (test-check (not (buffer-live-p asks)))
    (test-check (not (test-has "y once" (test-conversation))))
    (test-check (test-has "not answered" (test-conversation)))
    """)


def test_the_key_that_was_announced_leads_to_the_question_of_another_project(
    desk: Desk, batch: Batch
) -> None:
    other = desk.home / "other/project"
    shutil.copytree(desk.root, other)
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    batch(f"""
    (test-begin)
    (magent-lsp-prompt "Rename it here")
    (defvar asks (test-asks))
    (delete-other-windows)
    (find-file "{other / desk.name}")
    (defvar elsewhere (current-buffer))
    (magent-lsp-mode 1)
    ;; Whether a server runs there or not.
    (test-press "C-c m p" elsewhere)
    (test-check (eq asks (window-buffer)))
    (delete-other-windows)
    (switch-to-buffer elsewhere)
    (magent-lsp-ensure)
    (test-press "C-c m p" elsewhere)
    (test-check (eq asks (window-buffer)))
    (test-press "y" asks)
    (test-until (test-has "def indentation(line"))
    (test-until (null (magent-lsp-runs test-conn)))
    (test-check (string-search "waits for no answer"
                               (condition-case err (test-press "C-c m p" elsewhere)
                                 (user-error (cadr err)))))
    """)


def test_nothing_is_done_for_a_server_that_is_dead(desk: Desk, batch: Batch) -> None:
    desk.script(calling("editor_eval", code="(setq done-for-it t)"), {"text": "Done."})
    batch("""
    (test-begin)
    (defvar free nil)
    (defvar asked nil)
    (defvar done-for-it nil)
    (advice-add 'magent-lsp--free-p :override (lambda (_) (setq asked t) free))
    (magent-lsp-prompt "Evaluate")
    (test-press "y" (test-asks))
    (test-until asked)
    (delete-process (jsonrpc--process test-conn))
    (test-until (not (magent-lsp-current)))
    ;; Two that wait in the inbox.
    (magent-lsp--on-request test-conn 'magent/eval '(:code "(setq done-for-it t)"))
    (magent-lsp--on-notification
     test-conn 'magent/event
     '(:runId "run" :event (:type "permission_requested" :requestId "late" :title "Late")))
    (setq free t)
    (test-until (null (magent-lsp--inbox test-conn)))
    ;; Timers run in their order: those that were set have run when this one has.
    (defvar later nil)
    (run-at-time 0.5 nil (lambda () (setq later t)))
    (test-until later)
    (test-check (not done-for-it))
    (test-check (null (magent-lsp-permissions test-conn)))
    (test-check (null (get-buffer (magent-lsp--approval-buffer test-conn))))
    """)
