;;; magent-lsp-approval.el --- Asking before something is done  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The buffer that shows what the agent wants to do, and the keys that
;; answer.  The server asks; here it is only shown and answered.

;;; Code:

(require 'magent-lsp-ask)
(require 'magent-lsp-events)
(autoload 'diff-no-select "diff")

(declare-function magent-lsp-cancel "magent-lsp")
(defvar magent-lsp-mode-map)

(defcustom magent-lsp-select-approval 'idle
  "Whether the window that asks for an approval is selected.
With `idle', once nothing was typed for `magent-lsp-pause' seconds, so
that a key that was meant for another buffer never answers."
  :type '(choice (const :tag "Never" nil) (const :tag "Always" t)
                 (const :tag "If nothing is being typed" idle))
  :group 'magent-lsp)

(defface magent-lsp-key '((t :inherit (bold help-key-binding)))
  "A key in a question." :group 'magent-lsp)

(defvar-local magent-lsp--request nil "The permission request that is shown.")

(defvar magent-lsp-approval-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "y") #'magent-lsp-allow-once)
    (define-key map (kbd "!") #'magent-lsp-allow-session)
    (define-key map (kbd "a") #'magent-lsp-allow-always)
    (define-key map (kbd "n") #'magent-lsp-reject)
    (define-key map (kbd "e") #'magent-lsp-reject-with-feedback)
    (define-key map (kbd "=") #'magent-lsp-compare)
    (define-key map (kbd "k") #'magent-lsp-cancel-asked)
    map)
  "Keys of the approval buffer.")

(define-derived-mode magent-lsp-approval-mode special-mode "Magent asks"
  "What the agent wants to do, and the keys that answer.
\\{magent-lsp-approval-mode-map}"
  (add-hook 'pre-command-hook #'magent-lsp--type-on nil t))

(defvar magent-lsp--still-time 0.2
  "Seconds without another key after which an answer counts.
It is never more than `magent-lsp--reading-time'.")

(defconst magent-lsp--answer-commands
  '(magent-lsp-allow-once magent-lsp-allow-session magent-lsp-allow-always magent-lsp-reject
    magent-lsp-reject-with-feedback magent-lsp-cancel-asked)
  "Commands that answer a question.")

(defun magent-lsp--type-on ()
  "Have who types on in the question's window answer nothing."
  (when magent-lsp--request
    (unless (or (consp last-command-event) ; a click is no typing
                ;; What does nothing here was meant as text, even if the person went here.
                (and (not (memq this-command '(nil undefined self-insert-command)))
                     (or (null (plist-get magent-lsp--request :came))
                         (memq this-command magent-lsp--answer-commands))))
      (magent-lsp--now magent-lsp--request))))

(defconst magent-lsp--keys
  '(("allow_once" . "y") ("allow_session" . "!") ("allow_always" . "a") ("reject" . "n"))
  "Keys of the replies.")

(cl-defmethod magent-lsp-draw ((_kind (eql 'permission_requested)) event _run conn)
  "Ask for the permission in EVENT of CONN."
  ;; What a server said before it died may be drawn after that.
  (when (magent-lsp--live-p conn)
    (cl-callf append (magent-lsp-permissions conn) (list event))
    (magent-lsp--now event)
    (magent-lsp--block (plist-get event :requestId)
                       (concat (propertize (concat "? " (magent-lsp--reveal (plist-get event :title)))
                                           'face 'warning)
                               " — " (magent-lsp--options event t))
                       nil)
    (magent-lsp-show-approval conn)))

(cl-defmethod magent-lsp-draw ((_kind (eql 'permission_resolved)) event _run conn)
  "Draw the answer in EVENT of CONN to a permission request."
  (let* ((id (plist-get event :requestId))
         (request (magent-lsp--permission conn id)))
    (when request
      (cl-callf2 delq request (magent-lsp-permissions conn))
      (magent-lsp--over request (string-replace "_" " " (plist-get event :reply))))
    (setf (alist-get id (magent-lsp-comparisons conn) nil t #'equal) nil)
    (magent-lsp--close-approval conn)
    (when (magent-lsp-permissions conn)
      (magent-lsp-show-approval conn))))

(defun magent-lsp--over (request outcome)
  "Show in the conversation that REQUEST waits no longer, and its OUTCOME in words."
  (magent-lsp--block (plist-get request :requestId)
                     (propertize (format "? %s — %s" (magent-lsp--reveal (plist-get request :title))
                                         outcome)
                                 'face 'magent-lsp-quiet)
                     nil))

(defun magent-lsp--permission (conn id)
  "Return the open permission request ID of CONN."
  (cl-find id (magent-lsp-permissions conn) :test #'equal
           :key (lambda (request) (plist-get request :requestId))))

(defconst magent-lsp--words
  '(("allow_once" . "once") ("allow_session" . "in this session")
    ("allow_always" . "always") ("reject" . "reject"))
  "Short words for the replies.")

(defun magent-lsp--options (request &optional short)
  "Return the ways to answer REQUEST, with their keys, in one line.
If SHORT, say them in few words."
  (concat
   (mapconcat (lambda (option)
                (let ((reply (plist-get option :reply)))
                  (format "%s %s"
                          (propertize (alist-get reply magent-lsp--keys "?" nil #'equal)
                                      'face 'magent-lsp-key)
                          (if short
                              (alist-get reply magent-lsp--words reply nil #'equal)
                            (magent-lsp--reveal (plist-get option :title))))))
              (plist-get request :options) " · ")
   " · " (propertize "e" 'face 'magent-lsp-key)
   (if short " say why not" " Reject and say why")))

(defun magent-lsp--approval-buffer (conn)
  "Return the name of the approval buffer of CONN."
  (format "*%s asks*" (jsonrpc-name conn)))

(defun magent-lsp--now (request)
  "Note that REQUEST has come by itself now: no key was meant for it before."
  (plist-put request :came (float-time)))

(defun magent-lsp--check-read (request)
  "Signal an error if REQUEST came by itself, and the key may not be meant for it.
That is so if it has just come, or if typing goes on."
  (when (or (magent-lsp--unread-p (plist-get request :came))
            ;; The first letter of a word is followed by others.
            (and (plist-get request :came)
                 (not (sit-for (min magent-lsp--still-time magent-lsp--reading-time)))))
    ;; A key that is held down is none either.
    (magent-lsp--now request)
    (user-error "This question has just come: wait a moment, then press the key again")))

(defun magent-lsp-show-approval (conn &optional person)
  "Show the oldest permission request of CONN.
If a PERSON goes there, the next key is for it; else not at once."
  (let* ((request (car (magent-lsp-permissions conn)))
         (buffer (get-buffer-create (magent-lsp--approval-buffer conn)))
         (read (and (eq buffer (window-buffer))
                    (eq request (buffer-local-value 'magent-lsp--request buffer)))))
    (cond (person (plist-put request :came nil))
          ((not read) (magent-lsp--now request)))
    (with-current-buffer buffer
      (magent-lsp-approval-mode)
      (setq magent-lsp--connection conn magent-lsp--request request)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (magent-lsp--insert-request request))
      (goto-char (point-min)))
    (let ((window (display-buffer
                   buffer '((display-buffer-reuse-window display-buffer-at-bottom)
                            (window-height . magent-lsp--fit)))))
      (when window
        (set-window-point window 1)
        (if (or person (magent-lsp--may-select-p conn))
            (select-window window)
          (unless (or read (null magent-lsp-select-approval))
            (magent-lsp--select-later conn request))
          (message "Magent asks: %s (%s)" (magent-lsp--reveal (plist-get request :title))
                   (substitute-command-keys
                    "\\<magent-lsp-mode-map>\\[magent-lsp-answer-approval] to answer")))))))

(defun magent-lsp--select-later (conn request)
  "Select the window with REQUEST of CONN once it may take the keyboard.
Who was there before that and left is not taken there again."
  (when-let ((timer (magent-lsp--selecting conn)))
    (cancel-timer timer))
  (setf (magent-lsp--selecting conn)
        (run-at-time 0.3 nil #'magent-lsp--select-now-or-later conn request)))

(defun magent-lsp--select-now-or-later (conn request)
  "Select the window with REQUEST of CONN if it may take the keyboard by now."
  (setf (magent-lsp--selecting conn) nil)
  (let ((window (get-buffer-window (magent-lsp--approval-buffer conn))))
    (cond
     ((not (and window (memq request (magent-lsp-permissions conn))
                (eq request (buffer-local-value 'magent-lsp--request (window-buffer window))))))
     ((eq window (selected-window)))
     ((magent-lsp--may-select-p conn)
      (magent-lsp--now request)
      (select-window window)
      (when (string-prefix-p "Magent asks: " (or (current-message) ""))
        (message nil)))
     (t (magent-lsp--select-later conn request)))))

(defun magent-lsp--fit (window)
  "Make WINDOW as high as its text, within limits."
  ;; On a small screen the difference comes before the conversation.
  (fit-window-to-buffer window (max 8 (/ (frame-height) 2) (min 20 (- (frame-height) 10))) 4))

(defun magent-lsp--may-select-p (conn)
  "Return non-nil if the approval of CONN may take the keyboard."
  (and (not (active-minibuffer-window))
       (pcase magent-lsp-select-approval
         ('idle (and (or (magent-lsp--pause-p) (magent-lsp--just-answered-p))
                     (not (magent-lsp--asked-here-p conn))))
         (value value))))

(defun magent-lsp--just-answered-p ()
  "Return non-nil if an answer is the last that was typed.
Who answers a row of questions then finds each of them at hand."
  (and (null this-command)
       (memq last-command '(magent-lsp-allow-once magent-lsp-allow-session magent-lsp-allow-always
                            magent-lsp-reject-with-feedback))))

(defun magent-lsp--asked-here-p (conn)
  "Return non-nil if the next key may answer another server than CONN."
  (with-current-buffer (window-buffer (selected-window))
    (and magent-lsp--connection (not (eq magent-lsp--connection conn))
         (derived-mode-p 'magent-lsp-approval-mode 'magent-lsp-conversation-mode)
         (magent-lsp-permissions magent-lsp--connection))))

(defun magent-lsp--insert-request (request)
  "Insert all that a person must see to decide about REQUEST."
  (insert (propertize (magent-lsp--reveal (plist-get request :title)) 'face 'bold) "\n"
          (magent-lsp--options request)
          (if (plist-get request :diff)
              (concat " · " (propertize "=" 'face 'magent-lsp-key) " the whole file")
            "")
          "\n"
          (propertize (magent-lsp--reveal (or (plist-get request :reason) ""))
                      'face 'magent-lsp-quiet)
          "\n\n")
  (when-let ((command (plist-get request :command)))
    (insert (propertize (magent-lsp--reveal command) 'face 'magent-lsp-code) "\n"))
  (when-let ((diff (plist-get request :diff)))
    ;; Lines that only say again what the title does are in the way of the others.
    (when (and (string-match "\\`--- \\(.+\\)\n\\+\\+\\+ \\(.+\\)\n" diff)
               (equal (match-string 1 diff) (match-string 2 diff))
               (string-suffix-p (concat " " (match-string 1 diff)) (plist-get request :title)))
      (setq diff (substring diff (match-end 0))))
    (insert (magent-lsp--diff-text diff) "\n")))

(defun magent-lsp--close-approval (conn)
  "Put the approval buffer of CONN away."
  (when-let ((buffer (get-buffer (magent-lsp--approval-buffer conn))))
    (if-let ((window (get-buffer-window buffer t)))
        (quit-restore-window window 'kill)
      (kill-buffer buffer))))

(defun magent-lsp--asked (conn)
  "Return the open permission request of CONN that an answer here is for.
If several wait and point is on none of them, show one and signal an error.
So it is if the question has come by itself just now."
  (let* ((block (get-text-property (point) 'magent-lsp-block))
         (open (magent-lsp-permissions conn))
         (request
          (cond
           (magent-lsp--request
            (or (magent-lsp--permission conn (plist-get magent-lsp--request :requestId))
                (user-error "This was answered already")))
           ((null open) (user-error "The agent waits for no answer"))
           ((null (cdr open)) (car open))
           ((and block magent-lsp--blocks
                 (cl-find block open :key (lambda (request)
                                            (gethash (plist-get request :requestId)
                                                     magent-lsp--blocks)))))
           (t (let ((magent-lsp-select-approval t))
                (magent-lsp-show-approval conn))
              (user-error "%d questions wait: this is the first" (length open))))))
    (magent-lsp--check-read request)
    request))

(defun magent-lsp--respond (reply &optional feedback conn request)
  "Answer the permission request that is meant with REPLY and FEEDBACK.
It is REQUEST of CONN, by default the one that is meant here."
  (let* ((conn (or conn (magent-lsp-current) (user-error "No magent server runs here")))
         (request (or request (magent-lsp--asked conn))))
    (unless (magent-lsp--permission conn (plist-get request :requestId))
      (user-error "This was answered already"))
    (unless (cl-find reply (plist-get request :options) :test #'equal
                     :key (lambda (option) (plist-get option :reply)))
      (user-error "This answer is not offered here"))
    (magent-lsp-send conn "magent.respond"
                     `(:requestId ,(plist-get request :requestId) :reply ,reply
                       ,@(and feedback (list :feedback feedback))))))

;;;; The whole file, before and after

(cl-defmethod magent-lsp-handle-request ((_method (eql 'magent/showDiff)) params later)
  "Show what PARAMS compare, or keep it with the question about it; answer LATER."
  (let ((conn (magent-lsp--later-conn later))
        (id (plist-get params :requestId)))
    (cond ((null id) (display-buffer (magent-lsp--comparison params)))
          ((magent-lsp--permission conn id)
           (push (cons id params) (magent-lsp-comparisons conn))))
    (magent-lsp-answer later nil)))

(defun magent-lsp--comparison (params)
  "Return a buffer in Diff mode for what PARAMS compare: the whole file."
  (let* ((path (or (magent-lsp--uri-path (plist-get params :uri)) "text"))
         (name (file-name-nondirectory path))
         (buffer (get-buffer-create (format "*magent diff %s*" name)))
         (lines (number-to-string (cl-count ?\n (plist-get params :original)))))
    (with-temp-buffer
      (insert (plist-get params :original))
      (let ((original (current-buffer)))
        (with-temp-buffer
          (insert (plist-get params :modified))
          (diff-no-select original (current-buffer) (concat "-U" lines) t buffer))))
    (with-current-buffer buffer
      ;; Names of temporary buffers and files say nothing to a person.
      (let ((inhibit-read-only t))
        (goto-char (point-min))
        (when (re-search-forward "^--- .*\n\\+\\+\\+ .*\n" nil t)
          (delete-region (point-min) (point)))
        (goto-char (point-max))
        (when (re-search-backward "^Diff finished.*" nil t)
          (delete-region (point) (point-max)))
        (goto-char (point-min)))
      (setq header-line-format
            (string-replace "%" "%%" (concat " " (magent-lsp--reveal (plist-get params :title))
                                             " · the whole file · q closes"))))
    buffer))

(defun magent-lsp-compare ()
  "Show the whole file as it is and as it would be."
  (interactive)
  (let* ((conn (or (magent-lsp-current) (user-error "No magent server runs here")))
         (request (or magent-lsp--request (car (magent-lsp-permissions conn))))
         (params (alist-get (plist-get request :requestId) (magent-lsp-comparisons conn)
                            nil nil #'equal)))
    (pop-to-buffer (magent-lsp--comparison (or params (user-error "There is no file to compare"))))))

;;;; Answers

(defun magent-lsp-cancel-asked ()
  "Cancel all that the agent does in this project, with this question."
  (interactive)
  (magent-lsp--check-read magent-lsp--request)
  (magent-lsp-cancel))

(defun magent-lsp-allow-once ()
  "Allow what the agent asks for, this time."
  (interactive)
  (magent-lsp--respond "allow_once"))

(defun magent-lsp-allow-session ()
  "Allow what the agent asks for, and the like of it, in this session."
  (interactive)
  (magent-lsp--respond "allow_session"))

(defun magent-lsp-allow-always ()
  "Allow what the agent asks for, and the like of it, for ever."
  (interactive)
  (magent-lsp--respond "allow_always"))

(defun magent-lsp-reject ()
  "Reject what the agent asks for; it stops."
  (interactive)
  (magent-lsp--respond "reject"))

(defun magent-lsp-reject-with-feedback (feedback &optional conn request)
  "Reject what the agent asks for and say why; it goes on with your FEEDBACK.
The question is REQUEST of CONN, by default the one that is meant here."
  (interactive
   ;; While a reason is typed, another question may come to be the one here.
   (let* ((conn (or (magent-lsp-current) (user-error "No magent server runs here")))
          (request (magent-lsp--asked conn)))
     (list (read-string "Not like this, but: ") conn request)))
  (if (string-blank-p feedback)
      (user-error "Say what to do instead, or press n to reject and stop")
    (magent-lsp--respond "reject" feedback conn request)))

(defun magent-lsp--drop-questions (conn)
  "Put away what CONN, whose server has ended, has asked."
  (magent-lsp--close-approval conn)
  (when-let ((buffer (get-buffer (magent-lsp--conversation-buffer conn))))
    (with-current-buffer buffer
      (dolist (request (magent-lsp-permissions conn))
        (magent-lsp--over request "not answered"))))
  (setf (magent-lsp-permissions conn) nil
        (magent-lsp-comparisons conn) nil))

(add-hook 'magent-lsp-shutdown-functions #'magent-lsp--drop-questions)

(provide 'magent-lsp-approval)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-approval.el ends here
