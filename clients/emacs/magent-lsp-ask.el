;;; magent-lsp-ask.el --- Questions, proposals and evaluation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the server asks the person, in the minibuffer or in a buffer, and
;; Emacs Lisp that the person has allowed to run.

;;; Code:

(require 'magent-lsp-connection)
(require 'crm)

(defcustom magent-lsp-pause 1
  "Seconds without a key after which a question may take the keyboard.
A key that was meant for something else then answers nothing."
  :type 'number
  :group 'magent-lsp)

(defvar magent-lsp--reading-time 0.5
  "Seconds in which a question that came by itself takes no answer.
It is never more than `magent-lsp-pause'.")

(defun magent-lsp--pause-p ()
  "Return non-nil if nobody types, so that a question may take the keyboard.
A command that reads keys of its own, such as `query-replace' or
Isearch, is one in which somebody types, however slowly."
  (let ((idle (current-idle-time)))
    (and idle (>= (float-time idle) magent-lsp-pause)
         (null this-command) (null defining-kbd-macro) (null overriding-terminal-local-map)
         ;; The first keys of a sequence, as C-x, are meant for what is selected now.
         (equal [] (this-single-command-raw-keys)))))

(defun magent-lsp--at-pause (later function)
  "Call FUNCTION, which prompts, once nobody types; it answers LATER.
If it is quit, the answer is nil."
  (let ((ready-p (if noninteractive #'always #'magent-lsp--pause-p)))
    (unless (magent-lsp--free-p ready-p)
      (message "Magent has a question for you; it comes when you stop typing"))
    (magent-lsp--outside
     later
     (if noninteractive function
       (lambda ()
         (minibuffer-with-setup-hook #'magent-lsp--await-reading (funcall function))))
     ready-p)))

(defun magent-lsp--unread-p (came)
  "Return non-nil if a question that CAME by itself then cannot have been read yet.
If it is nil, the person went there."
  (and came (< (- (float-time) came) (min magent-lsp-pause magent-lsp--reading-time))))

(defun magent-lsp--await-reading ()
  "Have the minibuffer take no key that cannot be meant for its question yet."
  (let ((came (float-time)))
    (add-hook 'pre-command-hook
              (lambda ()
                ;; A click, or another frame, leaves the question; it does not answer it.
                (when (and came (not (consp last-command-event)))
                  ;; A key that is held down is none either.
                  (setq came (and (magent-lsp--unread-p came) (float-time)))
                  (when came (setq this-command #'magent-lsp--too-early))))
              nil t)))

(defun magent-lsp--too-early ()
  "Say that a key came too early to be meant for the question in the minibuffer."
  (interactive)
  (minibuffer-message "This question has just come: press the key again"))

(defun magent-lsp--free-p (ready-p)
  "Return non-nil if the minibuffer is free, and the function READY-P says so."
  (and (null (active-minibuffer-window)) (funcall ready-p)))

(defun magent-lsp--outside (later function &optional ready-p)
  "Call FUNCTION once the minibuffer is free; it answers LATER.
If READY-P is given, it must return non-nil too.  If FUNCTION is quit,
the answer is nil."
  (run-at-time
   (if (magent-lsp--free-p (or ready-p #'always)) 0 0.3) nil
   (lambda ()
     (cond
      ((not (magent-lsp--waits-p later)))
      ((not (magent-lsp--free-p (or ready-p #'always)))
       (magent-lsp--outside later function ready-p))
      (t (condition-case err
             (funcall function)
           (quit (magent-lsp-answer later nil))
           (error (magent-lsp-answer later nil (error-message-string err)))))))))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'window/showMessageRequest)) params later)
  "Ask the question in PARAMS; answer LATER with the chosen action.
A permission is asked for in a buffer of its own, from the event."
  (let* ((actions (append (plist-get params :actions) nil))
         (titles (mapcar (lambda (action) (plist-get action :title)) actions)))
    (unless (cl-find titles (magent-lsp-permissions (magent-lsp--later-conn later))
                     :test #'equal
                     :key (lambda (request)
                            (mapcar (lambda (option) (plist-get option :title))
                                    (plist-get request :options))))
      (magent-lsp--at-pause
       later
       (lambda ()
         (let ((choice (completing-read (magent-lsp--question (plist-get params :message))
                                        (magent-lsp--in-order titles) nil t)))
           (magent-lsp-answer
            later (cl-find choice actions :test #'equal
                           :key (lambda (action) (plist-get action :title))))))))))

(defun magent-lsp--question (text)
  "Return TEXT as a prompt of the minibuffer."
  (concat (string-trim-right text "[ \n:]+") ": "))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'magent/input)) params later)
  "Ask the question in PARAMS; answer LATER with the value, or nil.
A text that is proposed is shown in a buffer, to be changed there."
  (let ((options (append (plist-get params :options) nil))
        (default (plist-get params :default))
        (title (plist-get params :title))
        (message (plist-get params :message)))
    (if (and default (not (member default options))
             (or (equal default message) (string-search "\n" default)))
        (magent-lsp--propose later title (unless (equal default message) message) default
                             (car (last options)))
      (magent-lsp--at-pause
       later
       (lambda ()
         (let ((value (magent-lsp--read-input
                       options (eq t (plist-get params :multiple)) default title message)))
           (unless (magent-lsp--waits-p later)
             (message "Magent: nobody waits for this answer any more"))
           (magent-lsp-answer later (and (> (length value) 0) (list :value value)))))))))

(defvar-local magent-lsp--answers nil
  "The request that the buffer answers, until that is done.")
(put 'magent-lsp--answers 'permanent-local t)

(defvar magent-lsp-proposal-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'magent-lsp-proposal-accept)
    (define-key map (kbd "C-c C-k") #'magent-lsp-proposal-reject)
    map)
  "Keys of a proposal.")

(define-minor-mode magent-lsp-proposal-mode
  "Keys for a text that the agent proposes, which can be changed.
They stay if the buffer gets another major mode.
\\{magent-lsp-proposal-mode-map}"
  :lighter " Proposal"
  :group 'magent-lsp)
(put 'magent-lsp-proposal-mode 'permanent-local t)

(defun magent-lsp--propose (later title message text reject)
  "Show TEXT with TITLE and MESSAGE to be changed; answer LATER with it.
REJECT is the answer that refuses it, or nil."
  (let ((buffer (generate-new-buffer "*magent proposal*")))
    (with-current-buffer buffer
      (text-mode)
      (magent-lsp-proposal-mode)
      (insert text)
      (goto-char (point-min))
      (set-buffer-modified-p nil)
      (setq magent-lsp--answers later
            header-line-format
            (string-replace
             "%" "%%"
             (concat (string-join (delq nil (list title message)) " ")
                     (substitute-command-keys
                      ": \\[magent-lsp-proposal-accept] takes it as it is here, \
\\[magent-lsp-proposal-reject] refuses")))
            magent-lsp--connection (magent-lsp--later-conn later))
      (add-hook 'kill-buffer-hook (lambda () (magent-lsp-proposal--end reject)) nil t))
    (display-buffer buffer)
    (message "Magent proposes a text: %s" title)))

(defun magent-lsp-open-proposal (conn)
  "Return the buffer of a text that CONN proposes and waits for, if any."
  (seq-find (lambda (buffer)
              (let ((later (buffer-local-value 'magent-lsp--answers buffer)))
                (and later (eq conn (magent-lsp--later-conn later))
                     (magent-lsp--waits-p later))))
            (buffer-list)))

(defun magent-lsp-proposal--end (value)
  "Answer with VALUE, unless that was done."
  (when-let ((later magent-lsp--answers))
    (setq magent-lsp--answers nil)
    (magent-lsp-answer later (and value (list :value value)))))

(defun magent-lsp-proposal-accept ()
  "Accept the text as it is in this buffer, also where it is not in view."
  (interactive nil magent-lsp-proposal-mode)
  (unless (and magent-lsp--answers (magent-lsp--waits-p magent-lsp--answers))
    (user-error "Nobody waits for this any more; the text stays here"))
  (magent-lsp-proposal--end
   (save-restriction
     (widen)
     (unless (magent-lsp--sendable-p (point-min) (point-max))
       (user-error "It has bytes that are no text; take them out first"))
     (buffer-substring-no-properties (point-min) (point-max))))
  (magent-lsp-proposal-reject))

(defun magent-lsp-proposal-reject ()
  "Refuse the text, and put it away."
  (interactive nil magent-lsp-proposal-mode)
  (let ((buffer (current-buffer)))
    (quit-windows-on buffer t)
    (when (buffer-live-p buffer)
      (kill-buffer buffer))))

(defun magent-lsp--read-input (options multiple default &rest texts)
  "Read a string, or one of OPTIONS, or several of them if MULTIPLE.
TEXTS are the prompt; DEFAULT is what an empty input means."
  (let ((prompt (magent-lsp--question
                 (string-join (seq-remove (lambda (text) (member text '(nil ""))) texts) "\n"))))
    (cond
     ((and options multiple)
      (let ((crm-separator "[ \t]*;[ \t]*"))
        (vconcat (completing-read-multiple
                  (concat (string-remove-suffix ": " prompt) " (several, with ; between): ")
                  options nil nil nil nil default))))
     (options (completing-read prompt options nil nil nil nil default))
     (t (read-string prompt nil nil default)))))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'magent/eval)) params later)
  "Evaluate the code in PARAMS, which the person has allowed; answer LATER."
  (magent-lsp--outside
   later
   (lambda ()
     (magent-lsp-answer
      later
      (if (not magent-lsp-allow-eval)
          (list :error "Evaluation is switched off (`magent-lsp-allow-eval').")
        (condition-case err
            ;; A timer cannot be quit by itself.
            (let ((inhibit-quit nil))
              (list :value (magent-lsp--eval (plist-get params :code))))
          (quit (list :error "The person quit it (C-g) before it had ended"))
          (error (list :error (error-message-string err)))))))))

(defun magent-lsp--eval (code)
  "Evaluate all forms of CODE where the person is; return the last value."
  (let ((value nil) (place 0))
    (with-current-buffer (window-buffer (selected-window))
      (while (not (string-match-p "\\`\\(?:[ \t\n\f\r]\\|;.*$\\)*\\'" (substring code place)))
        (pcase-let ((`(,form . ,next) (read-from-string code place)))
          (setq place next
                value (eval form t)))))
    (let ((print-length 200) (print-level 20))
      (magent-lsp--sendable
       (truncate-string-to-width (prin1-to-string value) 20000 nil nil "…")))))

(provide 'magent-lsp-ask)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-ask.el ends here
