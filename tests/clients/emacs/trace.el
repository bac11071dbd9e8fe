;;; trace.el --- What happened in an Emacs whose test fails  -*- lexical-binding: t; -*-

;;; Commentary:

;; Loaded by every Emacs that a test runs in a terminal: the file
;; `trace' in HOME tells its commands, prompts and messages; a test
;; that does not see what it waits for shows the end of it.

;;; Code:

(defun test-trace (format &rest arguments)
  "Write a line of FORMAT and ARGUMENTS to the trace."
  (let ((line (apply #'format (concat "%s " format "\n") (format-time-string "%T.%3N") arguments)))
    (write-region line nil (expand-file-name "trace" (getenv "HOME")) t 'quiet)))

(add-hook 'pre-command-hook
          (lambda () (test-trace "%S %s" this-command (key-description (this-command-keys-vector)))))
(add-hook 'minibuffer-setup-hook (lambda () (test-trace "prompt %S" (minibuffer-prompt))))
(add-hook 'minibuffer-exit-hook
          (lambda () (test-trace "prompt ends in %S, quit %S" this-command quit-flag)))
(advice-add 'message :before
            (lambda (format &rest arguments)
              (when format (test-trace "%S" (apply #'format-message format arguments)))))

;;; trace.el ends here
