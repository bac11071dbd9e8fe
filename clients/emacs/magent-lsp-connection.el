;;; magent-lsp-connection.el --- The connection to the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One server process for each project, beside whatever language server
;; the buffers use.  This file starts it, sends commands and takes its
;; messages.  What those do is in magent-lsp-edit.el and -events.el.
;;
;; A message is never handled inside the process filter: a handler may
;; send, prompt or run other people's hooks, and the filter of jsonrpc
;; must not be entered again meanwhile.  Messages wait in an inbox,
;; which a timer empties in order.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'magent-lsp-buffers)
(require 'project)

(defcustom magent-lsp-server-command '("magent-lsp" "serve")
  "Program and arguments that start the server."
  :type '(repeat string)
  :group 'magent-lsp)

(defcustom magent-lsp-settings nil
  "Settings for the server, as a plist of its camelCase names.
For example (:model \"anthropic/claude-sonnet-4-5\" :maxTurns 30).
They count more than the files of settings; a running server keeps
those it was started with."
  :type '(plist :key-type symbol :value-type sexp)
  :group 'magent-lsp)

(defcustom magent-lsp-allow-eval t
  "Whether the agent may ask to evaluate Emacs Lisp.
It is always asked for, each time."
  :type 'boolean
  :group 'magent-lsp)

(defclass magent-lsp-connection (jsonrpc-process-connection)
  ((root :initarg :root :reader magent-lsp-root
         :documentation "The project's folder, with a slash at the end.")
   (ended :initform nil :accessor magent-lsp-ended
          :documentation "Non-nil once the server was asked to leave.")
   (inbox :initform nil :accessor magent-lsp--inbox
          :documentation "Messages to be handled, newest first.")
   (timer :initform nil :accessor magent-lsp--timer)
   (waiting :initform nil :accessor magent-lsp--waiting
            :documentation "Requests of the server that are not answered.")
   (progress :initform nil :accessor magent-lsp-progress
             :documentation "An alist of progress tokens and texts.")
   (permissions :initform nil :accessor magent-lsp-permissions
                :documentation "Open permission requests, oldest first.")
   (selecting :initform nil :accessor magent-lsp--selecting
              :documentation "The timer of a question that waits for the keyboard.")
   (comparisons :initform nil :accessor magent-lsp-comparisons
                :documentation "An alist of permission requests and what their edits change.")
   (session :initform nil :accessor magent-lsp-session)
   (agent :initform nil :accessor magent-lsp-agent)
   (model :initform nil :accessor magent-lsp-model)
   (runs :initform nil :accessor magent-lsp-runs
         :documentation "Ids of runs that have not ended, newest first.")
   (guests :initform nil :accessor magent-lsp--guests
           :documentation "Those of them that other programs began.")
   (last-run :initform nil :accessor magent-lsp-last-run
             :documentation "The id of the run whose edits can be taken back."))
  :documentation "A connection to the server of one project.")

(defvar magent-lsp--connections (make-hash-table :test #'equal)
  "Connections by the folder of their project.")

(defvar-local magent-lsp--connection nil
  "The connection of a buffer that belongs to one, such as a conversation.")
(put 'magent-lsp--connection 'permanent-local t)

;;;; Beginning and end

(defun magent-lsp--project-root ()
  "Return the folder of the current buffer's project."
  (let ((project (project-current)))
    (file-name-as-directory
     (expand-file-name
      (if project
          (if (fboundp 'project-root) (project-root project) (cdr project))
        default-directory)))))

(defun magent-lsp-current ()
  "Return the live connection of the current buffer; nil if there is none.
A buffer of a server that has ended has the one that came after it."
  (let* ((own (or magent-lsp--connection magent-lsp--opened))
         (conn (if (magent-lsp--live-p own) own
                 (gethash (magent-lsp--root-here) magent-lsp--connections))))
    (and (magent-lsp--live-p conn) conn)))

(defun magent-lsp-ensure ()
  "Return the connection of the current buffer; start its server if needed."
  (or (magent-lsp-current)
      (magent-lsp--start (magent-lsp--root-here))))

(defun magent-lsp--root-here ()
  "Return the folder whose server the current buffer has, or would have."
  (let ((own (or magent-lsp--connection magent-lsp--opened)))
    (if own (magent-lsp-root own) (magent-lsp--project-root))))

(defun magent-lsp--in-order (names)
  "Return a table that completes NAMES and lists them in their order."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        '(metadata (display-sort-function . identity) (cycle-sort-function . identity))
      (complete-with-action action names string predicate))))

(defun magent-lsp--names ()
  "Return an alist of the names of connections and their folders.
Those of dead ones that still have buffers are in it."
  (mapcar (lambda (conn) (cons (jsonrpc-name conn) (magent-lsp-root conn)))
          (append (hash-table-values magent-lsp--connections)
                  (delq nil (mapcar (lambda (buffer)
                                      (buffer-local-value 'magent-lsp--connection buffer))
                                    (buffer-list))))))

(defun magent-lsp--name (root)
  "Return the name of the connection of the folder ROOT, which no other folder has.
Buffers are named after it, so a question of one project never comes
into a buffer of another one."
  (let* ((names (magent-lsp--names))
         (parts (nreverse (split-string root "/" t)))
         (path (or (pop parts) "/"))
         (number 1)
         (name (format "magent %s" path)))
    (or (car (rassoc root names))
        (progn
          (while (assoc name names)
            (setq name (if parts
                           (format "magent %s" (setq path (concat (pop parts) "/" path)))
                         (format "magent %s<%d>" path (cl-incf number)))))
          name))))

(defun magent-lsp--start (root)
  "Start a server for the folder ROOT and return the connection."
  (when (file-remote-p root)
    (user-error "Magent works on local files; %s is remote" root))
  (unless (executable-find (car magent-lsp-server-command))
    (user-error "There is no program %S: install it with %s in a checkout of magent-lsp \
(see its README), or set `magent-lsp-server-command'"
                (car magent-lsp-server-command) "pipx install '.[rg]'"))
  (let* ((name (magent-lsp--name root))
         (default-directory root)
         (conn (apply
                #'magent-lsp-connection
                :name name :root root
                :request-dispatcher #'magent-lsp--on-request
                :notification-dispatcher #'magent-lsp--on-notification
                :on-shutdown #'magent-lsp--on-shutdown
                :process (make-process
                          :name name :command magent-lsp-server-command
                          :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                          :stderr (get-buffer-create (format "*%s stderr*" name)))
                ;; No log of all messages; newer versions have another name for it.
                (if (slot-exists-p 'jsonrpc-connection '-events-buffer-config)
                    '(:events-buffer-config (:size 0 :format full))
                  '(:events-buffer-scrollback-size 0)))))
    (message "Magent starts in %s …" (abbreviate-file-name root))
    (condition-case err
        (magent-lsp-request conn :initialize (magent-lsp--initialize-params root) 30)
      ((error quit)
       (setf (magent-lsp-ended conn) t)
       (jsonrpc-shutdown conn)
       (display-buffer (jsonrpc-stderr-buffer conn))
       (user-error "The magent server did not start: %s; a window shows what it wrote"
                   (error-message-string err))))
    (jsonrpc-notify conn :initialized (make-hash-table))
    (puthash root conn magent-lsp--connections)
    (magent-lsp--go-on conn)
    (message nil)
    (dolist (buffer (magent-lsp--buffers))
      (with-current-buffer buffer
        ;; A folder in it may be a project of its own, with another server.
        (when (and (string-prefix-p root (expand-file-name (or buffer-file-name "/")))
                   (equal root (magent-lsp--root-here)))
          (magent-lsp--open conn))))
    conn))

(defvar magent-lsp--lost (make-hash-table :test #'equal)
  "Connections whose server has died, by the folder of their project.")

(defun magent-lsp--go-on (conn)
  "Go on in CONN with the conversation and the choices of a server that has died."
  (when-let ((old (gethash (magent-lsp-root conn) magent-lsp--lost)))
    (remhash (magent-lsp-root conn) magent-lsp--lost)
    (setf (magent-lsp-session conn) (magent-lsp-session old)
          (magent-lsp-agent conn) (magent-lsp-agent old)
          (magent-lsp-model conn) (magent-lsp-model old)
          (magent-lsp-last-run conn) (magent-lsp-last-run old))))

(defun magent-lsp--initialize-params (root)
  "Return the parameters of the initialize request for the folder ROOT."
  (let ((uri (magent-lsp--path-uri (directory-file-name root))))
    (list
     :processId (emacs-pid)
     :clientInfo (list :name "Emacs magent-lsp" :version emacs-version)
     :rootUri uri
     :workspaceFolders
     (vector (list :uri uri :name (file-name-nondirectory (directory-file-name root))))
     :initializationOptions
     (list :magent
           `(,@magent-lsp-settings
             :client (:events t :save t :input t :diff t
                      :eval ,(and magent-lsp-allow-eval "elisp"))))
     :capabilities
     (list :workspace
           (list :applyEdit t
                 :workspaceEdit (list :documentChanges t
                                      :resourceOperations ["create" "rename" "delete"]))
           :textDocument
           (list :synchronization (list :didSave t)
                 :codeAction
                 (list :codeActionLiteralSupport
                       (list :codeActionKind
                             (list :valueSet ["quickfix" "refactor.rewrite" "source"]))))
           :window (list :workDoneProgress t :showDocument (list :support t))))))

(defvar magent-lsp-shutdown-functions nil
  "Functions called with a connection whose server has ended.")

(defun magent-lsp--on-shutdown (conn)
  "Forget CONN, whose server has ended."
  (when (eq conn (gethash (magent-lsp-root conn) magent-lsp--connections))
    (remhash (magent-lsp-root conn) magent-lsp--connections))
  (dolist (buffer (magent-lsp--buffers conn))
    (with-current-buffer buffer
      (setq magent-lsp--opened nil magent-lsp--pending nil)))
  (setf (magent-lsp-progress conn) nil
        (magent-lsp-runs conn) nil
        (magent-lsp--guests conn) nil)
  (run-hook-with-args 'magent-lsp-shutdown-functions conn)
  (unless (magent-lsp-ended conn)
    (puthash (magent-lsp-root conn) conn magent-lsp--lost)
    (message "The magent server of %s has ended; the next command starts it again"
             (magent-lsp-root conn))))

(defun magent-lsp-show-stderr ()
  "Show what the server of this project wrote to its standard error.
It is there also after the server has ended."
  (interactive)
  ;; Jsonrpc hides the buffer.
  (display-buffer (or (get-buffer (format " *%s stderr*"
                                          (magent-lsp--name (magent-lsp--root-here))))
                      (user-error "No magent server was started here"))))

(defun magent-lsp-shutdown (conn)
  "End the server of CONN, and with it all its runs."
  (interactive (list (or (magent-lsp-current) (user-error "No magent server runs here"))))
  (setf (magent-lsp-ended conn) t)
  (ignore-errors (magent-lsp-request conn :shutdown nil 5))
  (ignore-errors (jsonrpc-notify conn :exit nil))
  (let ((end (time-add nil 2)))
    (while (and (jsonrpc-running-p conn) (time-less-p nil end))
      (accept-process-output nil 0.1)))
  (ignore-errors (jsonrpc-shutdown conn))
  (message "The magent server of %s has ended" (abbreviate-file-name (magent-lsp-root conn))))

;;;; Commands of the server

(defun magent-lsp-request (conn method params seconds)
  "Send the request METHOD with PARAMS on CONN and return the answer.
SECONDS bounds the wait.  An error of type `jsonrpc-error' has the
message of what went wrong.

Unlike this, `jsonrpc-request' of Emacs 28 and 29 leaves unread what
came in one piece with the answer, until the server says more; if
that was a question, both would wait for ever."
  (let (done result failed)
    (jsonrpc-async-request
     conn method params :timeout seconds
     :success-fn (lambda (it) (setq done t result it))
     :error-fn (lambda (err)
                 (setq done t failed (or (plist-get err :message) "The server gave no reason")))
     :timeout-fn (lambda () (setq done t failed (format "No answer to %s within %s s"
                                                        (substring (symbol-name method) 1)
                                                        seconds))))
    (while (not done) (accept-process-output nil 0.2))
    (when failed (signal 'jsonrpc-error (list failed)))
    result))

(defun magent-lsp--command-params (command arguments)
  "Return the parameters that execute COMMAND with the plist ARGUMENTS."
  (list :command command :arguments (if arguments (vector arguments) [])))

(defun magent-lsp-call (conn command &optional arguments seconds)
  "Execute COMMAND with the plist ARGUMENTS on CONN and return the result.
SECONDS, by default 10, bounds the wait."
  (magent-lsp--flush-all conn)
  (condition-case err
      (magent-lsp-request conn :workspace/executeCommand
                          (magent-lsp--command-params command arguments) (or seconds 10))
    (jsonrpc-error (user-error "%s" (cadr err)))))

(defun magent-lsp-send (conn command &optional arguments then)
  "Execute COMMAND with the plist ARGUMENTS on CONN without waiting.
THEN is called with the result."
  (magent-lsp--flush-all conn)
  (jsonrpc-async-request
   conn :workspace/executeCommand (magent-lsp--command-params command arguments)
   :timeout 60
   :success-fn (or then #'ignore)
   :error-fn (lambda (err) (message "Magent: %s" (plist-get err :message)))
   :timeout-fn (lambda () (message "Magent: the server does not answer to %s" command))))

;;;; Messages of the server

(cl-defstruct (magent-lsp--later (:constructor magent-lsp--make-later))
  "The answer to a request of the server that is given later."
  conn id done)

(cl-defmethod jsonrpc-connection-send :around
  ((_conn magent-lsp-connection) &rest args)
  "Send ARGS, but for an answer that is given later."
  (let ((result (plist-get args :result)))
    (if (magent-lsp--later-p result)
        (setf (magent-lsp--later-id result) (plist-get args :id))
      (cl-call-next-method))))

(defun magent-lsp-answer (later result &optional err)
  "Answer the request LATER with RESULT, or with the message ERR.
An error may be a plist as JSON-RPC has it."
  (let ((conn (magent-lsp--later-conn later)))
    (unless (magent-lsp--later-done later)
      (when (magent-lsp--live-p conn)
        (if err
            (jsonrpc-connection-send
             conn :id (magent-lsp--later-id later)
             :error (if (stringp err)
                        (list :code -32803 :message (magent-lsp--sendable err))
                      err))
          (jsonrpc-connection-send conn :id (magent-lsp--later-id later) :result result)))
      ;; What could not be sent, as it was no text, is not answered.
      (setf (magent-lsp--later-done later) t)
      (cl-callf2 delq later (magent-lsp--waiting conn)))))

(defun magent-lsp--waits-p (later)
  "Return non-nil if the server still waits for the answer LATER."
  (and (not (magent-lsp--later-done later))
       (magent-lsp--live-p (magent-lsp--later-conn later))))

(cl-defgeneric magent-lsp-handle-request (method params later)
  "Serve the request METHOD of the server with PARAMS; answer LATER."
  (ignore params)
  (magent-lsp-answer later nil (list :code -32601 :message (format "No method %s" method))))

(cl-defgeneric magent-lsp-handle-notification (method params conn)
  "Take the notification METHOD of CONN with PARAMS."
  (ignore method params conn))

(defun magent-lsp--on-request (conn method params)
  "Put the request METHOD of CONN with PARAMS into the inbox."
  (let ((later (magent-lsp--make-later :conn conn)))
    (push later (magent-lsp--waiting conn))
    (magent-lsp--put conn (lambda () (magent-lsp--serve method params later)))
    later))

(defun magent-lsp--serve (method params later)
  "Serve the request METHOD with PARAMS; answer LATER also if that fails."
  (condition-case err
      (when (magent-lsp--waits-p later)
        (magent-lsp-handle-request method params later))
    ((error quit) (magent-lsp-answer later nil (error-message-string err)))))

(defun magent-lsp--on-notification (conn method params)
  "Put the notification METHOD of CONN with PARAMS into the inbox."
  (magent-lsp--put conn (lambda () (magent-lsp-handle-notification method params conn))))

(defun magent-lsp--put (conn message)
  "Put MESSAGE, a function, into the inbox of CONN."
  (push message (magent-lsp--inbox conn))
  (unless (magent-lsp--timer conn)
    (setf (magent-lsp--timer conn) (run-at-time 0 nil #'magent-lsp--take conn))))

(defun magent-lsp--take (conn)
  "Handle what is in the inbox of CONN, in order."
  (setf (magent-lsp--timer conn) nil)
  (let ((messages (nreverse (magent-lsp--inbox conn))))
    (setf (magent-lsp--inbox conn) nil)
    (dolist (message messages)
      (condition-case err
          (funcall message)
        (error (message "Magent: %s" (error-message-string err)))))))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'window/workDoneProgress/create)) _params later)
  "Take a progress token; answer LATER."
  (magent-lsp-answer later nil))

(cl-defmethod magent-lsp-handle-request ((_method (eql 'client/registerCapability)) _params later)
  "Register nothing; answer LATER."
  (magent-lsp-answer later nil))

(cl-defmethod magent-lsp-handle-notification ((_method (eql '$/progress)) params conn)
  "Show in the mode line what PARAMS say of a run of CONN."
  (let* ((token (plist-get params :token))
         (value (plist-get params :value))
         (old (assoc token (magent-lsp-progress conn))))
    (setf (magent-lsp-progress conn) (delq old (magent-lsp-progress conn)))
    (unless (equal (plist-get value :kind) "end")
      (push (cons token (or (plist-get value :message) (cdr old) "works"))
            (magent-lsp-progress conn)))
    (force-mode-line-update t)))

(cl-defmethod magent-lsp-handle-notification ((_method (eql '$/cancelRequest)) params conn)
  "Give up the request of CONN that PARAMS name."
  (when-let ((later (cl-find (plist-get params :id) (magent-lsp--waiting conn)
                             :key #'magent-lsp--later-id :test #'equal)))
    (magent-lsp-answer later nil (list :code -32800 :message "Cancelled"))))

(cl-defmethod magent-lsp-handle-notification ((_method (eql 'window/showMessage)) params _conn)
  "Show the message in PARAMS."
  (message "%s" (plist-get params :message)))

(cl-defmethod magent-lsp-handle-notification ((_method (eql 'window/logMessage)) params conn)
  "Keep the message in PARAMS in the log of CONN."
  (with-current-buffer (get-buffer-create (format "*%s log*" (jsonrpc-name conn)))
    (save-excursion
      (goto-char (point-max))
      (insert (format-time-string "%T ") (plist-get params :message) "\n"))))

(provide 'magent-lsp-connection)
;; Local Variables:
;; checkdoc-verb-check-experimental-flag: nil
;; End:
;;; magent-lsp-connection.el ends here
