"""Stock Eglot with our server and one line of configuration: no plugin."""

import json
import sys
from collections.abc import Callable

import pytest

from tests.support.editors import ONE_PIECE, Desk, Tmux, calling
from tests.support.emacs import SUPPORT, quit_all, start_in_terminal

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

Batch = Callable[[str], str]

LOAD = f'(load "{SUPPORT.with_name("stock_eglot.el")}" nil t)'

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}


@pytest.fixture
def eglot(batch: Batch) -> Batch:
    """Evaluates Emacs Lisp where stock Eglot is connected to our server."""
    return lambda code: batch(f"{LOAD}\n(test-eglot)\n{code}")


@pytest.mark.covers("edit")
def test_select_choose_allow_and_undo(desk: Desk, eglot: Batch) -> None:
    desk.model.queue(
        calling("read_file", path=desk.name),
        calling("edit_file", path=desk.name, **RENAME),
        {"text": "Renamed."},
    )
    eglot("""
    (setq test-choices '(("Choose an option" . "Allow once")))
    (goto-char (point-min))
    (search-forward "def indent_of")
    (test-action "Magent: Improve" (line-beginning-position) (line-end-position))
    (test-until (test-has "def indentation("))
    (test-until (test-said "Renamed"))
    (let ((menu (cl-find-if (lambda (it) (string-match-p "Pick an action" (car it))) test-prompts))
          (question (cl-find-if (lambda (it) (string-match-p "Choose an option" (car it)))
                                test-prompts)))
      (dolist (title '("Magent: Explain" "Magent: Improve" "Magent: Write tests" "Magent: Document"))
        (test-check (member title menu)))
      (test-check (member "Reject" question))
      ;; The diff is on the screen with the question.
      (test-check (string-search "+def indentation" (car question))))
    ;; The buffer is not saved behind the person's back.
    (test-check (buffer-modified-p))
    (undo-boundary)
    (undo)
    (test-check (test-has "def indent_of("))
    """)
    assert "def indent_of" in json.dumps(desk.model.requests()[0]["messages"])
    assert desk.status() == []


def test_a_question_that_comes_in_one_piece_with_an_answer_is_asked(desk: Desk, eglot: Batch) -> None:
    desk.server[:0] = [sys.executable, str(ONE_PIECE), "0.5"]
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    eglot("""
    (setq test-choices '(("Choose an option" . "Allow once")))
    (test-command "magent.prompt" :prompt "Rename it")
    (test-until (test-has "def indentation("))
    (test-until (test-said "Renamed"))
    """)


def test_undo_of_the_run_by_command(desk: Desk, eglot: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    eglot("""
    (setq test-choices '(("Choose an option" . "Allow once")))
    (let ((run (test-command "magent.prompt" :prompt "Rename it")))
      (test-until (test-has "def indentation("))
      (test-until (test-said "Renamed"))
      (goto-char (point-max))
      (insert "# mine\\n")
      (let ((result (test-command "magent.undo" :runId (plist-get run :runId))))
        (test-check (eql 1 (length (plist-get result :restored)))))
      (test-check (test-has "def indent_of("))
      (test-check (test-has "# mine")))
    """)


@pytest.mark.covers("ask")
def test_explain_at_point_answers_in_a_message(desk: Desk, eglot: Batch) -> None:
    desk.script({"text": "It returns the leading blanks."})
    eglot("""
    (goto-char (point-min))
    (search-forward "indent_of")
    (test-action "Magent: Explain" (point) (point))
    (test-until (test-said "leading blanks"))
    (test-check (not (buffer-modified-p)))
    """)


@pytest.mark.covers("reject")
def test_reject_changes_nothing(desk: Desk, eglot: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "never said"})
    eglot("""
    (setq test-choices '(("Choose an option" . "Reject")))
    (test-command "magent.prompt" :prompt "Rename it")
    (test-until (test-said "refused"))
    (test-check (not (buffer-modified-p)))
    (test-check (not (test-said "never said")))
    """)


@pytest.mark.covers("cancel")
def test_cancel_by_code_action(desk: Desk, eglot: Batch) -> None:
    desk.model.queue({"text": ["word ", "and more"], "hold": True}, {"text": "Still here."})
    eglot(f"""
    (test-command "magent.prompt" :prompt "Take your time")
    (test-until (with-temp-buffer (url-insert-file-contents "{desk.model.url}/_requests")
                                  (search-forward "Take your time" nil t)))
    (test-action "Magent: Cancel" (point-min) (point-min))
    (test-until (test-said "cancelled"))
    (test-check (not (buffer-modified-p)))
    (test-action "Magent: Explain" (point-min) (point-min))
    (test-until (test-said "Still here"))
    """)


@pytest.mark.covers("unsaved text")
def test_unsaved_text_survives(desk: Desk, eglot: Batch) -> None:
    desk.model.queue(
        calling("read_file", path=desk.name),
        calling("edit_file", path=desk.name, **RENAME),
        {"text": "Renamed."},
    )
    eglot("""
    (goto-char (point-min))
    (insert "# unsaved 𝄞\\n")
    (setq test-choices `(("Choose an option"
                          . ,(lambda ()
                               ;; Typed while the question is open.
                               (with-current-buffer (get-file-buffer test-file)
                                 (goto-char (point-max))
                                 (insert "# meanwhile\\n"))
                               "Allow once"))))
    (test-command "magent.prompt" :prompt "Rename it")
    (test-until (test-has "def indentation("))
    (test-until (test-said "Renamed"))
    (test-check (string-prefix-p "# unsaved 𝄞\\n" (test-text)))
    (test-check (string-suffix-p "# meanwhile\\n" (test-text)))
    """)
    assert "# unsaved" in json.dumps(desk.model.requests()[1]["messages"][-1], ensure_ascii=False)
    assert desk.status() == []


@pytest.mark.covers("two edits")
def test_two_edits_of_one_reply(desk: Desk, eglot: Batch) -> None:
    one = calling("edit_file", path=desk.name, **RENAME)
    two = calling("edit_file", path=desk.name, old_string="BLANKS", new_string="WHITE", replace_all=True)
    desk.script({"text": "Both.", "calls": one["calls"] + two["calls"]}, {"text": "Renamed."})
    eglot("""
    (setq test-choices '(("Choose an option" . "Allow once")))
    (test-command "magent.prompt" :prompt "Rename both")
    (test-until (test-said "Renamed"))
    (test-check (test-has "def indentation("))
    (test-check (test-has "lstrip(WHITE)"))
    (test-check (not (test-has "BLANKS")))
    """)
    assert desk.status() == []


@pytest.mark.covers("killed")
def test_a_server_that_was_killed_comes_back(desk: Desk, eglot: Batch) -> None:
    desk.model.queue({"text": ["word ", "and more"], "hold": True})
    desk.model.queue(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    eglot(f"""
    (setq eglot-autoreconnect nil)
    (goto-char (point-min))
    (insert "# unsaved\\n")
    (test-command "magent.prompt" :prompt "Take your time")
    (test-until (with-temp-buffer (url-insert-file-contents "{desk.model.url}/_requests")
                                  (search-forward "Take your time" nil t)))
    (let ((server (jsonrpc--process (eglot--current-server-or-lose))))
      (signal-process server 'SIGKILL)
      (test-until (not (process-live-p server)))
      (test-until (null (eglot-current-server))))
    (test-check (string-prefix-p "# unsaved\\n" (test-text)))
    ;; M-x eglot
    (apply #'eglot (eglot--guess-contact))
    (test-until (and (eglot-current-server) eglot--managed-mode))
    (setq test-choices '(("Choose an option" . "Allow once")))
    (test-command "magent.prompt" :prompt "Rename it")
    (test-until (test-said "Renamed"))
    (test-check (test-has "def indentation("))
    (test-check (string-prefix-p "# unsaved\\n" (test-text)))
    """)


@pytest.mark.covers("new file")
def test_a_new_file(desk: Desk, eglot: Batch) -> None:
    desk.script(
        calling("write_file", path="notes/new.md", content="# New\nλ\n"),
        {"text": "Written."},
    )
    eglot("""
    (setq test-choices '(("Choose an option" . "Allow once")))
    (test-command "magent.prompt" :prompt "Write it")
    (test-until (test-said "Written"))
    """)
    assert (desk.root / "notes/new.md").read_text() == "# New\nλ\n"


def test_with_the_default_confirmation_every_edit_is_asked_once_more(desk: Desk, eglot: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    eglot("""
    (setq eglot-confirm-server-initiated-edits 'confirm
          test-choices '(("Choose an option" . "Allow once")))
    (test-command "magent.prompt" :prompt "Rename it")
    (test-until (test-has "def indentation("))
    (test-check (cl-find-if (lambda (it) (string-match-p "Server wants to edit" (car it)))
                            test-prompts))
    """)


SCREEN = f"""
(load "{SUPPORT}" nil t)
(require 'eglot)
(define-key minibuffer-local-completion-map (kbd "SPC") nil)
(setq eglot-confirm-server-initiated-edits nil eglot-sync-connect 30
      max-mini-window-height 0.6
      ring-bell-function #'ignore)
(add-to-list 'eglot-server-programs `(python-mode . ,test-server))
(add-hook 'python-mode-hook #'eglot-ensure)
"""


@pytest.fixture
def terminal(desk: Desk, tmux: Callable[..., Tmux]) -> Tmux:
    """An Emacs in a terminal, connected, in which the model wants to rename a function."""
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed it."})
    terminal = start_in_terminal(tmux, desk, SCREEN)
    terminal.wait("[eglot:workspace]", 60)
    return terminal


def choose_action(terminal: Tmux, title: str) -> None:
    terminal.keys("M-x")
    terminal.type("eglot-code-actions")
    terminal.keys("Enter")
    terminal.wait("Pick an action")
    terminal.type(title)
    terminal.keys("Enter")


def test_with_keys_in_a_terminal(terminal: Tmux) -> None:
    terminal.keys("C-Space", "C-e")
    choose_action(terminal, "Magent: Improve")
    terminal.wait("Magent: Edit src/indent.py", 60)
    terminal.wait("Choose an option: Reject")
    terminal.keys("C-a", "C-k", "Tab", "Tab")
    terminal.wait("Allow once")
    terminal.type("Allow once")
    terminal.keys("Enter")
    # Emacs tells of the edit with the next key only: nobody must wait for that, nor doubt it.
    terminal.wait("Renamed it. (1 edit applied)", 60)
    quit_all(terminal)
    terminal.keys("M-<")
    terminal.wait("def indentation(line: str)")
    terminal.keys("C-_")
    terminal.wait("def indent_of(line: str)")


def test_a_bare_return_allows_nothing(terminal: Tmux) -> None:
    """Eglot fills in the first answer that it is offered."""
    choose_action(terminal, "Magent: Improve")
    terminal.wait("Choose an option: Reject", 60)
    terminal.keys("Enter")
    terminal.wait("refused", 60)
    quit_all(terminal)
    terminal.keys("M-<")
    terminal.wait("def indent_of(line: str)")


def test_quit_in_the_question_leaves_it_to_the_actions(terminal: Tmux) -> None:
    """C-g in Eglot sends no answer at all; the request can still be answered by code action."""
    choose_action(terminal, "Magent: Improve")
    terminal.wait("Choose an option", 60)
    quit_all(terminal)
    terminal.wait(lambda screen: "Choose an option" not in screen)
    choose_action(terminal, "Magent: Allow once")
    terminal.wait("Renamed it.", 60)
    quit_all(terminal)
    terminal.keys("M-<")
    terminal.wait("def indentation(line: str)")


OTHER = f"({json.dumps(sys.executable)} {json.dumps(str(SUPPORT.with_name('upper_server.py')))})"


def test_the_client_beside_another_server_in_eglot(desk: Desk, batch: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."})
    batch(f"""
    {LOAD}
    (setq eglot-server-programs '((python-mode . {OTHER})))
    (test-eglot)
    (test-begin)
    (test-check eglot--managed-mode)
    ;; The other server's diagnostics come through Flymake to ours, its actions stay where they were.
    (setq test-choices '(("Pick an action" . "Upper: case") ("Action" . "Fix: long line")))
    (test-until (flymake-diagnostics))
    (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
    (call-interactively #'magent-lsp-actions)
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation("))
    (with-current-buffer (get-file-buffer test-file)
      (goto-char (point-min))
      (test-action "Upper: case" (point-min) (line-end-position))
      (test-until (let ((case-fold-search nil))
                    (string-prefix-p (upcase (substring (test-text) 0 20)) (test-text))))
      ;; Both servers have the same text as the buffer still.
      (magent-lsp--flush)
      (test-check (null magent-lsp--pending))
      (magent-lsp-undo-run)
      (test-until (test-has "def indent_of("))
      (test-check (string-prefix-p (upcase (substring (test-text) 0 20)) (test-text))))
    """)
