;;; magent-lsp-edit.el --- What the server does to buffers and files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Edits, saving and showing, as the server asks for them.  An edit is
;; made whole or not at all, and the answer says what really happened.

;;; Code:

(require 'magent-lsp-connection)

(declare-function magent-lsp-mode "magent-lsp" (&optional arg))

(defvar-local magent-lsp--ours nil
  "Non-nil in a buffer that was opened only for an edit.")

;;;; Edits

(cl-defmethod magent-lsp-handle-request ((_method (eql 'workspace/applyEdit)) params later)
  "Apply the edit in PARAMS; answer LATER what became of it."
  (let ((conn (magent-lsp--later-conn later)))
    (magent-lsp-answer
     later
     (condition-case err
         (progn (magent-lsp--apply conn (plist-get params :edit))
                (list :applied t))
       ((error quit)
        (list :applied :json-false :failureReason (error-message-string err)))))))

(defun magent-lsp--apply (conn edit)
  "Apply the workspace EDIT of CONN; signal an error if it cannot be done."
  (let ((changes (append (plist-get edit :documentChanges) nil)))
    (cl-loop for (key edits) on (plist-get edit :changes) by #'cddr
             unless changes
             collect (list :textDocument (list :uri (substring (symbol-name key) 1))
                           :edits edits)
             into plain
             finally (unless changes (setq changes plain)))
    ;; Everything is looked at before anything is done.
    (let* ((made (delq nil (mapcar (lambda (change)
                                     (when (equal (plist-get change :kind) "create")
                                       (plist-get change :uri)))
                                   changes)))
           (steps (mapcar (lambda (change) (magent-lsp--step conn change made)) changes)))
      (mapc #'funcall steps))))

(defun magent-lsp--step (conn change made)
  "Return a function that makes CHANGE for CONN; signal an error if it cannot.
MADE are the URIs that the whole edit creates."
  (pcase (plist-get change :kind)
    ("create" (magent-lsp--create-step change))
    ("rename" (magent-lsp--rename-step change))
    ("delete" (magent-lsp--delete-step change))
    (_ (magent-lsp--text-step conn change made))))

(defun magent-lsp--path (uri)
  "Return the path of URI; signal an error if it is no local file."
  (or (magent-lsp--uri-path uri) (error "%s is no file" uri)))

(defun magent-lsp--visiting (path)
  "Return the buffer of the file PATH, if any."
  (or (get-file-buffer path) (find-buffer-visiting path)))

(defun magent-lsp--option (change option)
  "Return non-nil if CHANGE has OPTION."
  (eq t (plist-get (plist-get change :options) option)))

(defun magent-lsp--text-step (conn change made)
  "Return a function that makes the text CHANGE for CONN.
MADE are the URIs that the same edit creates."
  (let* ((document (plist-get change :textDocument))
         (path (magent-lsp--path (plist-get document :uri)))
         (buffer (magent-lsp--visiting path)))
    (if buffer
        (with-current-buffer buffer
          (magent-lsp--check-buffer conn (plist-get document :version)))
      (when (file-locked-p path)
        (error "%s is edited elsewhere" path))
      (when (and (file-exists-p path) (not (file-writable-p path)))
        (error "%s cannot be written" path))
      (when (and (plist-get document :version) (not (member (plist-get document :uri) made)))
        (error "%s is not open" path)))
    (lambda ()
      (let ((buffer (or buffer (magent-lsp--visit path))))
        (with-current-buffer buffer
          (magent-lsp--replace (plist-get change :edits))
          (if magent-lsp--opened
              (magent-lsp--flush)
            (magent-lsp-mode 1)))))))

(defun magent-lsp--check-buffer (conn version)
  "Signal an error unless the current buffer is as CONN knows it, at VERSION."
  (when buffer-read-only
    (error "The buffer %s is read-only" (buffer-name)))
  (unless (verify-visited-file-modtime (current-buffer))
    (error "The file of the buffer %s has changed on the disk" (buffer-name)))
  (when (and (not (buffer-modified-p)) (file-locked-p buffer-file-name))
    (error "The file of the buffer %s is edited elsewhere" (buffer-name)))
  (cond
   ((eq magent-lsp--opened conn)
    (when (or magent-lsp--pending (not (eql magent-lsp--tick (buffer-chars-modified-tick))))
      (magent-lsp--flush)
      (error "The text of %s has just changed" (buffer-name)))
    (when (and (null version) (buffer-modified-p))
      (error "The edit is for the file of %s, and not for its unsaved text" (buffer-name)))
    (unless (or (null version) (eql version magent-lsp--version))
      (error "The edit is for version %s of %s, which is at %s"
             version (buffer-name) magent-lsp--version)))
   ((buffer-modified-p)
    (error "The buffer %s has unsaved text that the server does not know" (buffer-name)))))

(defun magent-lsp--visit (path)
  "Return a buffer for the file PATH, without a question."
  (let* ((new (not (file-exists-p path)))
         (large-file-warning-threshold nil)
         (enable-local-variables :safe)
         (vc-follow-symlinks nil)
         (find-file-suppress-same-file-warnings t)
         (buffer (find-file-noselect path t)))
    (with-current-buffer buffer
      (setq magent-lsp--ours t)
      (when new
        (unless (zerop (buffer-size))
          (error "A template was put into %s" path))
        (setq buffer-file-coding-system 'utf-8-unix)))
    buffer))

(defvar vc-follow-symlinks)

(defun magent-lsp--replace (edits)
  "Make the text EDITS in the current buffer, as one step of undo."
  (let ((crlf (eql 1 (coding-system-eol-type buffer-file-coding-system)))
        (places nil))
    (seq-doseq (edit edits)
      (let ((range (plist-get edit :range)))
        (push (list (copy-marker (magent-lsp--point (plist-get range :start)))
                    (copy-marker (magent-lsp--point (plist-get range :end)))
                    (if crlf
                        (string-replace "\r\n" "\n" (plist-get edit :newText))
                      (plist-get edit :newText)))
              places)))
    (magent-lsp--everywhere
      (undo-boundary)
      (atomic-change-group
        (let ((group (prepare-change-group)))
          (pcase-dolist (`(,beg ,end ,text) places)
            (magent-lsp--replace-region beg end text))
          (undo-amalgamate-change-group group)))
      (undo-boundary))
    (pcase-dolist (`(,beg ,end ,_) places)
      (set-marker beg nil)
      (set-marker end nil))))

(defun magent-lsp--replace-region (beg end text)
  "Replace what is between BEG and END by TEXT; keep point where it can be kept."
  (cond
   ((string-empty-p text) (delete-region beg end))
   ((= beg end)
    (goto-char beg)
    ;; Who waits below a message in a chat writes the next one, and not more of that.
    (if (and (= beg (point-max)) (string-suffix-p ".magent.md" (or buffer-file-name "")))
        (insert-before-markers text)
      (insert text)))
   (t (let ((source (current-buffer)))
        (with-temp-buffer
          (insert text)
          (let ((wanted (current-buffer)))
            (with-current-buffer source
              (save-restriction
                (narrow-to-region beg end)
                (replace-buffer-contents wanted 0.2)))))))))

(defun magent-lsp--create-step (change)
  "Return a function that makes the file of CHANGE."
  (let ((path (magent-lsp--path (plist-get change :uri))))
    (when (and (file-exists-p path)
               (not (magent-lsp--option change :ignoreIfExists)))
      (error "%s is there already" path))
    ;; The text comes with the next change, and the file when it is saved.
    (lambda () (make-directory (file-name-directory path) t))))

(defun magent-lsp--rename-step (change)
  "Return a function that moves the file of CHANGE."
  (let* ((old (magent-lsp--path (plist-get change :oldUri)))
         (new (magent-lsp--path (plist-get change :newUri)))
         (buffer (magent-lsp--visiting old)))
    (unless (file-exists-p old) (error "There is no %s" old))
    (when (file-exists-p new) (error "%s is there already" new))
    (magent-lsp--check-unmodified buffer)
    (lambda ()
      (make-directory (file-name-directory new) t)
      (rename-file old new)
      (when buffer
        (with-current-buffer buffer
          (set-visited-file-name new t t))))))

(defun magent-lsp--delete-step (change)
  "Return a function that deletes the file of CHANGE."
  (let* ((path (magent-lsp--path (plist-get change :uri)))
         (buffer (magent-lsp--visiting path)))
    (unless (or (file-exists-p path) (magent-lsp--option change :ignoreIfNotExists))
      (error "There is no %s" path))
    (when (file-directory-p path)
      (error "%s is a folder" path))
    (magent-lsp--check-unmodified buffer)
    (lambda ()
      (when (file-exists-p path)
        (delete-file path t))
      (when buffer (kill-buffer buffer)))))

(defun magent-lsp--check-unmodified (buffer)
  "Signal an error if BUFFER, which may be nil, has unsaved text."
  (when (and buffer (buffer-modified-p buffer))
    (error "The buffer %s has unsaved text" (buffer-name buffer))))

;;;; Saving

(cl-defmethod magent-lsp-handle-request ((_method (eql 'magent/save)) params later)
  "Save the buffers that PARAMS name; answer LATER those that are saved."
  (magent-lsp-answer
   later
   (list :saved (vconcat (seq-filter #'magent-lsp--save (plist-get params :uris))))))

(defun magent-lsp--save (uri)
  "Save the buffer of URI; return nil if that cannot be done without a question."
  (when-let* ((path (magent-lsp--uri-path uri))
              (buffer (magent-lsp--visiting path)))
    (with-current-buffer buffer
      (when (and (or (not (buffer-modified-p)) (magent-lsp--save-buffer))
                 (not (buffer-modified-p)))
        (when (and magent-lsp--ours (not (get-buffer-window buffer t)))
          (kill-buffer buffer))
        t))))

(defun magent-lsp--save-buffer ()
  "Save the current buffer as it is; return nil if a question would be asked."
  (when (and (verify-visited-file-modtime (current-buffer))
             (not (magent-lsp--everywhere
                    (unencodable-char-position (point-min) (point-max)
                                               buffer-file-coding-system))))
    (make-directory (file-name-directory buffer-file-name) t)
    (let ((require-final-newline nil)
          (save-silently t))
      (basic-save-buffer)
      t)))

;;;; Showing

(defun magent-lsp--adopt (conn)
  "Have the current buffer, which CONN shows, belong to it.
Chats, answers and reports lie outside of the project they are about.  A
file of another project keeps to that."
  (when (and (not magent-lsp--connection) (not magent-lsp--opened)
             (or (null (project-current))
                 (string-prefix-p (magent-lsp--project-root) (magent-lsp-root conn))))
    (setq magent-lsp--connection conn)))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'window/showDocument)) params later)
  "Show the document that PARAMS name; answer LATER whether that was done."
  (let* ((uri (plist-get params :uri))
         (path (magent-lsp--uri-path uri)))
    (if (or (null path) (eq t (plist-get params :external)))
        (browse-url uri)
      (let* ((known (magent-lsp--visiting path))
             (buffer (or known (magent-lsp--visit path)))
             (selection (plist-get params :selection))
             (window (if (eq t (plist-get params :takeFocus))
                         (progn (pop-to-buffer buffer) (selected-window))
                       (display-buffer buffer))))
        (with-current-buffer buffer
          (setq magent-lsp--ours nil)
          (magent-lsp--adopt (magent-lsp--later-conn later))
          ;; An answer that is shown again has another text.
          (unless (or (buffer-modified-p) (verify-visited-file-modtime buffer))
            (revert-buffer t t))
          (when (and window selection)
            (set-window-point window (magent-lsp--point (plist-get selection :start)))))))
    (magent-lsp-answer later (list :success t))))

(provide 'magent-lsp-edit)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-edit.el ends here
