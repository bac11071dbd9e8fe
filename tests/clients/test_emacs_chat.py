"""Chats: in stock Eglot 1.9, which may ask for each edit, the answer comes in one; and in our client."""

from collections.abc import Callable

import pytest

from tests.support.editors import Desk, calling
from tests.support.emacs import SUPPORT

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

Batch = Callable[[str], str]

BEGIN = f"""
(load "{SUPPORT.with_name("stock_eglot.el")}" nil t)
(setq eglot-server-programs `(((python-mode text-mode) . ,test-server)))
(add-to-list 'auto-mode-alist '("\\\\.magent\\\\.md\\\\'" . text-mode))
(defvar test-edits 0)
(advice-add 'eglot--apply-workspace-edit :before (lambda (&rest _) (cl-incf test-edits)))
(defun chat-has (text) (string-search text (buffer-string)))
(defun chat-matches (regexp) (string-match-p regexp (buffer-string)))
(test-eglot)
"""

CHAT = """
(find-file (expand-file-name "talk.magent.md" (file-name-directory test-file)))
(insert "## You\\n\\nWhat does @selection do? 🦁\\n")
(test-until eglot--managed-mode)
"""


OURS = """
(require 'magent-lsp)
(setq magent-lsp-server-command test-server)
(global-magent-lsp-mode)
(defun act (title)
  (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) title)))
    (call-interactively #'magent-lsp-actions)))
"""


@pytest.fixture
def ours(batch: Batch) -> Batch:
    """Evaluates Emacs Lisp where our own client is used for all files."""
    return lambda code: batch(f"{OURS}\n{code}")


@pytest.fixture
def emacs(batch: Batch) -> Batch:
    """Evaluates Emacs Lisp where one server of stock Eglot has code and chats."""
    return lambda code: batch(f"{BEGIN}\n{code}")


def test_ask_about_a_selection_and_type_meanwhile(desk: Desk, emacs: Batch) -> None:
    desk.model.queue({"text": ["It finds ", "the blanks."], "delay": 1.5}, {"text": "Yes, it does."})
    emacs(f"""
    (goto-char (point-min))
    (search-forward "def indent_of")
    (test-action "Magent: Open chat" (line-beginning-position) (line-end-position))
    (test-until (test-said "write below"))
    {CHAT}
    (test-action "Magent: Send this message" (point-min) (point-min))
    (goto-char (point-max))
    (insert "Really?\\n")
    (test-until (chat-has "It finds the blanks."))
    (test-check (eql 1 test-edits))
    (test-check (chat-matches "\\\\`---\\nsession: .*\\n---\\n## You\\n\\nWhat does @selection do"))
    (test-check (chat-matches "\\n\\nIt finds the blanks\\\\.\\n\\n## You\\n\\nReally\\\\?\\n\\\\'"))
    (undo-boundary)
    ;; Until Emacs has told of the first answer, a second message is refused.
    (test-until (ignore-errors (test-command "magent.send" :uri (eglot--path-to-uri buffer-file-name))))
    (test-until (chat-has "Yes, it does."))
    (undo-boundary)
    (undo)
    (test-check (not (chat-has "Yes, it does.")))
    (test-check (chat-has "It finds the blanks."))
    (test-check (chat-matches "Really\\\\?\\n\\\\'"))
    """)
    first, second = desk.model.requests()
    assert "Selected lines" in str(first["messages"][-1])
    assert "def indent_of" in str(first["messages"][-1])
    said = [message["content"] for message in second["messages"] if message["role"] == "assistant"]
    assert said == ["It finds the blanks."]


def test_cancel(desk: Desk, emacs: Batch) -> None:
    look = calling("read_file", path=desk.name)
    desk.model.queue({**look, "text": "I look."}, {"text": ["word ", "and more"], "hold": True})
    emacs(f"""
    {CHAT}
    (erase-buffer)
    (insert "Tell me all.\\n")
    (test-action "Magent: Send this message" (point-min) (point-min))
    (test-until (with-temp-buffer (url-insert-file-contents "{desk.model.url}/_requests")
                                  (search-forward "I look." nil t)))
    (test-action "Magent: Cancel" (point-min) (point-min))
    (test-until (chat-has "> - magent: cancelled"))
    (test-check (chat-has "## You\\n\\nTell me all.\\n\\n## Magent\\n\\nI look.\\n\\n> - tool: read"))
    """)


def test_our_client_sends_it_from_a_buffer_of_no_special_mode(desk: Desk, ours: Batch) -> None:
    desk.script({"text": "All of it."})
    ours("""
    (setq auto-mode-alist nil)
    (find-file (expand-file-name "talk.magent.md" (file-name-directory test-file)))
    (test-check (eq major-mode 'fundamental-mode))
    (test-check (eq (key-binding (kbd "C-c m .")) #'magent-lsp-actions))
    (insert "Tell me all.\\n")
    (act "Send this message")
    (test-until (test-has "## Magent\\n\\nAll of it." (current-buffer)))
    """)


def test_who_waits_below_a_message_writes_the_next_one(desk: Desk, ours: Batch) -> None:
    desk.model.queue({"text": ["It was ", "a dark night."], "delay": 0.6}, {"text": "And then?"})
    ours("""
    (find-file (expand-file-name "talk.magent.md" (file-name-directory test-file)))
    (insert "## You\n\nTell me a story.\n")
    (act "Send this message")
    (test-until (test-has "It was" (current-buffer)))
    (insert "My next ")
    (test-until (test-has "a dark night." (current-buffer)))
    (insert "question\n")
    (test-until (test-has "a dark night.\n\n## You\n\nMy next question\n" (current-buffer)))
    (test-until (ignore-errors (act "Send this message") t))
    (test-until (test-has "And then?" (current-buffer)))
    (test-check (string-match-p "story\\.\n\n## Magent\n\nIt was" (buffer-string)))
    """)
    assert "My next question" in str(desk.model.requests()[-1]["messages"][-1])


def test_a_chat_that_the_server_opens_is_about_the_project_it_was_opened_in(desk: Desk, ours: Batch) -> None:
    """The document lies outside of it, where another server would see neither files nor unsaved text."""
    desk.model.queue(calling("read_file", path=desk.name), {"text": "I saw it."})
    ours("""
    (find-file test-file)
    (goto-char (point-min))
    (insert "# mine, unsaved\\n")
    (defun chat ()
      (cl-find-if (lambda (buffer) (string-suffix-p ".magent.md" (or (buffer-file-name buffer) "")))
                  (buffer-list)))
    (act "Open chat")
    (test-until (chat))
    (with-current-buffer (chat)
      (goto-char (point-max))
      (insert "Read it.\\n")
      (act "Send this message")
      (test-until (test-has "I saw it." (current-buffer))))
    (test-check (eql 1 (hash-table-count magent-lsp--connections)))
    """)
    assert "# mine, unsaved" in str(desk.model.requests()[-1]["messages"])
