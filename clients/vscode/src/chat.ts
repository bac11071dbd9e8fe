// The chat view: hands conversations to the web view, and what is clicked there to commands.

import { randomBytes } from "node:crypto";
import { isAbsolute } from "node:path";
import { commands, type Disposable, type TextEditor, Uri, type Webview, type WebviewView, type WebviewViewProvider, window, workspace } from "vscode";

import type { Choices } from "./choices";
import type { Connection } from "./connection";
import { type Conversations, placeWords } from "./conversations";
import { plain } from "./plain";
import type { Started } from "./protocol";
import type { Questions } from "./questions";
import { shortModel } from "./status";
import type { Typing } from "./typing";
import type { FromView, ToView } from "./view";

export class Chat implements WebviewViewProvider, Disposable {
  private view: WebviewView | undefined;
  private readonly listeners: Disposable[];
  private wanted: ToView | undefined;
  /** Whether the page has the commands of the server that runs. */
  private served = false;

  constructor(
    private readonly root: Uri,
    private readonly conversations: Conversations,
    private readonly connection: Connection,
    private readonly choices: Choices,
    private readonly questions: Questions,
    private readonly typing: Typing,
  ) {
    this.listeners = [
      conversations.onChange((changes) => this.tell({ type: "change", changes })),
      conversations.onShow(() => this.show()),
      conversations.onState(() => this.state()),
      conversations.onStarted(() => void this.reveal()),
      questions.onChange(() => this.ask()),
      questions.onAsked((question) => {
        if (!this.view?.visible) void questions.announce(question);
      }),
      window.onDidChangeTextEditorSelection(() => this.state()),
      window.onDidChangeActiveTextEditor(() => this.state()),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  resolveWebviewView(view: WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [Uri.joinPath(this.root, "dist"), Uri.joinPath(this.root, "media")] };
    view.webview.onDidReceiveMessage((message: FromView) => void this.heard(message));
    view.onDidDispose(() => (this.view = undefined));
    view.webview.html = page(view.webview, this.root);
  }

  /** Bring the chat up with the cursor in its input. */
  async focus(): Promise<void> {
    this.wanted = { type: "focus" };
    await commands.executeCommand("magentLsp.chat.focus");
    if (this.view) this.tell(this.wanted);
  }

  /** What the person looks at, as arguments of `magent.prompt`. */
  static place(editor: TextEditor | undefined): Record<string, unknown> {
    if (!editor || editor.document.uri.scheme !== "file") return {};
    const { start, end } = editor.selection;
    return { uri: editor.document.uri.toString(), range: { start, end } };
  }

  private async reveal(): Promise<void> {
    if (this.view?.visible || !workspace.getConfiguration("magentLsp").get("chat.open", true)) return;
    // Whoever types goes on typing where they are.
    if (this.view) this.view.show(true);
    else await commands.executeCommand("magentLsp.chat.focus", { preserveFocus: true });
  }

  private async heard(message: FromView): Promise<void> {
    switch (message.type) {
      case "ready":
        return this.ready();
      case "send":
        return this.send(message.text, message.withPlace);
      case "reply":
        return void (await commands.executeCommand("magentLsp.answer", message.reply, message.requestId));
      case "answer":
        return this.questions.answer(message.id, message.value);
      case "draft":
        this.typing.note();
        return this.questions.draft(message.id, message.text);
      case "showText":
        return this.questions.show(message.id);
      case "typing":
        return this.typing.note();
      case "open":
        return open(message.path, this.conversations.current?.folder);
      case "diff":
        return void (await commands.executeCommand("magentLsp.showDiff", message.requestId));
      case "rejectSaying":
        return void (await commands.executeCommand("magentLsp.rejectSaying", message.requestId));
      case "undo":
      case "redo":
        return void (await commands.executeCommand(`magentLsp.${message.type}`, message.runId));
      case "cancel":
        return this.cancel();
      default:
        return void (await commands.executeCommand(`magentLsp.${message.type}`));
    }
  }

  private ready(): void {
    this.served = false;
    this.show();
    this.state();
    this.ask();
    if (this.wanted) this.tell(this.wanted);
  }

  // The page may be there long before the server.
  private async complete(): Promise<void> {
    const { ready } = this.connection;
    if (ready === this.served) return;
    this.served = ready;
    if (!ready) return;
    const found = await this.connection.execute<{ name: string; description: string }[]>("magent.slashCommands");
    if (found) this.tell({ type: "commands", commands: found });
  }

  private async send(text: string, withPlace: boolean): Promise<void> {
    const run = this.conversations.runHere;
    if (run && !text.startsWith("/")) {
      const steered = await this.connection.execute<{ ok: boolean }>("magent.steer", { runId: run.runId, message: text });
      if (!steered) return this.tell({ type: "unsent", text });
      if (steered.ok) return this.conversations.tell("info", `You: ${text}`);
    }
    const { current } = this.conversations;
    const started = await this.connection.execute<Started>("magent.prompt", {
      prompt: text,
      ...(current ? { sessionId: current.sessionId } : {}),
      ...(withPlace ? Chat.place(window.activeTextEditor) : {}),
      ...this.choices.agent(),
      ...this.choices.model(),
    });
    // It failed before it began: the text must not be lost.
    if (!started) this.tell({ type: "unsent", text });
  }

  private async cancel(): Promise<void> {
    const run = this.conversations.runHere;
    // It may have ended under the pointer; without a run all others would be meant.
    if (run) await commands.executeCommand("magentLsp.cancel", run.runId);
  }

  private show(): void {
    const thread = this.conversations.current;
    if (this.view) this.view.description = thread?.title.slice(0, 60);
    this.tell({ type: "show", items: thread?.items ?? [], title: thread?.title ?? "" });
  }

  private state(): void {
    if (!this.view) return;
    void this.complete();
    const { runHere, agent, model, doing } = this.conversations;
    this.tell({
      type: "state",
      running: runHere !== undefined,
      doing,
      agent: this.choices.agent().agent ?? (agent || "build"),
      model: shortModel(this.choices.model().model ?? model),
      place: words(window.activeTextEditor),
      ready: this.connection.ready,
      starting: this.connection.starting,
    });
  }

  private ask(): void {
    this.tell({ type: "questions", questions: this.questions.open });
  }

  private tell(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }
}

function words(editor: TextEditor | undefined): string {
  return editor?.document.uri.scheme === "file" ? placeWords(editor.document.uri.toString(), editor.selection) : "";
}

/** Where a file that the server names may be; first in the folder of its conversation. */
function places(name: string, folder: string | undefined): Uri[] {
  if (isAbsolute(name)) return [Uri.file(name)];
  const folders = (workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  return [...(folder ? [Uri.parse(folder)] : []), ...folders].map((uri) => Uri.joinPath(uri, name));
}

/** Open a file that an answer names, `src/a.py` or `src/a.py:12`. */
async function open(link: string, folder: string | undefined): Promise<void> {
  const [, path = link, line] = /^(.*?)(?:[:#]L?(\d+))?$/.exec(decodeURIComponent(link)) ?? [];
  for (const uri of places(path, folder)) {
    try {
      const editor = await window.showTextDocument(uri, { preview: true });
      if (line) await commands.executeCommand("revealLine", { lineNumber: Number(line) - 1, at: "center" });
      return void editor;
    } catch {
      continue; // not in this folder
    }
  }
  void window.showInformationMessage(`Magent: there is no file ${plain(path)} in this workspace.`);
}

function page(webview: Webview, root: Uri): string {
  const nonce = randomBytes(16).toString("base64url");
  const script = webview.asWebviewUri(Uri.joinPath(root, "dist", "chat.js"));
  const style = webview.asWebviewUri(Uri.joinPath(root, "media", "chat.css"));
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}';">
<link rel="stylesheet" href="${style}">
<title>Magent</title>
</head>
<body>
<main id="thread" role="log" aria-live="polite"></main>
<section id="questions" aria-label="Questions" aria-live="polite"></section>
<form id="composer">
<ul id="completions" hidden></ul>
<textarea id="input" rows="2" aria-label="Message"></textarea>
<div id="bar">
<button type="button" class="chip" id="place" title="What you look at goes with the message; click to leave it out"></button>
<button type="button" class="chip" id="agent" title="Pick an agent"></button>
<button type="button" class="chip" id="model" title="Pick a model"></button>
<span class="room"></span>
<button type="button" id="stop" class="secondary" title="Cancel what runs here" hidden>Stop</button>
<button type="submit" id="send" title="Send (Enter)">Send</button>
</div>
</form>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
