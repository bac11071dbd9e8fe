// The commands of the palette, of menus and of keys.

import { commands, type Disposable, type TextEditor, Uri, window, workspace } from "vscode";

import { type Approvals, requestOf } from "./approvals";
import { Chat } from "./chat";
import type { Choices } from "./choices";
import type { Connection } from "./connection";
import type { Conversations } from "./conversations";
import { linesOf, lineWords } from "./lines";
import type { Reply, Started } from "./protocol";
import type { Questions } from "./questions";
import { showMenu } from "./status";

export interface Parts {
  conversations: Conversations;
  connection: Connection;
  choices: Choices;
  approvals: Approvals;
  questions: Questions;
  chat: Chat;
}

interface Session {
  sessionId: string;
  title: string;
  updated: string;
  /** A path. */
  folder?: string;
  empty: boolean;
  parent?: string;
  forked?: boolean;
}

/** What a command is called with: an id by us, by a menu of VS Code the file that it was opened at. */
type Given = string | Uri;

/** Register them all. */
export function registerCommands(parts: Parts): Disposable[] {
  const { conversations, connection, choices, approvals, questions, chat } = parts;
  const all: Record<string, (...args: never[]) => unknown> = {
    prompt: () => prompt(parts),
    edit: () => edit(parts),
    ask: () => ask(parts),
    explain: () => askAbout(connection, editor(), "/explain"),
    openChat: () => chat.focus(),
    newChat: () => (conversations.show(undefined), chat.focus()),
    sessions: () => sessions(parts),
    cancel: (run?: Given) => connection.execute("magent.cancel", typeof run === "string" ? { runId: run } : {}),
    answer: (given?: Reply | Uri, requestId?: string) =>
      given instanceof Uri ? answer(parts, undefined, requestOf(given)) : answer(parts, given, requestId),
    accept: (uri?: Uri) => decide(parts, "allow_once", uri),
    reject: (uri?: Uri) => decide(parts, "reject", uri),
    rejectSaying: (request?: Given) => approvals.rejectSaying(request instanceof Uri ? requestOf(request) : request),
    showDiff: (requestId?: string) => approvals.show(requestId),
    undo: (run?: Given) => takeBack(parts, "undo", run),
    redo: (run?: Given) => takeBack(parts, "redo", run),
    pickAgent: () => choices.pickAgent(connection),
    pickModel: () => choices.pickModel(connection),
    trust: () => connection.execute("magent.trust"),
    doctor: () => connection.execute("magent.doctor"),
    settings: () => commands.executeCommand("workbench.action.openSettings", "@ext:magent-lsp.magent-lsp"),
    restart: () => connection.restart(),
    log: () => connection.showLog(),
    menu: () => showMenu(conversations, connection, questions),
  };
  return Object.entries(all).map(([name, run]) => commands.registerCommand(`magentLsp.${name}`, run));
}

function editor(): TextEditor | undefined {
  const active = window.activeTextEditor;
  if (!active) void window.showInformationMessage("Magent: open a file first.");
  return active;
}

/** Answer a request, else what waits; of several, the one that is meant is shown first: it may not be the one that is looked at. */
async function answer({ conversations, approvals, questions }: Parts, reply?: Reply, requestId?: string): Promise<void> {
  const requests = conversations.pending.size;
  if (!requestId && requests === 0 && questions.open.length > 0) return questions.pick();
  const isClear = requestId || requests + questions.open.length === 1;
  await approvals.answer(isClear ? reply : undefined, requestId);
}

/** Accept or reject what is at `uri`, in whose title bar the person clicked, else what they are in, else what waits. */
async function decide(parts: Parts, reply: "allow_once" | "reject", uri?: Uri): Promise<void> {
  const { conversations, questions } = parts;
  const at = uri ?? window.activeTextEditor?.document.uri;
  const only = conversations.pending.size + questions.open.length === 1 ? questions.open[0] : undefined;
  const question = questions.at(at) ?? only;
  if (question && !requestOf(at)) await questions.decide(question.id, reply === "allow_once");
  else await answer(parts, reply, requestOf(at));
}

async function prompt({ connection, choices }: Parts): Promise<void> {
  const active = window.activeTextEditor;
  if (!(await connection.reach())) return;
  const selected = active && !active.selection.isEmpty ? "the selection" : active ? "this file" : "this project";
  const text = await window.showInputBox({ title: `Magent: what shall be done with ${selected}?`, placeHolder: "Extract the loop into a function" });
  if (!text) return;
  const place = Chat.place(active);
  await connection.execute<Started>("magent.prompt", { prompt: text, ...place, ...choices.agent(), ...choices.model() });
}

/** As `prompt`, but what leaves the lines of the selection, or of the cursor, is denied by the server. */
async function edit({ connection, choices }: Parts): Promise<void> {
  const active = editor();
  if (!active) return;
  const { document, selection } = active;
  if (document.uri.scheme !== "file") {
    void window.showInformationMessage("Magent: go to a file, or save this text as one; only lines of a file can be changed alone.");
    return;
  }
  if (!(await connection.reach())) return;
  const words = lineWords(linesOf(selection)).slice(1);
  const text = await window.showInputBox({
    title: `Magent: what shall be done with ${words.includes("-") ? "lines" : "line"} ${words}? Nothing else is changed.`,
    placeHolder: "Say it more clearly",
  });
  if (!text) return;
  await connection.execute<Started>("magent.prompt", {
    prompt: text,
    ...Chat.place(active),
    scope: selection.isEmpty ? "line" : "region",
    ...choices.agent(),
    ...choices.model(),
  });
}

async function ask({ connection }: Parts): Promise<void> {
  const active = editor();
  if (!active || !(await connection.reach())) return;
  const question = await window.showInputBox({ title: "Magent: what do you want to know about this place?", placeHolder: "Nothing: explain it" });
  if (question !== undefined) await askAbout(connection, active, question || "/explain");
}

async function askAbout(connection: Connection, active: TextEditor | undefined, question: string): Promise<void> {
  if (!active) return;
  const { start, end } = active.selection;
  await connection.execute<Started>("magent.ask", { uri: active.document.uri.toString(), range: { start, end }, question });
}

async function sessions({ conversations, connection, chat }: Parts): Promise<void> {
  const folders = workspace.workspaceFolders ?? [];
  const found: Session[] = [];
  for (const argument of folders.length > 0 ? folders.map(({ uri }) => ({ folder: uri.toString() })) : [{}]) {
    const some = await connection.execute<Session[]>("magent.sessions", argument);
    if (!some) return;
    found.push(...some);
  }
  const items = found
    .filter((session) => !session.empty && (!session.parent || session.forked))
    .sort((one, other) => Date.parse(other.updated) - Date.parse(one.updated))
    .map((session) => ({ label: session.title, description: new Date(session.updated).toLocaleString(), session }));
  const title = `Earlier conversations of ${folders.length > 1 ? "these folders" : "this folder"}`;
  const chosen = await window.showQuickPick(items, { title, placeHolder: items.length ? "" : "There are none yet" });
  if (!chosen) return;
  const { sessionId, folder } = chosen.session;
  const thread = conversations.thread(sessionId);
  if (thread.items.length === 0) {
    const written = await connection.execute<{ text: string }>("magent.exportSession", { sessionId });
    thread.title = chosen.session.title;
    thread.folder = folder && Uri.file(folder).toString();
    thread.add({ kind: "text", id: "earlier", text: written?.text ?? "" });
  }
  conversations.show(thread);
  await chat.focus();
}

async function takeBack({ conversations, connection }: Parts, what: "undo" | "redo", given?: Given): Promise<void> {
  const run = typeof given === "string" ? given : conversations.changed.at(-1);
  if (!run) {
    void window.showInformationMessage("Magent: no run of this window has changed anything yet.");
    return;
  }
  const report = await connection.execute<{ restored: string[]; conflicts: string[] }>(`magent.${what}`, { runId: run });
  if (!report) return;
  const names = (uris: string[]): string => uris.map((uri) => decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1))).join(", ");
  const { restored, conflicts } = report;
  if (conflicts.length > 0) void window.showWarningMessage(`Magent: ${names(conflicts)} changed since and stays as it is.`);
  if (restored.length > 0) conversations.tell("info", `${what === "undo" ? "Undone" : "Done again"}: ${names(restored)}.`);
  else if (conflicts.length === 0) void window.showInformationMessage(`Magent: there is nothing to ${what}.`);
}
