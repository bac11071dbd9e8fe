// Puts the parts together; what the agent does is in the server.

import { type ExtensionContext, window } from "vscode";

import { Approvals } from "./approvals";
import { Chat } from "./chat";
import { Choices } from "./choices";
import { registerCommands } from "./commands";
import { Connection } from "./connection";
import { Conversations } from "./conversations";
import { serveDialogs } from "./dialogs";
import { Status } from "./status";
import { Targets } from "./targets";

let connection: Connection | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const conversations = new Conversations();
  const choices = new Choices(context, () => conversations.says(conversations.doing));
  const approvals = new Approvals(conversations, () => opened);
  const opened = new Connection(context, conversations, choices, (client) => serveDialogs(client, conversations, approvals));
  const chat = new Chat(context.extensionUri, conversations, opened, choices);
  connection = opened;
  context.subscriptions.push(
    approvals,
    chat,
    new Status(conversations, opened),
    new Targets(conversations),
    window.registerWebviewViewProvider("magentLsp.chat", chat, { webviewOptions: { retainContextWhenHidden: true } }),
    ...registerCommands({ conversations, connection: opened, choices, approvals, chat }),
  );
  await opened.start();
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}
