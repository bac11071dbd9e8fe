// What the server asks of the editor: to save, to show a diff, to ask the person.

import { type CancellationToken, Uri, window, workspace } from "vscode";
import { type LanguageClient, type MessageActionItem, type ShowMessageParams, type ShowMessageRequestParams, State } from "vscode-languageclient/node";

import type { Approvals } from "./approvals";
import type { Conversations } from "./conversations";
import { plain } from "./plain";
import type { Comparison, PermissionRequest } from "./protocol";
import type { Input, Questions } from "./questions";

export interface Parts {
  conversations: Conversations;
  approvals: Approvals;
  questions: Questions;
}

/** Serve the server's requests of this kind. */
export function serveDialogs(client: LanguageClient, { conversations, approvals, questions }: Parts): void {
  client.onRequest("magent/save", save);
  client.onRequest("magent/input", (input: Input, token: CancellationToken) => questions.ask(input, token));
  client.onDidChangeState(({ newState }) => newState === State.Stopped && questions.abandon());
  client.onRequest("magent/showDiff", async (comparison: Comparison) => {
    await approvals.offer(comparison);
    return null;
  });
  client.onNotification("window/showMessage", (params: ShowMessageParams) => void ask(params));
  client.onRequest("window/showMessageRequest", (params: ShowMessageRequestParams) => {
    const request = [...conversations.pending.values()].find((pending) => isAbout(params, pending));
    return request ? settled(conversations, request) : ask(params);
  });
}

async function save({ uris }: { uris: string[] }): Promise<{ saved: string[] }> {
  const wanted = new Set(uris.map((uri) => Uri.parse(uri).toString()));
  const saved: string[] = [];
  for (const document of workspace.textDocuments) {
    const uri = document.uri.toString();
    if (wanted.has(uri) && (!document.isDirty || (await document.save()))) saved.push(uri);
  }
  return { saved };
}

/** Whether a dialog repeats a request that the chat and the diff editor show already. */
function isAbout(params: ShowMessageRequestParams, request: PermissionRequest): boolean {
  const titles = params.actions?.map((action) => action.title).join("\n");
  const offered = request.options.map((option) => option.title).join("\n");
  return titles === offered && params.message.startsWith(`Magent: ${request.title}`);
}

/** The dialog stays open until the request is answered elsewhere; what it says then no longer matters. */
function settled(conversations: Conversations, request: PermissionRequest): Promise<null> {
  return new Promise((resolve) => {
    const listener = conversations.onAnswered((requestId) => {
      if (requestId !== request.requestId) return;
      listener.dispose();
      resolve(null);
    });
  });
}

async function ask({ type, message, actions = [] }: ShowMessageRequestParams): Promise<MessageActionItem | null> {
  const show = type === 1 ? window.showErrorMessage : type === 2 ? window.showWarningMessage : window.showInformationMessage;
  return (await show<MessageActionItem>(plain(message), ...actions)) ?? null;
}
