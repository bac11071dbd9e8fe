// Puts the parts together; what the agent does is in the server.

import { type ExtensionContext, window } from "vscode";

import { Approvals } from "./approvals";
import { Chat } from "./chat";
import { Choices } from "./choices";
import { registerCommands } from "./commands";
import { Connection } from "./connection";
import { Conversations } from "./conversations";
import { serveDialogs } from "./dialogs";
import { Questions } from "./questions";
import { Status } from "./status";
import { Targets } from "./targets";
import { Typing } from "./typing";

let connection: Connection | undefined;

export function activate(context: ExtensionContext): void {
  const conversations = new Conversations();
  const choices = new Choices(context, () => conversations.says(conversations.doing));
  const typing = new Typing();
  const questions = new Questions();
  const approvals = new Approvals(conversations, () => opened, typing);
  const parts = { conversations, approvals, questions };
  const opened = new Connection(context, conversations, choices, (client) => serveDialogs(client, parts));
  const chat = new Chat(context.extensionUri, conversations, opened, choices, questions, typing);
  connection = opened;
  context.subscriptions.push(
    typing,
    questions,
    approvals,
    chat,
    new Status(conversations, opened, questions),
    new Targets(conversations),
    window.registerWebviewViewProvider("magentLsp.chat", chat, { webviewOptions: { retainContextWhenHidden: true } }),
    ...registerCommands({ ...parts, connection: opened, choices, chat }),
  );
  // Not waited for: until an extension is active, VS Code runs none of its commands and shows none of its views.
  void opened.start();
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}
