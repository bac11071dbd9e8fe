;;; support.el --- What the tests in a real Emacs share  -*- lexical-binding: t; -*-

;;; Commentary:

;; Loaded by `tests/clients/test_emacs*.py' before a test's own forms.
;; The environment names the place: EMACS_TEST_FILE, EMACS_TEST_SERVER
;; (the server's command, as Lisp) and EMACS_TEST_CLIENT (the folder of
;; magent-lsp.el).

;;; Code:

(package-initialize)
(require 'cl-lib)
(require 'subr-x)
(add-to-list 'load-path (getenv "EMACS_TEST_CLIENT"))
(setq create-lockfiles nil make-backup-files nil
      native-comp-async-report-warnings-errors nil
      vc-handled-backends '(Git)
      inhibit-startup-screen t)
(setq-default case-fold-search nil)

(defvar test-file (getenv "EMACS_TEST_FILE"))
(defvar test-server (read (getenv "EMACS_TEST_SERVER")))

(defmacro test-until (form &optional seconds)
  "Wait until FORM is true and return its value; fail after SECONDS."
  `(let ((end (+ (float-time) (or ,seconds 45))) (value nil))
     (while (not (setq value ,form))
       (when (> (float-time) end)
         (test-fail '(not within time: ,form)))
       (accept-process-output nil 0.05))
     value))

(defun test-fail (what)
  "Say that WHAT did not hold, show the buffers, and end Emacs."
  (dolist (buffer (buffer-list))
    (unless (string-prefix-p " " (buffer-name buffer))
      (message "---- %s\n%s" (buffer-name buffer)
               (with-current-buffer buffer (buffer-string)))))
  (message "FAILED: %S" what)
  (kill-emacs 1))

(defmacro test-check (form)
  "Fail unless FORM is true."
  `(or ,form (test-fail ',form)))

(defun test-text (&optional buffer)
  "Return the text of BUFFER, by default of the test's file."
  (with-current-buffer (or buffer (get-file-buffer test-file))
    (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))))

(defun test-has (text &optional buffer)
  "Return non-nil if BUFFER has TEXT."
  (string-search text (test-text buffer)))

(defun test-disk (&optional file)
  "Return the text of FILE on the disk."
  (with-temp-buffer
    (insert-file-contents (or file test-file))
    (buffer-string)))

(defun test-press (key buffer)
  "Do what KEY does in BUFFER."
  (with-current-buffer buffer
    (call-interactively (key-binding (kbd key)))))

;; The client of the server's own

(defvar test-conn nil)

(defun test-begin ()
  "Visit the test's file with the client on."
  (require 'magent-lsp)
  (setq magent-lsp-server-command test-server
        ;; Nobody has to read a question before a key of a test answers it.
        magent-lsp-pause 0)
  (find-file test-file)
  (magent-lsp-mode 1)
  (setq test-conn (magent-lsp-ensure)))

(defun test-conversation ()
  "Return the conversation."
  (magent-lsp-conversation test-conn))

(defun test-asks ()
  "Wait for the approval buffer and return it."
  (test-until (and (magent-lsp-permissions test-conn)
                   (get-buffer (magent-lsp--approval-buffer test-conn)))))

(defvar test-runs 0)

(defun test-ended ()
  "Wait until one more run has ended than when this was called last."
  (cl-incf test-runs)
  (test-until (with-current-buffer (test-conversation)
                (and (null (magent-lsp-runs test-conn))
                     (>= (how-many "^\\(done\\|stopped: [a-z_]+\\)\\( · .*\\)?$"
                                   (point-min) (point-max))
                         test-runs)))))

(provide 'support)
;;; support.el ends here
