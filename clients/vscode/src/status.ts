// The item in the status bar, and the menu behind it.

import { commands, type Disposable, type QuickPickItem, QuickPickItemKind, StatusBarAlignment, type StatusBarItem, ThemeColor, window } from "vscode";

import type { Connection } from "./connection";
import type { Conversations } from "./conversations";
import type { Questions } from "./questions";

interface Entry extends QuickPickItem {
  command?: string;
}

const LONG = 40;

export class Status implements Disposable {
  private readonly item: StatusBarItem;
  private readonly listeners: Disposable[];

  constructor(
    private readonly conversations: Conversations,
    private readonly connection: Connection,
    private readonly questions: Questions,
  ) {
    this.item = window.createStatusBarItem("magentLsp.status", StatusBarAlignment.Right, 90);
    this.item.name = "Magent";
    this.item.command = "magentLsp.menu";
    this.item.show();
    this.listeners = [conversations.onState(() => this.update()), questions.onChange(() => this.update())];
    this.update();
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) listener.dispose();
  }

  private update(): void {
    const { pending, running, agent, model, costUsd, doing } = this.conversations;
    const [request] = [...pending.values(), ...this.questions.open];
    const run = this.conversations.runHere ?? [...running.values()][0];
    const cost = costUsd >= 0.001 ? ` · $${costUsd.toFixed(costUsd < 0.1 ? 3 : 2)}` : "";
    this.item.backgroundColor = undefined;
    if (this.connection.starting) this.item.text = "$(loading~spin) Magent";
    else if (!this.connection.ready) this.item.text = "$(circle-slash) Magent";
    else if (request) {
      this.item.text = `$(bell-dot) Magent asks: ${shorten(request.title)}`;
      this.item.backgroundColor = new ThemeColor("statusBarItem.warningBackground");
    } else if (run) this.item.text = `$(loading~spin) ${run.agent}: ${shorten(doing || "thinking")}`;
    else if (agent) this.item.text = `$(sparkle) ${agent} · ${shortModel(model)}${cost}`;
    else this.item.text = "$(sparkle) Magent";
    this.item.tooltip = tooltip(agent, model, costUsd, this.connection);
    void commands.executeCommand("setContext", "magentLsp.running", running.size > 0);
    void commands.executeCommand("setContext", "magentLsp.waiting", request !== undefined);
    void commands.executeCommand("setContext", "magentLsp.changed", this.conversations.changed.length > 0);
  }
}

/** The menu of the status bar item. */
export async function showMenu(conversations: Conversations, connection: Connection, questions: Questions): Promise<void> {
  const { pending, running, changed } = conversations;
  const waiting = pending.size + questions.open.length;
  const now: Entry[] = [
    ...(waiting > 0 ? [entry("$(bell-dot) Answer the open question…", "answer")] : []),
    ...(running.size > 0 ? [entry("$(debug-stop) Cancel what runs", "cancel")] : []),
    ...(changed.length > 0 ? [entry("$(discard) Undo the last run", "undo"), entry("$(redo) Redo it", "redo")] : []),
  ];
  const items: Entry[] = [
    ...now,
    ...(now.length > 0 ? [{ label: "", kind: QuickPickItemKind.Separator }] : []),
    entry("$(comment-discussion) Open the chat", "openChat"),
    entry("$(add) New conversation", "newChat"),
    entry("$(history) Earlier conversations…", "sessions"),
    entry("$(person) Pick an agent…", "pickAgent"),
    entry("$(hubot) Pick a model…", "pickModel"),
    { label: "", kind: QuickPickItemKind.Separator },
    entry("$(settings-gear) Settings", "settings"),
    entry("$(pulse) What is configured, what is missing", "doctor"),
    entry("$(output) Show the log", "log"),
    entry(connection.ready || connection.starting ? "$(refresh) Restart the server" : "$(play) Start the server", "restart"),
  ];
  const chosen = await window.showQuickPick(items, { title: "Magent" });
  if (chosen?.command) await commands.executeCommand(chosen.command);
}

function entry(label: string, command: string): Entry {
  return { label, command: `magentLsp.${command}` };
}

function tooltip(agent: string, model: string, costUsd: number, { ready, starting }: Connection): string {
  if (starting) return "Magent's server starts; click for a menu.";
  if (!ready) return "Magent's server does not run; click for a menu.";
  const facts = [agent && `Agent: ${agent}`, model && `Model: ${model}`, costUsd && `Cost in this window: $${costUsd.toFixed(4)}`];
  return ["Magent; click for a menu.", ...facts.filter(Boolean)].join("\n");
}

function shorten(text: string): string {
  return text.length > LONG ? `${text.slice(0, LONG - 1)}…` : text;
}

/** `anthropic/claude-x` without the provider. */
export function shortModel(model: string): string {
  return shorten(model.slice(model.lastIndexOf("/") + 1));
}
