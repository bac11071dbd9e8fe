;;; magent-lsp-events.el --- Events as people see them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What happens in a run, drawn into the conversation as the server tells
;; it.  Questions for a permission are in magent-lsp-approval.el.

;;; Code:

(require 'magent-lsp-view)

(cl-defmethod magent-lsp-handle-notification ((_method (eql 'magent/event)) params conn)
  "Draw the event in PARAMS of CONN."
  (let* ((event (plist-get params :event))
         (kind (intern (plist-get event :type)))
         (run (plist-get params :runId)))
    (with-current-buffer (magent-lsp-conversation conn)
      (magent-lsp-draw kind event run conn))))

(cl-defgeneric magent-lsp-draw (kind event run conn)
  "Draw EVENT of KIND of RUN of CONN in the current buffer, its conversation."
  (ignore kind event run conn))

(defvar magent-lsp--children (make-hash-table :test #'equal)
  "Runs of subagents: how deep they are, and the run that a person began.")

(defun magent-lsp--depth (run)
  "Return how many runs are above RUN."
  (car (gethash run magent-lsp--children '(0))))

(defun magent-lsp--top (run)
  "Return the run under which the edits of RUN are kept."
  (or (cdr (gethash run magent-lsp--children)) run))

(cl-defmethod magent-lsp-draw ((_kind (eql 'run_queued)) event _run _conn)
  "Draw EVENT: a run waits for another one."
  (magent-lsp--line (format "queued, number %s" (plist-get event :position)) 'magent-lsp-quiet))

(cl-defmethod magent-lsp-draw ((_kind (eql 'run_started)) event run conn)
  "Draw EVENT: RUN of CONN began."
  (let ((parent (plist-get event :parentRunId))
        (prompt (plist-get event :prompt)))
    (if parent
        (let ((depth (1+ (magent-lsp--depth parent))))
          (puthash run (cons depth (magent-lsp--top parent)) magent-lsp--children)
          (magent-lsp--block (list run 'begun)
                             (propertize (format "agent %s works" (plist-get event :agent))
                                         'face 'magent-lsp-tool)
                             prompt t (* 2 depth)))
      (cl-pushnew run (magent-lsp-runs conn) :test #'equal)
      (when (equal (plist-get event :agent) "guest")
        (push run (magent-lsp--guests conn)))
      (magent-lsp--line (concat (if (bobp) "" "\n") "❯ " prompt) 'magent-lsp-you)
      (setq magent-lsp--who (format "%s · %s" (plist-get event :agent)
                                    (plist-get event :model)))
      (magent-lsp--highlight run event conn))))

(cl-defmethod magent-lsp-draw ((_kind (eql 'target_updated)) event run conn)
  "Move the highlight of RUN of CONN to where EVENT says."
  (magent-lsp--highlight run event conn))

(cl-defmethod magent-lsp-draw ((_kind (eql 'text_delta)) event run _conn)
  "Draw EVENT: a piece of the answer of RUN.
What a subagent says is the result of the call that began it."
  (when (zerop (magent-lsp--depth run))
    (magent-lsp--stream-text run 'text (plist-get event :text))))

(cl-defmethod magent-lsp-draw ((_kind (eql 'reasoning_delta)) event run _conn)
  "Draw EVENT: a piece of the reasoning of RUN."
  (when (zerop (magent-lsp--depth run))
    (magent-lsp--stream-text run 'reasoning (plist-get event :text))))

(defconst magent-lsp--marks
  '(("completed" . "✓") ("failed" . "✗") ("rejected" . "⊘") ("cancelled" . "⊘"))
  "How calls of tools end.")

(defun magent-lsp--draw-call (event run)
  "Draw the call of a tool in EVENT of RUN, or draw it again."
  (let* ((status (plist-get event :status))
         (mark (alist-get status magent-lsp--marks "…" nil #'equal))
         (key (list run (plist-get event :toolCallId)))
         (known (gethash key magent-lsp--blocks))
         (arguments (or (plist-get event :arguments)
                        (and known (overlay-get known 'magent-lsp-arguments))))
         (name (plist-get event :name)))
    (magent-lsp--block
     key
     (concat mark " " (propertize name 'face 'magent-lsp-tool)
             (let ((title (plist-get event :title)))
               (if (member title (list nil "" name)) "" (concat "  " (magent-lsp--reveal title))))
             (if (member status '("failed" "rejected" "cancelled"))
                 (propertize (concat "  " status) 'face 'warning)
               ""))
     (concat (magent-lsp--arguments arguments)
             (magent-lsp--reveal (or (plist-get event :output) "")))
     t (* 2 (magent-lsp--depth run)))
    (let ((block (gethash key magent-lsp--blocks)))
      (overlay-put block 'magent-lsp-arguments arguments))))

(defun magent-lsp--arguments (arguments)
  "Return the plist ARGUMENTS as lines."
  (cl-loop for (key value) on arguments by #'cddr
           concat (propertize
                   (magent-lsp--reveal
                    (format "%s: %s\n" (substring (symbol-name key) 1)
                            (if (stringp value) value (json-serialize
                                                       value :null-object nil
                                                       :false-object :json-false))))
                   'face 'magent-lsp-quiet)))

(cl-defmethod magent-lsp-draw ((_kind (eql 'tool_call_started)) event run _conn)
  "Draw EVENT: a call of RUN began."
  (magent-lsp--draw-call event run))

(cl-defmethod magent-lsp-draw ((_kind (eql 'tool_call_updated)) event run _conn)
  "Draw EVENT: a call of RUN moved on."
  (magent-lsp--draw-call event run))

(cl-defmethod magent-lsp-draw ((_kind (eql 'tool_call_finished)) event run _conn)
  "Draw EVENT: a call of RUN ended."
  (magent-lsp--draw-call event run))

(cl-defmethod magent-lsp-draw ((_kind (eql 'edit_applied)) event run conn)
  "Draw EVENT: an edit of RUN of CONN was tried."
  (let* ((path (magent-lsp--uri-path (plist-get event :uri)))
         (outcome (plist-get event :outcome))
         (diff (or (plist-get event :diff) ""))
         (key (list run 'edit (plist-get event :toolCallId) path)))
    ;; A run that changes nothing leaves nothing to take back.
    (unless (member outcome '("rejected" "stale"))
      (setf (magent-lsp-last-run conn) (magent-lsp--top run)))
    (magent-lsp--block
     key
     (concat (propertize (if (equal outcome "applied") "edited " (concat "edit " outcome " "))
                         'face (if (equal outcome "applied") 'success 'warning))
             (file-relative-name path (magent-lsp-root conn)))
     (magent-lsp--diff-text diff)
     (> (length (split-string diff "\n")) magent-lsp-open-lines)
     (* 2 (magent-lsp--depth run)))
    (overlay-put (gethash key magent-lsp--blocks) 'magent-lsp-path path)))

(cl-defmethod magent-lsp-draw ((_kind (eql 'todo_updated)) event run _conn)
  "Draw EVENT: the list of what RUN has to do."
  (magent-lsp--block
   (list run 'todo) "todo"
   (mapconcat (lambda (item)
                (concat (pcase (plist-get item :status)
                          ("completed" "☑ ") ("in_progress" "▶ ") (_ "☐ "))
                        (plist-get item :content)))
              (plist-get event :items) "\n")))

(cl-defmethod magent-lsp-draw ((_kind (eql 'usage_updated)) event _run _conn)
  "Keep the usage in EVENT for the header line."
  (let* ((usage (plist-get event :usage))
         (cost (plist-get usage :costUsd)))
    (setq magent-lsp--usage
          (concat (format "%s in, %s out"
                          (file-size-human-readable (or (plist-get usage :inputTokens) 0) 'si)
                          (file-size-human-readable (or (plist-get usage :outputTokens) 0) 'si))
                  (if (and (numberp cost) (> cost 0)) (format ", $%.4f" cost) "")
                  (if (eq t (plist-get usage :estimated)) " (estimated)" "")))))

(cl-defmethod magent-lsp-draw ((_kind (eql 'notice)) event _run _conn)
  "Draw EVENT: something the person should know."
  (magent-lsp--line (plist-get event :message)
                    (if (equal (plist-get event :level) "info") 'magent-lsp-quiet 'warning)))

(cl-defmethod magent-lsp-draw ((_kind (eql 'run_finished)) event run conn)
  "Draw EVENT: RUN of CONN ended."
  (magent-lsp--end-stream)
  (magent-lsp--unhighlight run)
  (remhash run magent-lsp--children)
  (cl-callf2 delete run (magent-lsp--guests conn))
  (when (member run (magent-lsp-runs conn))
    (let ((reason (plist-get event :stopReason))
          (problem (plist-get event :error))
          (edits (append (plist-get event :edits) nil)))
      (cl-callf2 delete run (magent-lsp-runs conn))
      (when problem
        (magent-lsp--line problem 'error))
      (magent-lsp--line
       (concat (if (equal reason "end_turn") "done" (concat "stopped: " reason))
               (if edits
                   (format " · %d of %d edits applied · u takes them back"
                           (cl-count "applied" edits :test #'equal
                                     :key (lambda (edit) (plist-get edit :outcome)))
                           (length edits))
                 ""))
       'magent-lsp-quiet)
      (unless (get-buffer-window nil t)
        (message "Magent: %s" (or problem (if (equal reason "end_turn") "done" reason))))))
  (force-mode-line-update t))

(provide 'magent-lsp-events)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-events.el ends here
