"""The Emacs client in a real Emacs: what a person sees and does with `C-c m`."""

import json
import os
import sys
from collections.abc import Callable

import pytest

from tests.support.editors import ONE_PIECE, Desk, calling

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

Batch = Callable[[str], str]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}


def rename(desk: Desk) -> None:
    """The model looks at the file, and renames a function."""
    desk.model.queue(
        calling("read_file", path=desk.name),
        calling("edit_file", "I rename it.", path=desk.name, **RENAME),
        {"text": "It has a **better** name now."},
        {"text": "It counts."},
    )


@pytest.mark.covers("edit")
def test_an_edit_is_shown_allowed_made_and_taken_back(desk: Desk, batch: Batch) -> None:
    rename(desk)
    batch("""
    (test-begin)
    (goto-char (point-min))
    (search-forward "indent_of")
    (magent-lsp-prompt "Find a better name")
    (with-current-buffer (test-asks)
      (test-check (test-has "+def indentation(line" (current-buffer)))
      (goto-char (point-min))
      (search-forward "+def indentation")
      (test-check (eq (get-text-property (1- (point)) 'face) 'diff-added))
      (test-check (test-has "y Allow once" (current-buffer))))
    (test-check (string-search "asks you" (magent-lsp--lighter)))
    (test-check (not (test-has "def indentation")))
    ;; The whole file beside the question.
    (test-until (magent-lsp-comparisons test-conn))
    (test-press "=" (test-asks))
    (with-current-buffer "*magent diff indent.py*"
      (test-check (derived-mode-p 'diff-mode))
      (test-check (test-has "+def indentation" (current-buffer)))
      (test-check (test-has (car (last (split-string (test-disk) "\n" t))) (current-buffer))))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (null (magent-lsp-comparisons test-conn)))
    (test-check (test-has "def indentation(line: str)"))
    (test-check (null (get-buffer (magent-lsp--approval-buffer test-conn))))
    (with-current-buffer (test-conversation)
      (dolist (text '("❯ Find a better name" "✓ read_file" "edited src/indent.py"
                      "+def indentation(line" "It has a **better** name now."
                      "done · 1 of 1 edits applied"))
        (test-check (test-has text (current-buffer))))
      (goto-char (point-min))
      (search-forward "better** name")
      (test-check (eq (get-text-property (- (point) 10) 'face) 'bold)))
    ;; The file had no unsaved text, so it was saved.
    (test-check (string-search "def indentation" (test-disk)))
    ;; A question in between changes nothing that could be taken back.
    (magent-lsp-ask "What is this?")
    (test-ended)
    (magent-lsp-undo-run)
    (test-until (not (test-has "def indentation")))
    (test-check (test-has "def indent_of(line: str)"))
    (test-until (string-search "def indent_of" (test-disk)))
    (magent-lsp-redo-run)
    (test-until (test-has "def indentation"))
    """)
    assert "indent_of" in json.dumps(desk.model.requests()[0]["messages"])


@pytest.mark.covers("ask")
def test_ask_at_point_streams_an_answer_and_changes_nothing(desk: Desk, batch: Batch) -> None:
    desk.script({"text": "# Indent\nIt counts `blanks`.", "reasoning": "Let me see."})
    batch("""
    (test-begin)
    (goto-char (point-min))
    (search-forward "indent_of")
    (magent-lsp-ask "What is this?")
    (test-ended)
    (with-current-buffer (test-conversation)
      (test-check (test-has "It counts `blanks`." (current-buffer)))
      (goto-char (point-min))
      (search-forward "blanks")
      (test-check (eq (get-text-property (1- (point)) 'face) 'magent-lsp-code))
      ;; What it thought is there, folded, and can be unfolded.
      (goto-char (point-min))
      (search-forward "Let me see.")
      (test-check (invisible-p (1- (point))))
      (goto-char (point-min))
      (search-forward "thoughts")
      (beginning-of-line)
      (magent-lsp-toggle)
      (search-forward "Let me see.")
      (test-check (not (invisible-p (1- (point))))))
    (test-check (not (buffer-modified-p (get-file-buffer test-file))))
    """)
    assert desk.status() == []


@pytest.mark.covers("reject")
def test_reject_ends_the_run_and_changes_nothing(desk: Desk, batch: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "never said"})
    batch("""
    (test-begin)
    (defvar said "")
    (advice-add 'message :before (lambda (it &rest more)
                                   (when it (setq said (concat said (apply #'format it more))))))
    (magent-lsp-prompt "Rename it")
    (test-asks)
    (test-check (string-search "(C-c m p to answer)" said))
    (test-press "n" (test-asks))
    (test-ended)
    (test-check (test-has "stopped: rejected" (test-conversation)))
    (test-check (not (test-has "never said" (test-conversation))))
    (test-check (test-has "def indent_of"))
    """)
    assert desk.status() == []


def test_reject_with_feedback_lets_it_try_again(desk: Desk, batch: Batch) -> None:
    desk.model.queue(
        calling("edit_file", path=desk.name, **RENAME),
        calling("edit_file", path=desk.name, **{**RENAME, "new_string": "def blanks_of(line"}),
        {"text": "As you like."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "Rename it")
    (test-asks)
    (with-current-buffer (test-asks)
      (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "call it blanks_of")))
        (call-interactively (key-binding "e"))))
    (test-until (and (get-buffer (magent-lsp--approval-buffer test-conn))
                     (test-has "+def blanks_of" (test-asks))))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def blanks_of"))
    """)
    assert "call it blanks_of" in json.dumps(desk.wait_requests(2)[1]["messages"][-1])


def test_allow_in_this_session_asks_no_more(desk: Desk, batch: Batch) -> None:
    desk.script(
        calling("edit_file", path=desk.name, **RENAME),
        calling("edit_file", path=desk.name, old_string="def find_shift(", new_string="def find("),
        {"text": "Both done."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "Rename both")
    (test-press "!" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation("))
    (test-check (test-has "def find("))
    """)


def test_cancel_ends_the_run_and_its_question(desk: Desk, batch: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Slow", "first_delay": 60})
    batch("""
    (test-begin)
    (magent-lsp-prompt "Rename it")
    (test-asks)
    (with-current-buffer (test-conversation) (magent-lsp-cancel-or-quit))
    (test-ended)
    (test-check (test-has "stopped: cancelled" (test-conversation)))
    (test-check (null (magent-lsp-permissions test-conn)))
    (test-until (null (get-buffer (magent-lsp--approval-buffer test-conn))))
    (test-check (test-has "def indent_of"))
    ;; Without a run, C-g is the usual one.
    (test-check (eq 'quit (condition-case err
                              (with-current-buffer (test-conversation)
                                (magent-lsp-cancel-or-quit))
                            (quit 'quit))))
    """)


@pytest.mark.covers("unsaved text")
def test_unsaved_text_survives_an_edit_and_is_not_saved(desk: Desk, batch: Batch) -> None:
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Done."})
    batch("""
    (test-begin)
    (goto-char (point-min))
    (insert "# mine, unsaved 𝄞\\n")
    (goto-char (point-max))
    (magent-lsp-prompt "Rename it")
    (test-asks)
    ;; Typed while the question is open: the edit is anchored anew.
    (with-current-buffer (get-file-buffer test-file)
      (goto-char (point-max))
      (insert "# typed meanwhile\\n"))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation("))
    (test-check (string-prefix-p "# mine, unsaved 𝄞\\n" (test-text)))
    (test-check (string-suffix-p "# typed meanwhile\\n" (test-text)))
    (test-check (buffer-modified-p (get-file-buffer test-file)))
    (with-current-buffer (get-file-buffer test-file)
      (test-check (= (point) (point-max)))
      ;; One step of undo takes the edit back, and nothing else.
      (undo-boundary)
      (undo)
      (test-check (test-has "def indent_of("))
      (test-check (test-has "# typed meanwhile")))
    """)
    assert desk.status() == []


@pytest.mark.covers("two edits")
def test_two_edits_of_one_reply_are_asked_one_after_the_other(desk: Desk, batch: Batch) -> None:
    one = calling("edit_file", path=desk.name, **RENAME)
    two = calling("edit_file", path=desk.name, old_string="BLANKS", new_string="WHITE", replace_all=True)
    desk.script({"text": "Both.", "calls": one["calls"] + two["calls"]}, {"text": "Done."})
    batch("""
    (test-begin)
    (magent-lsp-prompt "Rename both")
    (test-check (test-has "+def indentation" (test-asks)))
    (test-press "y" (test-asks))
    (test-until (and (test-has "def indentation") (magent-lsp-permissions test-conn)))
    (test-check (test-has "lstrip(WHITE)" (test-asks)))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (not (test-has "BLANKS")))
    (magent-lsp-undo-run)
    (test-until (and (test-has "BLANKS") (test-has "def indent_of")))
    """)


@pytest.mark.covers("new file")
def test_a_new_file_in_a_new_folder_is_made_and_removed_by_undo(desk: Desk, batch: Batch) -> None:
    desk.script(
        calling("write_file", path="docs/new/notes.md", content="# Notes\n\nλ, no newline at the end"),
        {"text": "Written."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "Write notes")
    (test-press "y" (test-asks))
    (test-ended)
    (defvar notes (expand-file-name "docs/new/notes.md" (magent-lsp-root test-conn)))
    (test-check (equal (test-disk notes) "# Notes\n\nλ, no newline at the end"))
    (magent-lsp-undo-run)
    (test-until (not (file-exists-p notes)))
    """)
    assert desk.status() == []


def test_a_closed_file_is_edited_and_saved_without_staying_open(desk: Desk, batch: Batch) -> None:
    desk.script(
        calling("read_file", path="README.md"),
        calling("edit_file", path="README.md", old_string="A project", new_string="The project"),
        {"text": "Done."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "Mend the README")
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (null (get-file-buffer (expand-file-name "README.md" (magent-lsp-root test-conn)))))
    """)
    assert (desk.root / "README.md").read_text().startswith("# The project\n")


def test_an_edit_of_the_region_only_is_highlighted_and_kept_inside(desk: Desk, batch: Batch) -> None:
    desk.script(
        calling("edit_file", path=desk.name, old_string="def find_shift(", new_string="def find("),
        calling("edit_file", path=desk.name, **RENAME),
        {"text": "Done."},
    )
    batch("""
    (test-begin)
    (goto-char (point-min))
    (search-forward "def indent_of")
    (beginning-of-line)
    (magent-lsp-prompt-region "Rename it" (point) (line-end-position 3))
    (test-asks)
    (with-current-buffer (get-file-buffer test-file)
      (let ((overlay (cl-find-if (lambda (it) (overlay-get it 'magent-lsp-run))
                                 (overlays-in (point-min) (point-max)))))
        (test-check overlay)
        (test-check (string-prefix-p "def indent_of" (buffer-substring (overlay-start overlay)
                                                                      (overlay-end overlay))))))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation("))
    ;; Outside of the region: refused before anybody was asked.
    (test-check (test-has "def find_shift("))
    (test-check (test-has "✗ edit_file" (test-conversation)))
    (with-current-buffer (get-file-buffer test-file)
      (test-check (null (cl-find-if (lambda (it) (overlay-get it 'magent-lsp-run))
                                    (overlays-in (point-min) (point-max))))))
    """)


def test_the_second_prompt_goes_on_with_the_session(desk: Desk, batch: Batch) -> None:
    desk.model.queue({"text": "One."}, {"text": "Two."}, {"text": "Three."})
    batch("""
    (test-begin)
    (magent-lsp-prompt "First question")
    (test-ended)
    (magent-lsp-prompt "Second question")
    (test-ended)
    (magent-lsp-new-session)
    (magent-lsp-prompt "Third question")
    (test-ended)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt names &rest _)
                 (cl-find-if (lambda (it) (string-prefix-p "First" it)) (all-completions "" names)))))
      (magent-lsp-choose-session))
    (test-check (magent-lsp-session test-conn))
    """)
    requests = desk.wait_requests(3)
    assert "First question" in json.dumps(requests[1]["messages"])
    assert "First question" not in json.dumps(requests[2]["messages"])


def test_pickers_and_the_doctor(desk: Desk, batch: Batch) -> None:
    desk.script({"text": "A plan."})
    batch("""
    (test-begin)
    (defvar offered nil)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt names &rest _) (setq offered (all-completions "" names)) "plan")))
      (magent-lsp-choose-agent))
    (test-check (member "build" offered))
    (test-check (not (member "explore" offered)))
    (test-check (equal (magent-lsp-agent test-conn) "plan"))
    (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) "")))
      (dolist (command '(magent-lsp-choose-agent magent-lsp-actions))
        (test-check (equal "Nothing was chosen" (condition-case err
                                                    (call-interactively command)
                                                  (user-error (cadr err)))))))
    (magent-lsp-prompt "Plan it")
    (test-ended)
    (with-current-buffer (test-conversation)
      (test-check (string-search "plan · scripted:" (magent-lsp--header))))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt names &rest _) (car (append names nil)))))
      (call-interactively #'magent-lsp-choose-model))
    (test-check (string-prefix-p "scripted:" (magent-lsp-model test-conn)))
    (magent-lsp-doctor)
    (test-until (cl-find-if (lambda (it) (string-prefix-p "magent-doctor" (buffer-name it)))
                            (buffer-list)))
    """)


def test_actions_at_point_bring_what_flymake_says(desk: Desk, batch: Batch) -> None:
    desk.model.queue({"text": "Mended."})
    batch("""
    (test-begin)
    (require 'flymake)
    (setq flymake-diagnostic-functions
          (list (lambda (report &rest _)
                  (funcall report (list (flymake-make-diagnostic
                                         (current-buffer) 1 20 :warning "too much docstring"))))))
    (flymake-mode 1)
    (flymake-start)
    (test-until (flymake-diagnostics))
    (goto-char (point-min))
    (defvar offered nil)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt names &rest _)
                 (setq offered (all-completions "" names)) "Fix: too much docstring")))
      (call-interactively #'magent-lsp-actions))
    (test-ended)
    (test-check (member "Improve" offered))
    (test-check (member "Explain" offered))
    """)
    assert "too much docstring" in json.dumps(desk.wait_requests(1)[0]["messages"])


def test_evaluation_is_asked_for_and_answers_as_lisp_would(desk: Desk, batch: Batch) -> None:
    batch(
        """
    (test-begin)
    (defun answer-of (method params)
      (let ((later (magent-lsp--make-later :conn test-conn)) (answer 'none))
        (cl-letf (((symbol-function 'magent-lsp-answer)
                   (lambda (_ result &optional err)
                     (setq answer (or err result)))))
          (magent-lsp-handle-request method params later)
          (test-until (not (eq answer 'none))))
        answer))
    (test-check (equal (answer-of 'magent/eval '(:code "(setq x 1)\\n(+ x 41) ; the end"))
                       '(:value "42")))
    (test-check (string-match-p "no-such" (plist-get (answer-of 'magent/eval '(:code "no-such"))
                                                     :error)))
    (test-check (plist-get (answer-of 'magent/eval '(:code "(foo")) :error))
    (test-check (equal (answer-of 'magent/eval '(:code "(string #xd800)")) '(:value "\\"\ufffd\\"")))
    (setq magent-lsp-allow-eval nil)
    (test-check (plist-get (answer-of 'magent/eval '(:code "1")) :error))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) "blue")))
      (test-check (equal (answer-of 'magent/input '(:title "Colour" :message "Which?"))
                         '(:value "blue"))))
    (cl-letf (((symbol-function 'completing-read-multiple) (lambda (&rest _) '("a" "b"))))
      (test-check (equal (answer-of 'magent/input '(:title "T" :message "M" :options ["a" "b" "c"]
                                                    :multiple t))
                         '(:value ["a" "b"]))))
    (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (signal 'quit nil))))
      (test-check (null (answer-of 'magent/input '(:title "T" :message "M")))))
    (answer-of 'magent/showDiff (list :uri (magent-lsp--path-uri test-file) :title "Look"
                                      :original "a\\nb\\n" :modified "a\\nc\\n"))
    (test-until (with-current-buffer "*magent diff indent.py*"
                  (goto-char (point-min))
                  (search-forward "+c" nil t)))
    """
    )


@pytest.mark.covers("killed")
def test_the_server_is_started_again_after_its_death(desk: Desk, batch: Batch) -> None:
    desk.script({"text": "Here I am."})
    batch("""
    (test-begin)
    (delete-process (jsonrpc--process test-conn))
    (test-until (not (magent-lsp-current)))
    (magent-lsp-ask "")
    (setq test-conn (magent-lsp-current))
    (test-ended)
    (test-check (test-has "Here I am." (test-conversation)))
    (let (said)
      (cl-letf (((symbol-function 'message) (lambda (&rest it) (push (apply #'format it) said))))
        (magent-lsp-shutdown test-conn))
      (test-check (string-search "has ended" (car said)))
      ;; It ends by itself, and is not killed.
      (test-check (cl-some (lambda (it) (string-search "exited with status 0" it)) said)))
    (test-check (null (magent-lsp-current)))
    """)


def test_a_missing_server_is_said_with_what_to_do(desk: Desk, batch: Batch) -> None:
    out = batch("""
    (require 'magent-lsp)
    (setq magent-lsp-server-command '("no-such-program"))
    (find-file test-file)
    (magent-lsp-mode 1)
    (princ (condition-case err (magent-lsp-ensure) (user-error (cadr err))))
    (test-check (string-search "was started here" (condition-case err (magent-lsp-show-stderr)
                                                    (user-error (cadr err)))))
    (setq magent-lsp-server-command '("sh" "-c" "echo I am broken >&2; exit 3"))
    (princ (condition-case err (magent-lsp-ensure) (user-error (cadr err))))
    (defun window-that-says-it ()
      (cl-find-if (lambda (window) (test-has "I am broken" (window-buffer window))) (window-list)))
    (test-until (window-that-says-it))
    (delete-other-windows)
    (magent-lsp-show-stderr)
    (test-check (window-that-says-it))
    """)
    assert "checkout of magent-lsp" in out
    assert "did not start" in out


def test_a_start_warns_of_nothing(desk: Desk, batch: Batch) -> None:
    """With the jsonrpc that Emacs brings, or a newer one whose folder `MAGENT_TEST_JSONRPC` names."""
    newer = os.environ.get("MAGENT_TEST_JSONRPC")
    load = f'(add-to-list \'load-path "{newer}")' if newer else ""
    batch(f"""
    {load}
    (defvar warnings nil)
    (advice-add 'display-warning :before (lambda (&rest warning) (push warning warnings)))
    (test-begin)
    (test-check (null warnings))
    ;; Messages are not kept a second time.
    (magent-lsp-call test-conn "magent.agents")
    (let ((events (get-buffer (format "*%s events*" (jsonrpc-name test-conn)))))
      (test-check (or (null events) (not (test-has "magent.agents" events)))))
    """)


def test_a_proposal_is_changed_in_a_buffer(desk: Desk, batch: Batch) -> None:
    desk.model.queue(
        calling("propose", title="Commit message", content="Mend 100% of it\n\nAll of it."),
        calling("propose", title="Another", content="No"),
        {"text": "As you like."},
    )
    batch("""
    (test-begin)
    (magent-lsp-prompt "Propose")
    (with-current-buffer (test-until (get-buffer "*magent proposal*"))
      (test-check (equal (buffer-string) "Mend 100% of it\n\nAll of it."))
      (test-check (string-search "Commit message: C-c C-c" header-line-format))
      (goto-char (point-max))
      (insert " And more.")
      (narrow-to-region (- (point) 5) (point))
      (prog-mode)
      (insert #x3fffff)
      (test-check (string-search "no text" (condition-case err (test-press "C-c C-c" (current-buffer))
                                             (user-error (cadr err)))))
      (delete-char -1))
    ;; Where it cannot be seen any more.
    (switch-to-buffer (get-file-buffer test-file))
    (delete-other-windows)
    (magent-lsp-answer-approval)
    (test-check (equal (buffer-name (window-buffer)) "*magent proposal*"))
    (test-press "C-c C-c" (window-buffer))
    (test-until (when-let ((buffer (get-buffer "*magent proposal*")))
                  (equal (test-text buffer) "No")))
    (kill-buffer "*magent proposal*")
    (test-ended)
    """)
    first, second = (desk.wait_requests(3)[number]["messages"][-1]["content"] for number in (1, 2))
    assert "All of it. And more." in first
    assert "Rejected" in second


@pytest.mark.parametrize("end", ["(magent-lsp-cancel)", "(delete-process (jsonrpc--process test-conn))"])
def test_a_proposal_for_which_nobody_waits_keeps_its_text(desk: Desk, batch: Batch, end: str) -> None:
    desk.script(calling("propose", title="Commit message", content="Mend it"), {"text": "never said"})
    batch(f"""
    (test-begin)
    (magent-lsp-prompt "Propose")
    (switch-to-buffer (test-until (get-buffer "*magent proposal*")))
    (insert "What I wrote. ")
    (with-current-buffer (test-conversation) {end})
    (test-until (null (magent-lsp-runs test-conn)))
    (test-check (string-search "Nobody waits"
                               (condition-case err (test-press "C-c C-c" (current-buffer))
                                 (user-error (cadr err)))))
    (test-check (test-has "What I wrote. Mend it" "*magent proposal*"))
    (test-press "C-c C-k" (current-buffer))
    (test-check (null (get-buffer "*magent proposal*")))
    """)


def test_the_agent_asks_and_runs_lisp_that_was_allowed(desk: Desk, batch: Batch) -> None:
    desk.model.queue(
        calling("ask_user", question="Which colour?", options=["red", "blue"]),
        calling("editor_eval", code="(+ 40 2)"),
        calling("ask_user", question="Which way?"),
        {"text": "Done."},
    )
    batch("""
    (test-begin)
    (advice-add 'completing-read :override
                (lambda (prompt names &rest _)
                  (test-check (string-search "Which colour?" prompt))
                  (test-check (equal (all-completions "" names) '("red" "blue")))
                  "blue"))
    ;; What is no text cannot be sent; the run goes on all the same.
    (advice-add 'read-string :override (lambda (&rest _) (string #x3fffff)))
    (magent-lsp-prompt "Ask me")
    (with-current-buffer (test-asks)
      (test-check (test-has "(+ 40 2)" (current-buffer))))
    (test-press "y" (test-asks))
    (test-ended)
    """)
    asked, evaluated = (desk.wait_requests(3)[number]["messages"][-1]["content"] for number in (1, 2))
    assert "blue" in asked
    assert "42" in evaluated


def test_an_end_that_comes_in_one_piece_with_an_answer_is_seen(desk: Desk, batch: Batch) -> None:
    desk.server[:0] = [sys.executable, str(ONE_PIECE), "run_finished"]
    desk.script({"text": "Here."})
    batch("""
    (test-begin)
    (magent-lsp-call test-conn "magent.prompt" '(:prompt "Where?"))
    (test-ended)
    (test-check (test-has "Here." (test-conversation)))
    """)
