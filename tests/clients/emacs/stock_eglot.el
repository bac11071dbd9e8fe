;;; stock_eglot.el --- Our server as the only one of stock Eglot  -*- lexical-binding: t; -*-

;;; Commentary:

;; Nothing of the client of our own is loaded here: a person has Eglot,
;; and one line of configuration.

;;; Code:

(require 'eglot)
(setq eglot-confirm-server-initiated-edits nil
      eglot-sync-connect 30
      eglot-autoshutdown nil)
(add-to-list 'eglot-server-programs `(python-mode . ,test-server))

;; A batch Emacs is never idle, so that Eglot would never tell of changes.
(run-at-time 0.5 0.5
             (lambda ()
               (dolist (buffer (buffer-list))
                 (with-current-buffer buffer
                   (when (bound-and-true-p eglot--managed-mode)
                     (eglot--signal-textDocument/didChange))))))

(defvar test-choices nil
  "Pairs of a regular expression in a prompt and what to choose then.")
(defvar test-prompts nil "What was asked, newest first, with the candidates.")

(defun test-completing-read (prompt candidates &rest _)
  "Choose as `test-choices' says for PROMPT among CANDIDATES."
  (let ((names (all-completions "" candidates)))
    (push (cons prompt names) test-prompts)
    (let* ((choice (or (cdr (cl-find-if (lambda (it) (string-match-p (car it) prompt)) test-choices))
                       (test-fail (list 'unexpected prompt names))))
           (name (if (functionp choice) (funcall choice)
                   (cl-find-if (lambda (it) (string-prefix-p choice it)) names))))
      (or name (test-fail (list 'not-offered choice names))))))

(advice-add 'completing-read :override #'test-completing-read)
(advice-add 'y-or-n-p :override (lambda (prompt) (push (list prompt) test-prompts) t))

(defvar test-messages nil "What was said, newest first.")
(advice-add 'message :before
            (lambda (format &rest arguments)
              (when format
                (push (apply #'format-message format arguments) test-messages))))

(defun test-said (regexp)
  "Return non-nil if something that matches REGEXP was said."
  (cl-some (lambda (it) (string-match-p regexp it)) test-messages))

(defun test-eglot ()
  "Visit the test's file and connect."
  (find-file test-file)
  (apply #'eglot (eglot--guess-contact))
  (test-until eglot--managed-mode))

(defun test-action (title &optional beg end)
  "Choose the code action TITLE for the text from BEG to END."
  (setf (alist-get "Pick an action" test-choices nil nil #'equal) title)
  (let ((last-nonmenu-event ?x))
    (eglot-code-actions (or beg (point)) end nil t)))

(defun test-command (name &rest arguments)
  "Execute the command NAME with the plist ARGUMENTS."
  (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                   (list :command name :arguments (if arguments (vector arguments) []))))

(provide 'test-eglot)
;;; stock_eglot.el ends here
