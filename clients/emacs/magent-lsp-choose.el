;;; magent-lsp-choose.el --- What the next prompts go to  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Choosing the agent, the model and the conversation.

;;; Code:

(require 'magent-lsp-view)

(declare-function magent-lsp-show-conversation "magent-lsp" (&optional conn))

(defun magent-lsp--choose (prompt items title detail)
  "Choose one of ITEMS with PROMPT; TITLE and DETAIL are functions of an item."
  (let* ((names (mapcar title items))
         (width (apply #'max 10 (mapcar #'length names)))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (let ((item (nth (cl-position name names :test #'equal) items)))
                    (concat (make-string (- (+ 2 width) (length name)) ?\s)
                            (propertize (or (funcall detail item) "")
                                        'face 'completions-annotations))))))
         (choice (completing-read prompt (magent-lsp--in-order names) nil t)))
    (nth (magent-lsp--position-of choice names) items)))

(defun magent-lsp--position-of (choice names)
  "Return where CHOICE is in NAMES; signal an error if nothing was chosen."
  (or (cl-position choice names :test #'equal) (user-error "Nothing was chosen")))

(defun magent-lsp-choose-agent ()
  "Choose the agent of the next prompts."
  (interactive)
  (let* ((conn (magent-lsp-ensure))
         (agent (magent-lsp--choose
                 "Agent: "
                 (seq-remove (lambda (it) (equal (plist-get it :mode) "subagent"))
                             (magent-lsp-call conn "magent.agents"))
                 (lambda (it) (plist-get it :name))
                 (lambda (it) (plist-get it :description)))))
    (setf (magent-lsp-agent conn) (plist-get agent :name))
    (message "Magent: the next prompts go to %s" (plist-get agent :name))))

(defun magent-lsp-choose-model (model)
  "Choose the MODEL of the next prompts; any name that LiteLLM knows can be typed."
  (interactive
   (list (completing-read "Model: "
                          (mapcar (lambda (it) (plist-get it :model))
                                  (magent-lsp-call (magent-lsp-ensure) "magent.models")))))
  (setf (magent-lsp-model (magent-lsp-ensure)) (and (not (string-blank-p model)) model))
  (message "Magent: the next prompts go to %s"
           (if (string-blank-p model) "the model of the settings" model)))

(defun magent-lsp-new-session ()
  "Begin a new conversation with the next prompt."
  (interactive)
  (let ((conn (magent-lsp-ensure)))
    (setf (magent-lsp-session conn) nil)
    (with-current-buffer (magent-lsp-conversation conn)
      (magent-lsp--line "\n— a new session —" 'magent-lsp-quiet))))

(defun magent-lsp-choose-session ()
  "Choose a past session; the next prompts go on with it."
  (interactive)
  (let* ((conn (magent-lsp-ensure))
         (session (magent-lsp--choose
                   "Session: "
                   (append (magent-lsp-call conn "magent.sessions"
                                            (list :folder (directory-file-name
                                                           (magent-lsp-root conn))))
                           nil)
                   (lambda (it) (format "%s  %s" (or (plist-get it :title) "?")
                                        (plist-get it :sessionId)))
                   (lambda (it)
                     (when-let ((updated (plist-get it :updated)))
                       (format-time-string "%Y-%m-%d %H:%M" (date-to-time updated))))))
         (id (plist-get session :sessionId))
         (text (plist-get (magent-lsp-call conn "magent.exportSession"
                                           (list :sessionId id :format "markdown"))
                          :text)))
    (setf (magent-lsp-session conn) id)
    (with-current-buffer (magent-lsp-conversation conn)
      (magent-lsp--line "")
      (magent-lsp--stream-text id 'text text)
      (magent-lsp--end-stream))
    (magent-lsp-show-conversation conn)))

(provide 'magent-lsp-choose)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-choose.el ends here
