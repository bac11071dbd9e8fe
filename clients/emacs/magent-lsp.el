;;; magent-lsp.el --- An AI coding agent behind the Language Server Protocol  -*- lexical-binding: t; -*-

;; Copyright (C) 2025 The magent-lsp authors

;; Author: The magent-lsp authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Talks to magent-lsp over a connection of its own, so that Eglot or
;; lsp-mode can go on with the language servers they have.
;;
;;     (require 'magent-lsp)
;;     (global-magent-lsp-mode)
;;
;; Then `C-c m m' prompts, with the region if there is one, and the
;; answer appears in a conversation buffer.  Nothing is changed before
;; you have seen it: `y' in the approval buffer allows an edit, `n'
;; rejects it.  `C-c m C-h' lists all keys.

;;; Code:

(require 'magent-lsp-connection)
(require 'magent-lsp-edit)
(require 'magent-lsp-ask)
(require 'magent-lsp-view)
(require 'magent-lsp-approval)
(require 'magent-lsp-choose)

(declare-function flymake-diagnostics "flymake")
(declare-function flymake-diagnostic-beg "flymake")
(declare-function flymake-diagnostic-data "flymake")
(declare-function flymake-diagnostic-end "flymake")
(declare-function flymake-diagnostic-text "flymake")
(declare-function flymake-diagnostic-type "flymake")

(defvar magent-lsp-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "m") #'magent-lsp-prompt)
    (define-key map (kbd "r") #'magent-lsp-prompt-region)
    (define-key map (kbd "q") #'magent-lsp-ask)
    (define-key map (kbd ".") #'magent-lsp-actions)
    (define-key map (kbd "c") #'magent-lsp-show-conversation)
    (define-key map (kbd "p") #'magent-lsp-answer-approval)
    (define-key map (kbd "k") #'magent-lsp-cancel)
    (define-key map (kbd "t") #'magent-lsp-steer)
    (define-key map (kbd "u") #'magent-lsp-undo-run)
    (define-key map (kbd "U") #'magent-lsp-redo-run)
    (define-key map (kbd "a") #'magent-lsp-choose-agent)
    (define-key map (kbd "M") #'magent-lsp-choose-model)
    (define-key map (kbd "n") #'magent-lsp-new-session)
    (define-key map (kbd "s") #'magent-lsp-choose-session)
    (define-key map (kbd "T") #'magent-lsp-trust)
    (define-key map (kbd "d") #'magent-lsp-doctor)
    map)
  "Commands of `magent-lsp-mode', behind `magent-lsp-prefix'.")

(defvar magent-lsp-mode-map (make-sparse-keymap)
  "Keys of `magent-lsp-mode'.")

(defcustom magent-lsp-prefix "C-c m"
  "Keys before the commands of `magent-lsp-mode'."
  :type 'string
  :group 'magent-lsp
  :set (lambda (symbol value)
         ;; The buffers of our own, which are no files, have the commands too.
         (dolist (map (list magent-lsp-mode-map magent-lsp-conversation-mode-map
                            magent-lsp-approval-mode-map magent-lsp-proposal-mode-map))
           (when (boundp symbol)
             (define-key map (kbd (symbol-value symbol)) nil))
           (define-key map (kbd value) magent-lsp-command-map))
         (set-default symbol value)))

;;;###autoload
(define-minor-mode magent-lsp-mode
  "Let the agent see and edit this buffer; commands are behind a prefix.
\\{magent-lsp-mode-map}"
  :lighter (:eval (magent-lsp--lighter))
  :keymap magent-lsp-mode-map
  :group 'magent-lsp
  (let ((hooks '((before-change-functions . magent-lsp--before-change)
                 (after-change-functions . magent-lsp--after-change)
                 (after-save-hook . magent-lsp--saved)
                 (after-revert-hook . magent-lsp--reverted)
                 (after-set-visited-file-name-hook . magent-lsp--renamed)
                 (change-major-mode-hook . magent-lsp--close)
                 (kill-buffer-hook . magent-lsp--close))))
    (pcase-dolist (`(,hook . ,function) hooks)
      (if magent-lsp-mode
          (add-hook hook function nil t)
        (remove-hook hook function t)))
    (if magent-lsp-mode
        (when-let ((conn (and (magent-lsp--file-p) (magent-lsp-current))))
          (magent-lsp--open conn))
      (magent-lsp--close))))

(defun magent-lsp--turn-on ()
  "Turn on `magent-lsp-mode' where it is of use: in files that are shown as text."
  (unless (or (not (magent-lsp--file-p))
              (derived-mode-p 'special-mode)
              (eq 'special (get major-mode 'mode-class))
              (not enable-multibyte-characters))
    (magent-lsp-mode 1)))

;;;###autoload
(define-globalized-minor-mode global-magent-lsp-mode magent-lsp-mode magent-lsp--turn-on
  :group 'magent-lsp)

(defun magent-lsp--lighter ()
  "Return what the mode line says of the agent."
  (let ((conn (magent-lsp--connection-here)))
    (cond ((null conn) " Magent")
          ((magent-lsp-permissions conn)
           (propertize " Magent:asks you" 'face 'warning))
          ((magent-lsp-progress conn)
           (concat " Magent:" (string-replace "%" "%%" (magent-lsp-doing conn 22))))
          (t " Magent"))))

(defun magent-lsp--connection-here ()
  "Return the connection of the current buffer without looking for a project."
  (let ((conn (or magent-lsp--connection magent-lsp--opened)))
    (and (magent-lsp--live-p conn) conn)))

;;;; Where the person is

(defun magent-lsp--place (&optional beg end)
  "Return URI and range of the region from BEG to END, or of point, as a plist."
  (when (magent-lsp--file-p)
    (list :uri (or (and magent-lsp--opened magent-lsp--uri)
                   (magent-lsp--path-uri buffer-file-name))
          :range (magent-lsp--range (or beg (point)) (or end beg (point))))))

(defun magent-lsp--place-here ()
  "Return URI and range of the active region, or of point."
  (if (use-region-p)
      (magent-lsp--place (region-beginning) (region-end))
    (magent-lsp--place)))

(defun magent-lsp--ready ()
  "Return the connection of the current buffer, with the buffer known to it."
  (let ((conn (magent-lsp-ensure)))
    (when (and (magent-lsp--file-p) (not magent-lsp-mode))
      (magent-lsp-mode 1))
    (magent-lsp--open conn)
    conn))

(defvar magent-lsp-history nil "Prompts that were given.")

(defun magent-lsp--read-prompt (conn prompt)
  "Read what to tell the agent of CONN, with PROMPT; TAB completes /commands."
  (let ((names nil))
    (minibuffer-with-setup-hook
        (lambda ()
          (local-set-key (kbd "TAB") #'completion-at-point)
          (add-hook 'completion-at-point-functions
                    (lambda ()
                      (let ((start (minibuffer-prompt-end)))
                        (when (eq (char-after start) ?/)
                          (unless names
                            (setq names (mapcar (lambda (it) (concat "/" (plist-get it :name)))
                                                (magent-lsp-call conn "magent.slashCommands"))))
                          (list start (point) names))))
                    nil t))
      (read-from-minibuffer prompt nil (let ((map (make-sparse-keymap)))
                                         (set-keymap-parent map minibuffer-local-map)
                                         map)
                            nil 'magent-lsp-history))))

;;;; Commands

(defun magent-lsp--start-run (conn command arguments)
  "Execute COMMAND with ARGUMENTS on CONN in its session, and show it."
  (magent-lsp-show-conversation conn)
  (magent-lsp-send
   conn command
   `(,@arguments
     ,@(and (magent-lsp-session conn) (list :sessionId (magent-lsp-session conn))))
   (lambda (result)
     (setf (magent-lsp-session conn) (plist-get result :sessionId)))))

(defun magent-lsp--choices (conn)
  "Return the agent and the model that were chosen for CONN, as a plist."
  `(,@(and (magent-lsp-agent conn) (list :agent (magent-lsp-agent conn)))
    ,@(and (magent-lsp-model conn) (list :model (magent-lsp-model conn)))))

;;;###autoload
(defun magent-lsp-prompt (prompt &optional scope)
  "Give the agent a PROMPT; it sees the region, or where point is.
With a prefix argument choose the SCOPE that it may edit."
  (interactive
   (let ((conn (magent-lsp--ready)))
     (list (magent-lsp--read-prompt conn (if (use-region-p) "Prompt on the region: " "Prompt: "))
           (and current-prefix-arg
                (completing-read "It may edit: " '("line" "region" "buffer" "directory" "project")
                                 nil t)))))
  (when (string-blank-p prompt)
    (user-error "Say what to do"))
  (let ((conn (magent-lsp--ready)))
    (magent-lsp--start-run conn "magent.prompt"
                           `(:prompt ,prompt ,@(magent-lsp--place-here)
                             ,@(and scope (list :scope scope))
                             ,@(magent-lsp--choices conn)))))

;;;###autoload
(defun magent-lsp-prompt-region (prompt beg end)
  "Give the agent a PROMPT; it may edit only the lines from BEG to END."
  (interactive
   (let ((conn (magent-lsp--ready)))
     (unless (use-region-p)
       (user-error "Select the lines first"))
     (list (magent-lsp--read-prompt conn "Change the region: ")
           (region-beginning) (region-end))))
  (let ((conn (magent-lsp--ready)))
    (magent-lsp--start-run conn "magent.prompt"
                           `(:prompt ,prompt ,@(magent-lsp--place beg end) :scope "region"
                             ,@(magent-lsp--choices conn)))
    (deactivate-mark)))

;;;###autoload
(defun magent-lsp-ask (question)
  "Ask a QUESTION about the region or what is at point; nothing is changed.
An empty question has it explained."
  (interactive
   (let ((conn (magent-lsp--ready)))
     (list (magent-lsp--read-prompt conn "Question (empty: explain): "))))
  (let ((conn (magent-lsp--ready)))
    (magent-lsp--start-run
     conn "magent.ask"
     `(,@(or (magent-lsp--place-here) (user-error "This buffer is no file"))
       ,@(unless (string-blank-p question) (list :question question))))))

(defun magent-lsp--diagnostics (beg end)
  "Return what Flymake says of the text from BEG to END, as LSP has it."
  (when (bound-and-true-p flymake-mode)
    (mapcar
     (lambda (it)
       (let* ((data (flymake-diagnostic-data it))
              ;; Eglot keeps what its server said.
              (said (and (proper-list-p data) (cdr-safe (assq 'eglot-lsp-diag data)))))
         (append (list :range (magent-lsp--range (flymake-diagnostic-beg it)
                                                 (flymake-diagnostic-end it)))
                 (if said
                     (list :message (plist-get said :message)
                           :severity (plist-get said :severity)
                           :source (plist-get said :source)
                           :code (plist-get said :code))
                   (list :message (flymake-diagnostic-text it)
                         :severity (pcase (flymake-diagnostic-type it)
                                     (:error 1) (:warning 2) (_ 3)))))))
     (flymake-diagnostics beg end))))

(defun magent-lsp-actions (beg end)
  "Choose one of the agent's actions for the text from BEG to END.
Interactively for the region, or for the line of point."
  (interactive (if (use-region-p)
                   (list (region-beginning) (region-end))
                 (list (line-beginning-position) (line-end-position))))
  (let* ((conn (magent-lsp--ready))
         (place (or (magent-lsp--place beg end) (user-error "This buffer is no file")))
         (actions (progn
                    (magent-lsp--flush-all conn)
                    (append (magent-lsp-request
                             conn :textDocument/codeAction
                             (list :textDocument (list :uri (plist-get place :uri))
                                   :range (plist-get place :range)
                                   :context (list :diagnostics
                                                  (vconcat (magent-lsp--diagnostics beg end))))
                             10)
                            nil)))
         (titles (mapcar (lambda (it) (string-remove-prefix "Magent: " (plist-get it :title)))
                         actions))
         (choice (magent-lsp--position-of
                  (completing-read "Action: " (magent-lsp--in-order titles) nil t) titles))
         (command (plist-get (nth choice actions) :command)))
    (if (member (plist-get command :command) '("magent.prompt" "magent.ask"))
        (magent-lsp--start-run conn (plist-get command :command)
                               (aref (plist-get command :arguments) 0))
      (magent-lsp-send conn (plist-get command :command)
                       (aref (plist-get command :arguments) 0)))))

(defun magent-lsp-show-conversation (&optional conn)
  "Show the conversation of CONN, by default of this project."
  (interactive)
  (let ((buffer (magent-lsp-conversation (or conn (magent-lsp-ensure)))))
    (unless (get-buffer-window buffer)
      (with-current-buffer buffer (goto-char (point-max)))
      (when-let ((window (display-buffer buffer)))
        (set-window-point window (with-current-buffer buffer (point-max)))))))

(defun magent-lsp-answer-approval ()
  "Go to where the agent asks for a permission, or proposes a text."
  (interactive)
  ;; A question of another project is announced here, too.
  (let* ((here (magent-lsp-current))
         (conns (cons here (hash-table-values magent-lsp--connections)))
         (conn (or (seq-find (lambda (conn)
                               (and (magent-lsp--live-p conn)
                                    (or (magent-lsp-permissions conn)
                                        (magent-lsp-open-proposal conn))))
                             conns)
                   (user-error "The agent waits for no answer"))))
    (if (magent-lsp-permissions conn)
        ;; That of another project may not be the one that was announced: it is to be read first.
        (let ((magent-lsp-select-approval t))
          (magent-lsp-show-approval conn (or (null here) (eq conn here))))
      (pop-to-buffer (magent-lsp-open-proposal conn)))))

(defun magent-lsp-cancel ()
  "Cancel all that the agent does in this project."
  (interactive)
  (let ((conn (or (magent-lsp-current) (user-error "No magent server runs here"))))
    (magent-lsp-send conn "magent.cancel" nil
                     (lambda (result)
                       (message (if (seq-empty-p (plist-get result :cancelled))
                                    "Magent: nothing runs"
                                  "Magent: cancelled"))))))

(defun magent-lsp-steer (text)
  "Tell the run that is on TEXT; it takes it in between two steps.
A run that another program began is told only if there is no other."
  (interactive (list (read-string "Tell it: ")))
  (let* ((conn (or (magent-lsp-current) (user-error "No magent server runs here")))
         (runs (magent-lsp-runs conn))
         (run (or (seq-find (lambda (run) (not (member run (magent-lsp--guests conn)))) runs)
                  (car runs)
                  (user-error "Nothing runs; prompt instead"))))
    (magent-lsp-send conn "magent.steer" (list :runId run :message text)
                     (lambda (result)
                       (message (if (eq t (plist-get result :ok))
                                    "Magent will hear it before its next step"
                                  "Magent: the run has ended"))))))

(defun magent-lsp--take-back (command done)
  "Execute COMMAND for the last run; DONE is the word for what was done."
  (let* ((conn (magent-lsp-ensure))
         (run (or (magent-lsp-last-run conn) (user-error "No run has changed anything yet"))))
    (magent-lsp-send
     conn command (list :runId run)
     (lambda (result)
       (cl-flet ((names (uris) (mapconcat (lambda (uri) (file-name-nondirectory uri)) uris ", ")))
         (let ((files (names (plist-get result :restored)))
               (left (names (plist-get result :conflicts))))
           (message "Magent: %s%s"
                    (if (string-empty-p files) (format "nothing was %s" done)
                      (format "%s: %s" done files))
                    (if (string-empty-p left) ""
                      (format "; changed since, so left alone: %s" left)))))))))

(defun magent-lsp-undo-run ()
  "Take back all edits of the last run; what you changed since stays."
  (interactive)
  (magent-lsp--take-back "magent.undo" "taken back"))

(defun magent-lsp-redo-run ()
  "Bring back what `magent-lsp-undo-run' took."
  (interactive)
  (magent-lsp--take-back "magent.redo" "brought back"))

(defun magent-lsp-trust ()
  "Have the project's own configuration shown, and decide whether to trust it."
  (interactive)
  (magent-lsp-send (magent-lsp-ensure) "magent.trust"))

(defun magent-lsp-doctor ()
  "Show what is configured, what is missing, and how to mend it."
  (interactive)
  (magent-lsp-send (magent-lsp-ensure) "magent.doctor"))

(provide 'magent-lsp)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp.el ends here
