// Shows an edit that waits for permission as a diff, and takes the person's answer.

import { basename } from "node:path";
import { commands, type Disposable, EventEmitter, type Tab, TabInputText, TabInputTextDiff, Uri, window, workspace } from "vscode";

import type { Connection } from "./connection";
import type { Conversations } from "./conversations";
import { plain } from "./plain";
import type { Comparison, PermissionRequest, Reply } from "./protocol";
import type { Typing } from "./typing";

export const SCHEME = "magent-lsp";

const NOTHING = "Magent waits for no permission.";

interface Asked {
  requestId: string;
  reply?: Reply;
  feedback?: string;
}

export class Approvals implements Disposable {
  private readonly texts = new Map<string, string>();
  /** The edits of requests that wait, as the server has them. */
  private readonly comparisons = new Map<string, Comparison>();
  private readonly changed = new EventEmitter<Uri>();
  private readonly parts: Disposable[];

  constructor(
    private readonly conversations: Conversations,
    private readonly connection: () => Connection,
    private readonly typing: Typing,
  ) {
    this.parts = [
      this.changed,
      workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.changed.event,
        provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? "",
      }),
      conversations.onAnswered((requestId) => void this.close(requestId)),
    ];
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  /** Answer a request. Without `reply` the person chooses; without a request the oldest is meant. */
  async answer(reply?: Reply, requestId?: string, feedback?: string): Promise<void> {
    const request = this.request(requestId);
    if (!request) return void window.showInformationMessage(NOTHING);
    const asked: Asked = { requestId: request.requestId, reply, feedback };
    if (!reply) Object.assign(asked, await choose(request));
    if (!asked.reply) return;
    await this.connection().execute("magent.respond", { ...asked });
  }

  /** Reject with a reason, with which the agent goes on. */
  async rejectSaying(requestId?: string): Promise<void> {
    const request = this.request(requestId);
    if (!request) return void window.showInformationMessage(NOTHING);
    const feedback = await askReason(request);
    if (feedback) await this.answer("reject", request.requestId, feedback);
  }

  /** The server has an edit to be looked at: the one of a request, or one for its own sake. */
  async offer(comparison: Comparison): Promise<void> {
    const { uri, original, modified, title, requestId } = comparison;
    const request = requestId === undefined ? undefined : this.conversations.pending.get(requestId);
    if (request) {
      this.comparisons.set(request.requestId, comparison);
      void this.showSoon(request);
    } else if (requestId === undefined) {
      await this.diff(`shown-${Date.now()}`, nameOf(uri), original, modified, title, true);
    }
  }

  /** Show the edit of a request; with `preserveFocus` the person goes on where they are. */
  async show(requestId?: string, preserveFocus = false): Promise<void> {
    const request = this.request(requestId);
    if (request?.diff === undefined) return;
    const edit = this.comparisons.get(request.requestId);
    if (edit) {
      const name = nameOf(edit.uri);
      return this.diff(request.requestId, name, edit.original, edit.modified, `${name}: accept this edit?`, preserveFocus);
    }
    const name = `${basename(request.paths[0] ?? request.title)}.diff`;
    await window.showTextDocument(this.document(request.requestId, "change", name, request.diff), { preview: false, preserveFocus });
  }

  private request(requestId?: string): PermissionRequest | undefined {
    const { pending } = this.conversations;
    const shown = pending.get(requestOf(window.activeTextEditor?.document.uri) ?? "");
    return requestId ? pending.get(requestId) : (shown ?? [...pending.values()][0]);
  }

  // Another editor under the hands of somebody who types would swallow keys: wait for a pause.
  private async showSoon(request: PermissionRequest): Promise<void> {
    if (request.diff === undefined || !workspace.getConfiguration("magentLsp").get("approvals.diffEditor", true)) return;
    await this.typing.pause();
    // What comes unasked takes no keys: one of them might be ours.
    if ([...this.conversations.pending.keys()][0] === request.requestId) await this.show(request.requestId, true);
  }

  private async diff(id: string, name: string, before: string, after: string, title: string, preserveFocus: boolean): Promise<void> {
    const left = this.document(id, "before", name, before);
    const right = this.document(id, "after", name, after);
    await commands.executeCommand("vscode.diff", left, right, title, { preview: false, preserveFocus });
  }

  private document(id: string, side: string, name: string, text: string): Uri {
    const uri = Uri.from({ scheme: SCHEME, path: `/${id}/${side}/${name}` });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    return uri;
  }

  private async close(requestId: string): Promise<void> {
    const tabs = window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => requestOf(shownIn(tab)) === requestId);
    if (tabs.length > 0) await window.tabGroups.close(tabs);
    for (const uri of [...this.texts.keys()]) if (requestOf(Uri.parse(uri)) === requestId) this.texts.delete(uri);
    this.comparisons.delete(requestId);
  }
}

/** The request whose edit a document of ours shows. */
export function requestOf(uri: Uri | undefined): string | undefined {
  return uri?.scheme === SCHEME ? uri.path.split("/")[1] : undefined;
}

function shownIn({ input }: Tab): Uri | undefined {
  return input instanceof TabInputTextDiff ? input.modified : input instanceof TabInputText ? input.uri : undefined;
}

function nameOf(uri: string): string {
  return basename(Uri.parse(uri).path);
}

async function choose(request: PermissionRequest): Promise<{ reply?: Reply; feedback?: string }> {
  const icons = { allow_once: "$(check)", allow_session: "$(check-all)", allow_always: "$(verified)", reject: "$(close)" };
  const saying = { label: "$(comment) Reject and say why…", reply: "reject" as Reply, why: true };
  const items = request.options.map(({ reply, title }) => ({ label: `${icons[reply]} ${title}`, reply, why: false }));
  const chosen = await window.showQuickPick([...items, saying], {
    title: `Magent: ${request.title}`,
    placeHolder: request.command ?? request.reason,
    ignoreFocusOut: true,
  });
  if (!chosen?.why) return { reply: chosen?.reply };
  const feedback = await askReason(request);
  return feedback ? { reply: "reject", feedback } : {};
}

function askReason({ title }: PermissionRequest): Thenable<string | undefined> {
  return window.showInputBox({
    title: "What should the agent do instead?",
    prompt: plain(`${title}: it goes on with your answer.`),
    ignoreFocusOut: true,
  });
}
