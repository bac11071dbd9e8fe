"""What the Emacs client tells the server of buffers, and what it does to them, in a real Emacs."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.editors import Desk
from tests.support.emacs import run_batch

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

MIRROR = Path(__file__).parent / "emacs/mirror_server.py"

Batch = Callable[[str], str]

HELPERS = """
(defun seen ()
  "What the server sees of the buffer."
  (magent-lsp--flush)
  (magent-lsp-call test-conn "mirror.text"
                   (list :uri (magent-lsp--path-uri buffer-file-name))))
(defun check-mirror ()
  (test-check (equal (plist-get (seen) :text) (test-text (current-buffer))))
  (test-check (eql (plist-get (seen) :version) magent-lsp--version)))
(defun apply-edit (uri version line character end-line end-character text)
  "Apply a text edit; return nil, or why it was refused."
  (condition-case err
      (progn
        (magent-lsp--apply
         test-conn
         `(:documentChanges
           [(:textDocument (:uri ,uri :version ,version)
             :edits [(:range (:start (:line ,line :character ,character)
                              :end (:line ,end-line :character ,end-character))
                      :newText ,text)])]))
        nil)
    (error (error-message-string err))))
(defun change (&rest changes)
  "Apply resource changes; return nil, or why they were refused."
  (condition-case err
      (progn (magent-lsp--apply test-conn (list :documentChanges (vconcat changes))) nil)
    (error (error-message-string err))))
(defun uri (name) (magent-lsp--path-uri (expand-file-name name (magent-lsp-root test-conn))))
(defun path (name) (expand-file-name name (magent-lsp-root test-conn)))
"""


@pytest.fixture
def mirrored(desk: Desk) -> Batch:
    """As `batch`, with a server that only mirrors."""
    at = replace(desk, server=[sys.executable, str(MIRROR)])
    return lambda code: run_batch(at, f"{HELPERS}\n(test-begin)\n{code}")


def test_the_server_sees_the_buffer_whatever_is_done_to_it(mirrored: Batch) -> None:
    mirrored("""
    (random "always the same")
    (let ((bits ["a" "xy" "\\n" "\\n\\n" "𝄞" "λ𝄞λ" "👩‍👩‍👧" "\\t" " " "\\f" "\\u2028" "word word"]))
      (dotimes (round 300)
        (let* ((beg (+ (point-min) (random (1+ (buffer-size)))))
               (end (min (point-max) (+ beg (random 40)))))
          (goto-char beg)
          (pcase (random 12)
            (0 (delete-region beg end))
            (1 (upcase-region beg end))
            (2 (kill-line))
            (3 (insert (mapconcat #'identity bits "")))
            (4 (ignore-errors (transpose-lines 1)))
            (5 (narrow-to-region beg end) (goto-char (point-max)) (insert "narrow 𝄞\\n") (widen))
            (6 (insert (aref bits (random (length bits))) (aref bits (random (length bits)))))
            (7 (capitalize-word 1))
            (8 (subst-char-in-region beg end ?a ?b))
            (9 (fill-region-as-paragraph beg end))
            (10 (let ((inhibit-modification-hooks t)) (insert "behind your back")))
            (_ (insert (aref bits (random (length bits)))))))
        (when (zerop (% round 7)) (check-mirror))))
    (check-mirror)
    (undo-boundary)
    (undo 20)
    (check-mirror)
    """)


def test_most_changes_are_sent_as_pieces(mirrored: Batch) -> None:
    mirrored("""
    (goto-char (point-max))
    (insert "𝄞a")
    (goto-char (1- (point-max)))
    (insert "é")
    (test-check (listp magent-lsp--pending))
    (test-check (equal (plist-get (plist-get (car magent-lsp--pending) :range) :start)
                       (list :line (1- (line-number-at-pos)) :character 2)))
    (check-mirror)
    (goto-char (point-min))
    (search-forward "indent")
    (backward-word)
    (upcase-word 1)
    (test-check (magent-lsp--everywhere (goto-char (point-min)) (search-forward "INDENT")))
    (check-mirror)
    """)


def test_positions_go_there_and_back(mirrored: Batch) -> None:
    mirrored("""
    (dolist (text '("" "a" "a\\n" "𝄞\\nb𝄞c\\n\\nλ" "\\n\\n𝄞𝄞" "a\\rb\\r\\nc𝄞\\rd\\n\\r"))
      (erase-buffer)
      (insert text)
      (dotimes (offset (1+ (length text)))
        (let ((place (magent-lsp--position (1+ offset))))
          (unless (and (> offset 0) (< offset (length text))
                       (eq (aref text (1- offset)) ?\\r) (eq (aref text offset) ?\\n))
            (test-check (eql (magent-lsp--point place) (1+ offset)))))))
    (erase-buffer)
    (insert "a𝄞b\\ncd")
    ;; Past the end of a line, past the last line, inside of a pair.
    (test-check (eql (magent-lsp--point '(:line 0 :character 99)) 4))
    (test-check (eql (magent-lsp--point '(:line 9 :character 9)) (point-max)))
    (test-check (eql (magent-lsp--point '(:line 0 :character 2)) 2))
    """)


def test_carriage_returns_bytes_and_links(desk: Desk, mirrored: Batch) -> None:
    (desk.root / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (desk.root / "mixed.txt").write_bytes(b"one\r\ntwo\nthree\rfour\n")
    (desk.root / "binary.txt").write_bytes(b"text\n\xff\xfe\x80\n")
    (desk.root / "with space %20 λ.txt").write_text("hello\n")
    mirrored("""
    (find-file (path "dos.txt"))
    (magent-lsp-mode 1)
    (check-mirror)
    (test-check (null (apply-edit (uri "dos.txt") 0 1 0 2 0 "zwei\\r\\ndrei\\r\\n")))
    (check-mirror)
    (test-check (equal (magent-lsp--save (uri "dos.txt")) t))
    (find-file (path "mixed.txt"))
    (magent-lsp-mode 1)
    (check-mirror)
    (test-check (null (apply-edit (uri "mixed.txt") 0 3 0 4 0 "vier\\n")))
    (check-mirror)
    (goto-char (point-min)) (search-forward "tw") (delete-char 1)
    (check-mirror)
    ;; Bytes that are no text are not sent as if they were.
    (find-file (path "binary.txt"))
    (magent-lsp-mode 1)
    (test-check (null magent-lsp--opened))
    (find-file (path "with space %20 λ.txt"))
    (magent-lsp-mode 1)
    (check-mirror)
    (test-check (equal (magent-lsp--uri-path magent-lsp--uri) buffer-file-name))
    (insert (string-to-multibyte "\\xff"))
    (magent-lsp--flush)
    (test-check (null magent-lsp--opened))
    """)
    assert (desk.root / "dos.txt").read_bytes() == b"one\r\nzwei\r\ndrei\r\n"
    assert (desk.root / "mixed.txt").read_bytes() == b"one\r\ntwo\nthree\rfour\n"


def test_save_revert_rename_and_close_are_told(desk: Desk, mirrored: Batch) -> None:
    mirrored("""
    (global-magent-lsp-mode 1)
    (insert "# new\\n")
    (check-mirror)
    (save-buffer)
    (test-check (eq :json-false (plist-get (magent-lsp-call test-conn "mirror.saved"
                                                            (list :uri magent-lsp--uri))
                                           :unsaved)))
    (insert "# more\\n")
    (revert-buffer t t)
    (check-mirror)
    (test-check (eq :json-false (plist-get (magent-lsp-call test-conn "mirror.saved"
                                                            (list :uri magent-lsp--uri))
                                           :unsaved)))
    (insert "# again\\n")
    (revert-buffer t t t)
    (check-mirror)
    (let ((old (uri "src/indent.py")))
      (write-file (path "src/other.py"))
      (check-mirror)
      (test-check (null (magent-lsp-call test-conn "mirror.text" (list :uri old)))))
    (fundamental-mode)
    (magent-lsp-mode 1)
    (check-mirror)
    (let ((other (uri "src/other.py")))
      (kill-buffer)
      (test-check (null (magent-lsp-call test-conn "mirror.text" (list :uri other)))))
    """)


def test_a_second_view_of_a_buffer_does_not_close_its_file(mirrored: Batch) -> None:
    mirrored("""
    (defvar base (current-buffer))
    (dolist (text '("# 𝄞 from the clone\\n" "a\\rb\\n"))
      (let ((clone (make-indirect-buffer base "clone" 'clone)))
        (insert "# here\\n")
        (with-current-buffer clone
          (test-check magent-lsp-mode)
          (goto-char (point-min))
          (insert text)
          (insert "more\\n"))
        (test-check magent-lsp--idle-timer)
        (check-mirror)
        (goto-char (point-max))
        (insert "# and here\\n")
        (with-current-buffer clone (insert "again\\n"))
        (kill-buffer clone)
        (check-mirror)
        (test-check (null (apply-edit magent-lsp--uri magent-lsp--version 0 0 1 0 "")))
        (check-mirror)))
    (let ((clone (make-indirect-buffer base "clone" 'clone)))
      (with-current-buffer clone (fundamental-mode) (insert "plain\\n"))
      (check-mirror)
      (with-current-buffer clone (magent-lsp-mode 1) (magent-lsp-mode -1)))
    (check-mirror)
    """)


def test_an_edit_of_the_disk_is_not_made_in_unsaved_text(mirrored: Batch) -> None:
    mirrored("""
    (test-check (null (apply-edit magent-lsp--uri nil 0 0 0 0 "# from the disk\\n")))
    (check-mirror)
    (defvar before (test-text))
    (test-check (string-match-p "not for its unsaved text"
                                (apply-edit magent-lsp--uri nil 0 0 0 0 "x")))
    (test-check (equal before (test-text)))
    """)


def test_an_edit_is_made_exactly_or_refused_with_the_reason(desk: Desk, mirrored: Batch) -> None:
    mirrored("""
    (defvar here (uri "src/indent.py"))
    (defvar before (test-text))
    (defun refused (why result)
      (test-check (stringp result))
      (test-check (string-match-p why result))
      (test-check (equal (test-text) before)))
    (refused "version 7" (apply-edit here 7 0 0 0 0 "x"))
    (setq buffer-read-only t)
    (refused "read-only" (apply-edit here 0 0 0 0 0 "x"))
    (setq buffer-read-only nil)
    ;; Typed, and not told yet: the edit was computed on another text.
    (goto-char (point-max))
    (insert "typed\\n")
    (setq before (test-text))
    (refused "just changed" (apply-edit here 0 0 0 0 0 "x"))
    (refused "version 0" (apply-edit here 0 0 0 0 0 "x"))
    (test-check (null (apply-edit here 1 0 0 0 0 "# first\\n")))
    (test-check (string-prefix-p "# first\\n" (test-text)))
    (check-mirror)
    ;; Another program wrote the file.
    (save-buffer)
    (write-region "elsewhere\\n" nil test-file nil 'quiet)
    (set-file-times test-file (time-add nil 5))
    (setq before (test-text))
    (refused "changed on the disk" (apply-edit here magent-lsp--version 0 0 0 0 "x"))
    (test-check (null (magent-lsp--save (uri "no-such-buffer"))))
    (let ((buffer-file-name nil)) (set-buffer-modified-p t))
    (test-check (null (magent-lsp--save here)))
    ;; A buffer that the server does not know, with unsaved text.
    (find-file (path "README.md"))
    (insert "unsaved ")
    (test-check (string-match-p "does not know" (apply-edit (uri "README.md") nil 0 0 0 0 "x")))
    (test-check (string-prefix-p "unsaved #" (buffer-string)))
    (test-check (string-match-p "no file" (apply-edit "untitled:x" nil 0 0 0 0 "x")))
    """)


def test_several_edits_of_one_document_are_one_step_of_undo(mirrored: Batch) -> None:
    mirrored("""
    (erase-buffer)
    (insert "one\\ntwo\\nthree\\nfour\\n")
    (magent-lsp--flush)
    (buffer-disable-undo)
    (buffer-enable-undo)
    (goto-char (point-min))
    (search-forward "thr")
    (defun at (line end text)
      `(:range (:start (:line ,line :character 0) :end (:line ,end :character 0)) :newText ,text))
    (magent-lsp--apply
     test-conn
     `(:documentChanges
       [(:textDocument (:uri ,magent-lsp--uri :version ,magent-lsp--version)
         :edits ,(vector (at 0 1 "ONE\\n") (at 1 1 "a\\n") (at 1 1 "b\\n") (at 1 2 "")
                         (at 3 4 "vier\\nfive\\n")))]))
    (test-check (equal (buffer-string) "ONE\\na\\nb\\nthree\\nvier\\nfive\\n"))
    (test-check (looking-back "thr" (line-beginning-position)))
    (check-mirror)
    (undo-boundary)
    (undo)
    (test-check (equal (buffer-string) "one\\ntwo\\nthree\\nfour\\n"))
    (check-mirror)
    """)


def test_files_are_made_moved_and_deleted_and_never_overwritten(desk: Desk, mirrored: Batch) -> None:
    (desk.root / "old.txt").write_text("old\n")
    mirrored("""
    (defun exists (name) (file-exists-p (path name)))
    (test-check (string-match-p "there already" (change `(:kind "create" :uri ,(uri "old.txt")))))
    (test-check (null (change `(:kind "create" :uri ,(uri "deep/er/new.txt")
                                :options (:ignoreIfExists t))
                              `(:textDocument (:uri ,(uri "deep/er/new.txt") :version nil)
                                :edits [(:range (:start (:line 0 :character 0)
                                                 :end (:line 0 :character 0))
                                         :newText "new λ\\n")]))))
    (test-check (magent-lsp--save (uri "deep/er/new.txt")))
    (test-check (equal (test-disk (path "deep/er/new.txt")) "new λ\\n"))
    (find-file (path "old.txt"))
    (magent-lsp-mode 1)
    (insert "unsaved")
    (test-check (string-match-p "unsaved" (change `(:kind "delete" :uri ,(uri "old.txt")))))
    (test-check (string-match-p "unsaved" (change `(:kind "rename" :oldUri ,(uri "old.txt")
                                                    :newUri ,(uri "moved.txt")))))
    (save-buffer)
    (test-check (string-match-p "there already" (change `(:kind "rename" :oldUri ,(uri "old.txt")
                                                          :newUri ,(uri "README.md")))))
    (test-check (null (change `(:kind "rename" :oldUri ,(uri "old.txt")
                                :newUri ,(uri "sub/moved.txt")))))
    (test-check (equal buffer-file-name (path "sub/moved.txt")))
    (test-check (not (buffer-modified-p)))
    (check-mirror)
    (test-check (null (change `(:kind "delete" :uri ,(uri "sub/moved.txt")))))
    (test-check (not (exists "sub/moved.txt")))
    (test-check (not (exists "old.txt")))
    (test-check (string-match-p "There is no" (change `(:kind "delete" :uri ,(uri "gone.txt")))))
    (test-check (null (change `(:kind "delete" :uri ,(uri "gone.txt")
                                :options (:ignoreIfNotExists t)))))
    (test-check (string-match-p "folder" (change `(:kind "delete" :uri ,(uri "src")))))
    ;; If one part cannot be done, no part is.
    (test-check (change `(:kind "delete" :uri ,(uri "README.md"))
                        `(:kind "delete" :uri ,(uri "gone.txt"))))
    (test-check (exists "README.md"))
    """)


def test_text_that_hides_is_shown(mirrored: Batch) -> None:
    out = mirrored("""
    (princ (json-serialize
            (vconcat (mapcar (lambda (text) (substring-no-properties (magent-lsp--reveal text)))
                             '("plain λ é 𝄞 日本\\tx\\n" "a\\u202eb" "z\\u200bw" "nb\\u00a0sp"
                               "\\x1b[31m" "\\ufeff")))))
    """)
    assert json.loads(out) == [
        "plain λ é 𝄞 日本\tx\n",
        "a\\u{202E}b",
        "z\\u{200B}w",
        "nb\\u{A0}sp",
        "\\u{1B}[31m",
        "\\u{FEFF}",
    ]
