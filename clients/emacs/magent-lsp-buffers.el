;;; magent-lsp-buffers.el --- Buffers as the server knows them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; URIs, positions in UTF-16 units, and what keeps the server's text of
;; a buffer equal to the buffer.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'subr-x)
(require 'url-util)

(defgroup magent-lsp nil
  "An AI coding agent behind the Language Server Protocol."
  :group 'tools
  :prefix "magent-lsp-")

(defcustom magent-lsp-idle-delay 0.3
  "Seconds without a key after which changes of a buffer are sent.
They are always sent before a command."
  :type 'number)

(defvar-local magent-lsp--opened nil
  "The connection that knows this buffer's text, if any.")
(defvar-local magent-lsp--uri nil "The URI under which the buffer is known.")
(defvar-local magent-lsp--version 0 "How many changes were sent.")
(defvar-local magent-lsp--pending nil
  "Changes to be sent, newest first, or `full' for the whole text.")
(defvar-local magent-lsp--tick nil
  "The modification tick of the last change that was seen.")
(defvar-local magent-lsp--cr nil
  "Whether the buffer may have carriage returns, which end a line in LSP.")
(defvar-local magent-lsp--idle-timer nil)

;;;; Places: URIs, and positions in UTF-16 units

(defconst magent-lsp--uri-chars
  (let ((allowed (copy-sequence url-path-allowed-chars)))
    (aset allowed ?: nil)
    (aset allowed ?% nil)
    allowed))

(defun magent-lsp--path-uri (path)
  "Return the URI of the file PATH."
  (let ((path (expand-file-name path)))
    (concat "file://" (unless (string-prefix-p "/" path) "/")
            (url-hexify-string path magent-lsp--uri-chars))))

(defun magent-lsp--uri-path (uri)
  "Return the path of URI; nil if it is no file."
  (when (string-match "\\`file://\\(?:localhost\\)?\\(/.*\\)" uri)
    (let ((path (decode-coding-string
                 (url-unhex-string (match-string 1 uri)) 'utf-8)))
      (if (string-match "\\`/[A-Za-z]:/" path) (substring path 1) path))))

(defmacro magent-lsp--everywhere (&rest body)
  "Evaluate BODY with the whole buffer in view, and move nothing."
  (declare (indent 0) (debug t))
  `(save-excursion
     (save-restriction
       (widen)
       (save-match-data (let ((inhibit-field-text-motion t)) ,@body)))))

(defun magent-lsp--units (beg end)
  "Return the number of UTF-16 units between BEG and END."
  (+ (- end beg) (how-many "[\U00010000-\U0010ffff]" beg end)))

(defun magent-lsp--position (pos)
  "Return the LSP position of POS."
  (magent-lsp--everywhere
    (goto-char pos)
    (let ((line (if magent-lsp--cr 0 (1- (line-number-at-pos pos t))))
          (start (point-min)))
      (if (not magent-lsp--cr)
          (setq start (progn (forward-line 0) (point)))
        (goto-char start)
        (while (re-search-forward "\r\n?\\|\n" pos t)
          (setq line (1+ line) start (point))))
      (list :line line :character (magent-lsp--units start pos)))))

(defun magent-lsp--point (position)
  "Return the place in the buffer of the LSP POSITION, within the text."
  (magent-lsp--everywhere
    (goto-char (point-min))
    (let ((line (plist-get position :line))
          (units (plist-get position :character))
          (break (if magent-lsp--cr "[\r\n]" "\n")))
      (if magent-lsp--cr
          (while (and (> line 0)
                      (if (re-search-forward "\r\n?\\|\n" nil t) t
                        (goto-char (point-max)) nil))
            (setq line (1- line)))
        (setq line (forward-line line)
              units (if (and (> line 0) (eobp)) 0 units)))
      (let ((end (save-excursion
                   (if (re-search-forward break nil t) (1- (point)) (point-max)))))
        (while (and (> units 0) (< (point) end))
          (setq units (- units (if (> (following-char) #xffff) 2 1)))
          (unless (< units 0) (forward-char)))
        (point)))))

(defun magent-lsp--range (beg end)
  "Return the LSP range from BEG to END."
  (list :start (magent-lsp--position beg) :end (magent-lsp--position end)))

;;;; What the server knows of buffers

(defun magent-lsp--live-p (conn)
  "Return non-nil if CONN can be used."
  (and conn (jsonrpc-running-p conn)))

(defconst magent-lsp--no-text "[\ud800-\udfff\x3fff80-\x3fffff]"
  "What cannot be sent as JSON.")

(defun magent-lsp--sendable-p (beg end)
  "Return non-nil if the text from BEG to END can be sent as JSON."
  (save-excursion
    (goto-char beg)
    (not (re-search-forward magent-lsp--no-text end t))))

(defun magent-lsp--sendable (text)
  "Return TEXT without what cannot be sent as JSON."
  (replace-regexp-in-string magent-lsp--no-text "\ufffd" (string-to-multibyte text) t t))

(defun magent-lsp--file-p ()
  "Return non-nil if the buffer is a local file as people edit it."
  (and buffer-file-name (null (buffer-base-buffer))
       (not (file-remote-p buffer-file-name))))

(defun magent-lsp--open (conn)
  "Tell CONN of the current buffer, unless it knows it."
  (when (and (not magent-lsp--opened) (magent-lsp--file-p))
    (magent-lsp--everywhere
      (if (not (magent-lsp--sendable-p (point-min) (point-max)))
          (message "Magent does not see %s: it has bytes that are no text" (buffer-name))
        (goto-char (point-min))
        (setq magent-lsp--cr (and (search-forward "\r" nil t) t)
              magent-lsp--uri (magent-lsp--path-uri buffer-file-name)
              magent-lsp--version 0
              magent-lsp--pending nil
              magent-lsp--tick (buffer-chars-modified-tick)
              magent-lsp--opened conn)
        (jsonrpc-notify
         conn :textDocument/didOpen
         (list :textDocument
               (list :uri magent-lsp--uri
                     :languageId (string-remove-suffix
                                  "-ts" (string-remove-suffix "-mode" (symbol-name major-mode)))
                     :version 0
                     :text (buffer-substring-no-properties (point-min) (point-max)))))))))

(defun magent-lsp--close ()
  "Tell the server that the current buffer is closed.
An indirect buffer may have the variables and hooks of its base, whose
file stays open."
  (when-let ((conn magent-lsp--opened))
    (setq magent-lsp--opened nil magent-lsp--pending nil)
    (when (and (magent-lsp--live-p conn) (null (buffer-base-buffer)))
      (jsonrpc-notify conn :textDocument/didClose
                      (list :textDocument (list :uri magent-lsp--uri))))))

(defun magent-lsp--before-change (beg end)
  "Note where the text from BEG to END is, in LSP's words."
  (when (and magent-lsp--opened (null (buffer-base-buffer)))
    (cond ((eq magent-lsp--pending 'full))
          ;; Somebody changed the text with the hooks off.
          ((not (eql magent-lsp--tick (buffer-chars-modified-tick)))
           (setq magent-lsp--pending 'full))
          (magent-lsp--cr (setq magent-lsp--pending 'full))
          (t (push (list beg end (magent-lsp--range beg end)) magent-lsp--pending)))))

(defun magent-lsp--after-change (beg end length)
  "Note that LENGTH characters at BEG became the text up to END."
  (if-let ((base (buffer-base-buffer)))
      ;; It sees by its tick that its text has changed.
      (with-current-buffer base
        (when magent-lsp--opened (magent-lsp--flush-soon)))
    (magent-lsp--note-change beg end length)))

(defun magent-lsp--note-change (beg end length)
  "Do for a buffer with a file what `magent-lsp--after-change' says.
BEG, END and LENGTH are as there."
  (when magent-lsp--opened
    (setq magent-lsp--tick (buffer-chars-modified-tick))
    (unless (eq magent-lsp--pending 'full)
      (pcase (car magent-lsp--pending)
        ((and `(,(pred (eql beg)) ,before-end ,range)
              (guard (eql length (- before-end beg))))
         (setcar magent-lsp--pending
                 (list :range range :rangeLength length
                       :text (buffer-substring-no-properties beg end))))
        ;; The two hooks do not speak of the same stretch of text.
        (_ (setq magent-lsp--pending 'full))))
    (save-excursion
      (goto-char beg)
      (when (save-match-data (search-forward "\r" end t))
        (setq magent-lsp--cr t magent-lsp--pending 'full)))
    (magent-lsp--flush-soon)))

(defun magent-lsp--flush-soon ()
  "Send the changes of the current buffer when nothing is typed."
  (when magent-lsp--idle-timer (cancel-timer magent-lsp--idle-timer))
  (let ((buffer (current-buffer)))
    (setq magent-lsp--idle-timer
          (run-with-idle-timer magent-lsp-idle-delay nil
                               (lambda ()
                                 (when (buffer-live-p buffer)
                                   (with-current-buffer buffer
                                     (setq magent-lsp--idle-timer nil)
                                     (magent-lsp--flush))))))))

(defun magent-lsp--flush ()
  "Send the changes of the current buffer, or of its base."
  (if-let ((base (buffer-base-buffer)))
      (with-current-buffer base (magent-lsp--flush-file))
    (magent-lsp--flush-file)))

(defun magent-lsp--flush-file ()
  "Send the changes of the current buffer, which is no indirect one."
  (when (and magent-lsp--opened (magent-lsp--live-p magent-lsp--opened))
    (unless (eql magent-lsp--tick (buffer-chars-modified-tick))
      (setq magent-lsp--pending 'full magent-lsp--tick (buffer-chars-modified-tick)))
    (when magent-lsp--pending
      (magent-lsp--everywhere
        (if (not (magent-lsp--sendable-p (point-min) (point-max)))
            (magent-lsp--close)
          (when (eq magent-lsp--pending 'full)
            (goto-char (point-min))
            (setq magent-lsp--cr (and (search-forward "\r" nil t) t)))
          (let ((changes (if (listp magent-lsp--pending)
                             (vconcat (reverse magent-lsp--pending))
                           (vector (list :text (buffer-substring-no-properties
                                                (point-min) (point-max)))))))
            (setq magent-lsp--pending nil)
            (jsonrpc-notify
             magent-lsp--opened :textDocument/didChange
             (list :textDocument (list :uri magent-lsp--uri
                                       :version (cl-incf magent-lsp--version))
                   :contentChanges changes))))))))

(defun magent-lsp--saved ()
  "Tell the server that the current buffer was saved."
  (when magent-lsp--opened
    (magent-lsp--flush)
    (jsonrpc-notify magent-lsp--opened :textDocument/didSave
                    (list :textDocument (list :uri magent-lsp--uri)))))

(defun magent-lsp--reverted ()
  "Tell the server that the current buffer has the text of the disk again."
  (when magent-lsp--opened
    (setq magent-lsp--pending 'full)
    (magent-lsp--saved)))

(defun magent-lsp--renamed ()
  "Tell the server that the current buffer has another file now."
  (when-let ((conn magent-lsp--opened))
    (magent-lsp--close)
    (magent-lsp--open conn)))

(defvar magent-lsp-mode)

(defun magent-lsp--buffers (&optional conn)
  "Return the buffers in which the mode is on, or those that CONN knows."
  (cl-remove-if-not
   (lambda (buffer)
     (with-current-buffer buffer
       (if conn (eq magent-lsp--opened conn) (bound-and-true-p magent-lsp-mode))))
   (buffer-list)))

(defun magent-lsp--flush-all (conn)
  "Send all changes that CONN does not know yet."
  (dolist (buffer (magent-lsp--buffers conn))
    (with-current-buffer buffer (magent-lsp--flush))))

(provide 'magent-lsp-buffers)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-buffers.el ends here
