;;; magent-lsp-view.el --- What people see of the agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The conversation buffer with its blocks, and highlights of what a run
;; works on.  What is put there is in magent-lsp-events.el.

;;; Code:

(require 'magent-lsp-connection)
(require 'magent-lsp-edit)
(require 'diff-mode)

(declare-function magent-lsp-prompt "magent-lsp")
(declare-function magent-lsp-cancel "magent-lsp")
(declare-function magent-lsp-undo-run "magent-lsp")
(declare-function magent-lsp-allow-once "magent-lsp-approval")
(declare-function magent-lsp-allow-session "magent-lsp-approval")
(declare-function magent-lsp-allow-always "magent-lsp-approval")
(declare-function magent-lsp-reject "magent-lsp-approval")
(declare-function magent-lsp-reject-with-feedback "magent-lsp-approval")

(defcustom magent-lsp-open-lines 40
  "Diffs of up to so many lines are shown unfolded."
  :type 'integer
  :group 'magent-lsp)

(defface magent-lsp-you '((t :inherit (bold font-lock-keyword-face) :extend t))
  "What the person said." :group 'magent-lsp)
(defface magent-lsp-tool '((t :inherit font-lock-function-name-face))
  "The heading of a tool call." :group 'magent-lsp)
(defface magent-lsp-quiet '((t :inherit shadow))
  "Things of less interest." :group 'magent-lsp)
(defface magent-lsp-code '((t :inherit (font-lock-constant-face)))
  "Code in an answer." :group 'magent-lsp)
(defface magent-lsp-target '((t :inherit secondary-selection :extend t))
  "The lines that a run works on." :group 'magent-lsp)

;;;; Text that cannot deceive

(defun magent-lsp--reveal (text)
  "Return TEXT with invisible and direction-changing characters made visible."
  (replace-regexp-in-string
   "[^[:ascii:]]\\|[\0-\10\13-\37\177]"
   (lambda (match)
     (let ((char (aref match 0)))
       (if (or (< char 128)
               (memq (get-char-code-property char 'general-category)
                     '(Cc Cf Cs Co Cn Zl Zp))
               (memq char '(#xa0 #x3164 #xffa0 #x115f #x1160 #x2800)))
           (propertize (format "\\u{%X}" char) 'face 'escape-glyph)
         match)))
   text t t))

(defun magent-lsp--diff-text (diff)
  "Return the unified DIFF with the faces of Diff mode."
  (mapconcat
   (lambda (line)
     (propertize
      (magent-lsp--reveal line) 'face
      (cond ((string-match-p "\\`\\(---\\|\\+\\+\\+\\) " line) 'diff-file-header)
            ((string-prefix-p "@@" line) 'diff-hunk-header)
            ((string-prefix-p "+" line) 'diff-added)
            ((string-prefix-p "-" line) 'diff-removed)
            (t 'diff-context))))
   (split-string diff "\n") "\n"))

;;;; The conversation buffer

(defvar-local magent-lsp--blocks nil
  "A table of keys and the overlays of their blocks.")
(defvar-local magent-lsp--stream nil
  "What is being streamed: (RUN KIND BEGIN), or nil.")
(defvar-local magent-lsp--usage nil "What the last run used so far, as text.")
(defvar-local magent-lsp--who nil "The agent and the model of the last run.")

(defvar magent-lsp-conversation-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-g") #'magent-lsp-cancel-or-quit)
    (define-key map (kbd "TAB") #'magent-lsp-toggle)
    (define-key map (kbd "RET") #'magent-lsp-push)
    (define-key map [mouse-2] #'magent-lsp-mouse-toggle)
    (define-key map (kbd "m") #'magent-lsp-prompt)
    (define-key map (kbd "u") #'magent-lsp-undo-run)
    (define-key map (kbd "y") #'magent-lsp-allow-once)
    (define-key map (kbd "!") #'magent-lsp-allow-session)
    (define-key map (kbd "a") #'magent-lsp-allow-always)
    (define-key map (kbd "n") #'magent-lsp-reject)
    (define-key map (kbd "e") #'magent-lsp-reject-with-feedback)
    map)
  "Keys of the conversation.")

(define-derived-mode magent-lsp-conversation-mode special-mode "Magent"
  "A conversation with the agent.
\\{magent-lsp-conversation-mode-map}"
  (setq magent-lsp--blocks (make-hash-table :test #'equal)
        buffer-invisibility-spec '(magent-lsp)
        header-line-format '(:eval (magent-lsp--header)))
  (visual-line-mode 1))

(defun magent-lsp--header ()
  "Return the header line of a conversation."
  (let ((conn (magent-lsp-current)))
    (if (null conn)
        " No server; m starts it with your next prompt"
      (concat (if (magent-lsp-runs conn)
                  (concat " " (magent-lsp-doing conn 40) " · C-g cancels")
                " m: prompt")
              " · " (or magent-lsp--who (magent-lsp-agent conn) "default agent")
              (when magent-lsp--usage (concat " · " magent-lsp--usage))))))

(defun magent-lsp-doing (conn width)
  "Return what the runs of CONN do, in WIDTH columns."
  (if (magent-lsp-permissions conn)
      "waiting for you"
    (truncate-string-to-width (or (cdar (magent-lsp-progress conn)) "working")
                              width nil nil "…")))

(defun magent-lsp--conversation-buffer (conn)
  "Return the name of the conversation buffer of CONN."
  (format "*%s*" (jsonrpc-name conn)))

(defun magent-lsp-conversation (conn)
  "Return the conversation buffer of CONN."
  (let ((buffer (get-buffer-create (magent-lsp--conversation-buffer conn))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'magent-lsp-conversation-mode)
        (magent-lsp-conversation-mode))
      (setq magent-lsp--connection conn
            default-directory (magent-lsp-root conn)))
    buffer))

(defmacro magent-lsp--at-end (&rest body)
  "Evaluate BODY at the end of the conversation; windows there follow."
  (declare (indent 0) (debug t))
  `(let* ((inhibit-read-only t)
          (end (point-max))
          (following (seq-filter (lambda (window) (= (window-point window) end))
                                 (get-buffer-window-list nil nil t)))
          (follow (= (point) end)))
     (save-excursion (goto-char end) ,@body)
     (when follow (goto-char (point-max)))
     (dolist (window following) (set-window-point window (point-max)))))

(defun magent-lsp--line (text &optional face)
  "Put the line TEXT with FACE at the end of the conversation."
  (magent-lsp--end-stream)
  (magent-lsp--at-end
    (unless (bolp) (insert "\n"))
    (insert (if face (propertize text 'face face) text) "\n")))

(defun magent-lsp--block (key heading body &optional folded indent)
  "Put a block with HEADING and BODY, or renew the one of KEY.
FOLDED says whether a new one is folded; INDENT is its indentation."
  (let ((old (gethash key magent-lsp--blocks)))
    (if (and old (overlay-buffer old))
        (magent-lsp--renew-block old heading body)
      (magent-lsp--end-stream)
      (magent-lsp--at-end
        (unless (bolp) (insert "\n"))
        (let ((block (make-overlay (point) (point) nil nil nil)))
          (overlay-put block 'magent-lsp-indent (make-string (or indent 0) ?\s))
          (overlay-put block 'magent-lsp-folded folded)
          (puthash key block magent-lsp--blocks)
          (magent-lsp--draw-block block heading body))))))

(defun magent-lsp--renew-block (block heading body)
  "Draw BLOCK again, with HEADING and BODY."
  (let ((inhibit-read-only t)
        (places (mapcar (lambda (window) (cons window (window-point window)))
                        (get-buffer-window-list nil nil t)))
        (size (buffer-size)) (end (point-max)))
    (save-excursion
      (goto-char (overlay-start block))
      (delete-region (point) (overlay-end block))
      (magent-lsp--draw-block block heading body))
    (pcase-dolist (`(,window . ,place) places)
      (when (= place end)
        (set-window-point window (+ place (- (buffer-size) size)))))))

(defun magent-lsp--draw-block (block heading body)
  "Insert HEADING and BODY at point, and make BLOCK cover them."
  (let ((start (point))
        (indent (overlay-get block 'magent-lsp-indent))
        (body (and body (not (string-empty-p body)) (string-trim-right body "\n+"))))
    (insert indent (if body "▾ " "  ") heading "\n")
    (let ((middle (point)))
      (when body
        (insert body "\n")
        (indent-rigidly middle (point) (+ 4 (length indent))))
      (add-text-properties start (point) `(magent-lsp-block ,block))
      (move-overlay block start (point))
      (overlay-put block 'magent-lsp-body (and body (copy-marker middle)))
      (magent-lsp--show-fold block))))

(defun magent-lsp--show-fold (block)
  "Hide or show the body of BLOCK as it is folded or not."
  (when-let ((body (overlay-get block 'magent-lsp-body)))
    (let ((inhibit-read-only t)
          (folded (overlay-get block 'magent-lsp-folded)))
      (save-excursion
        (goto-char (+ (overlay-start block) (length (overlay-get block 'magent-lsp-indent))))
        (subst-char-in-region (point) (1+ (point)) (following-char) (if folded ?▸ ?▾))
        (put-text-property (1- body) (1- (overlay-end block)) 'invisible
                           (and folded 'magent-lsp))))))

(defun magent-lsp-toggle ()
  "Fold or unfold what is at point."
  (interactive)
  (let ((block (get-text-property (point) 'magent-lsp-block)))
    (if (not (and block (overlay-get block 'magent-lsp-body)))
        (user-error "There is nothing to unfold here")
      (goto-char (overlay-start block))
      (overlay-put block 'magent-lsp-folded (not (overlay-get block 'magent-lsp-folded)))
      (magent-lsp--show-fold block))))

(defun magent-lsp-mouse-toggle (event)
  "Fold or unfold what EVENT clicked at."
  (interactive "e")
  (mouse-set-point event)
  (magent-lsp-toggle))

(defun magent-lsp-push ()
  "Visit the file of what is at point, or fold it, or prompt."
  (interactive)
  (let* ((block (get-text-property (point) 'magent-lsp-block))
         (path (and block (overlay-get block 'magent-lsp-path))))
    (cond (path (find-file-other-window path))
          (block (magent-lsp-toggle))
          (t (call-interactively #'magent-lsp-prompt)))))

(defun magent-lsp-cancel-or-quit ()
  "Cancel what runs in this conversation, or quit as usual."
  (interactive)
  (let ((conn (magent-lsp-current)))
    (if (and conn (magent-lsp-runs conn) (not (region-active-p)))
        (magent-lsp-cancel)
      (keyboard-quit))))

;;;; Text that is streamed

(defun magent-lsp--stream-text (run kind text)
  "Put TEXT of KIND, a piece of what RUN says, at the end."
  (unless (and (equal run (car magent-lsp--stream)) (eq kind (cadr magent-lsp--stream)))
    (magent-lsp--end-stream)
    (magent-lsp--at-end
      (unless (bolp) (insert "\n"))
      (setq magent-lsp--stream (list run kind (copy-marker (point))))))
  (magent-lsp--at-end
    (insert (if (eq kind 'reasoning) (propertize text 'face 'magent-lsp-quiet) text))))

(defun magent-lsp--end-stream ()
  "End what is being streamed: make it look as it should."
  (pcase magent-lsp--stream
    (`(,_ ,kind ,begin)
     (setq magent-lsp--stream nil)
     (let ((inhibit-read-only t))
       (when (eq kind 'text)
         (magent-lsp--fontify begin (point-max)))
       (when (eq kind 'reasoning)
         (let ((text (buffer-substring-no-properties begin (point-max))))
           (magent-lsp--at-end (delete-region begin (point-max)))
           (magent-lsp--block (list 'reasoning (marker-position begin))
                              (propertize "thoughts" 'face 'magent-lsp-quiet)
                              (propertize text 'face 'magent-lsp-quiet) t)))))))

(defconst magent-lsp--markdown
  '(("^\\(?:```\\|~~~\\).*\n\\(\\(?:.*\n\\)*?\\)\\(?:```\\|~~~\\).*$" . magent-lsp-code)
    ("^#+ +\\(.*\\)$" . bold)
    ("\\*\\*\\([^*\n]+\\)\\*\\*" . bold)
    ("`\\([^`\n]+\\)`" . magent-lsp-code))
  "Markup of answers: the first group has the face, what is around it is hidden.")

(defun magent-lsp--fontify (begin end)
  "Give the Markdown from BEGIN to END some faces, and hide its marks."
  (save-excursion
    (pcase-dolist (`(,regexp . ,face) magent-lsp--markdown)
      (goto-char begin)
      (while (re-search-forward regexp end t)
        (unless (eq (get-text-property (match-beginning 1) 'face) 'magent-lsp-code)
          (put-text-property (match-beginning 0) (match-beginning 1) 'invisible 'magent-lsp)
          (put-text-property (match-end 1) (match-end 0) 'invisible 'magent-lsp)
          (put-text-property (match-beginning 1) (match-end 1) 'face face))))))

;;;; Highlights

(defvar magent-lsp--highlights (make-hash-table :test #'equal)
  "Overlays on the targets of runs.")

(defun magent-lsp--highlight (run event conn)
  "Show the target of RUN of CONN that EVENT names, if it does."
  (let* ((path (magent-lsp--uri-path (or (plist-get event :uri) "")))
         (range (plist-get event :range))
         (buffer (and path range (magent-lsp--visiting path))))
    (magent-lsp--unhighlight run)
    (when buffer
      (with-current-buffer buffer
        (let ((overlay (make-overlay (magent-lsp--point (plist-get range :start))
                                     (magent-lsp--point (plist-get range :end))
                                     nil nil t)))
          (overlay-put overlay 'face 'magent-lsp-target)
          (overlay-put overlay 'magent-lsp-run run)
          (overlay-put overlay 'magent-lsp-connection conn)
          (puthash run overlay magent-lsp--highlights))))))

(defun magent-lsp--unhighlight (run)
  "Remove the highlight of RUN."
  (when-let ((overlay (gethash run magent-lsp--highlights)))
    (delete-overlay overlay)
    (remhash run magent-lsp--highlights)))

;;;; The end

(defun magent-lsp--ended (conn)
  "Put away what was shown of CONN, whose server has ended."
  (maphash (lambda (run overlay)
             (when (eq conn (overlay-get overlay 'magent-lsp-connection))
               (magent-lsp--unhighlight run)))
           (copy-hash-table magent-lsp--highlights))
  (when-let ((buffer (get-buffer (magent-lsp--conversation-buffer conn))))
    (with-current-buffer buffer
      (magent-lsp--line "the server has ended" 'warning))))

(add-hook 'magent-lsp-shutdown-functions #'magent-lsp--ended)

(provide 'magent-lsp-view)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-view.el ends here
