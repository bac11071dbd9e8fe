// A conversation as a list of things to show, made from the events of its runs. Knows neither VS Code nor HTML.

import type { EditRecord, Envelope, PermissionRequest, Reply, RunEvent, RunFinished, Todo, ToolCall, Usage } from "./protocol";

export type Item =
  | { kind: "prompt"; id: string; text: string; place?: string }
  | { kind: "text" | "reasoning"; id: string; text: string }
  | ToolItem
  | { kind: "todo"; id: string; items: Todo[] }
  | { kind: "notice"; id: string; level: "info" | "warning" | "error"; message: string }
  | EndItem;

export interface ToolItem {
  kind: "tool";
  id: string;
  runId: string;
  /** Of a provider: unique in its run only. */
  toolCallId: string;
  tool: string;
  toolKind: string;
  title: string;
  status: ToolCall["status"];
  nested: boolean;
  command?: string;
  diff?: string;
  output?: string;
  permission?: PermissionRequest;
  reply?: Reply;
}

export interface EndItem {
  kind: "end";
  id: string;
  runId: string;
  stopReason: string;
  edits: EditRecord[];
  usage: Usage;
  error?: string;
}

/** What changed: an item as a whole, or a text that grew. */
export type Change = { type: "put"; item: Item } | { type: "append"; id: string; text: string };

export class Thread {
  readonly items: Item[] = [];
  title = "";
  /** The URI of the folder to which relative paths belong. */
  folder: string | undefined;
  private readonly places = new Map<string, string>();
  private number = 0;

  constructor(readonly sessionId: string) {}

  /** Add what happened; `nested` is an event of a subagent. */
  apply({ runId, event }: Envelope, nested: boolean): Change[] {
    if (nested && !isOfTool(event)) return [];
    switch (event.type) {
      case "run_started":
        this.title ||= event.prompt;
        this.folder = event.folder ?? this.folder;
        return [this.add({ kind: "prompt", id: this.id(runId), text: event.prompt, place: this.places.get(runId) })];
      case "run_queued":
        return [this.notice("info", "Queued: it begins when the run before it has ended.")];
      case "text_delta":
        return this.grow("text", runId, event.text);
      case "reasoning_delta":
        return this.grow("reasoning", runId, event.text);
      case "tool_call_started":
      case "tool_call_updated":
      case "tool_call_finished":
        return this.tool(runId, event, nested);
      case "permission_requested":
        return this.ask(runId, event, nested);
      case "permission_resolved":
        return this.settle(event.requestId, event.reply);
      case "edit_applied":
        return this.change(this.find(runId, event.toolCallId), { diff: event.diff || undefined });
      case "todo_updated":
        return [this.put({ kind: "todo", id: `todo-${runId}`, items: event.items })];
      case "notice":
        return [this.notice(event.level, event.message)];
      case "run_finished":
        return this.end(runId, event);
      default:
        return [];
    }
  }

  /** Say what a run's prompt is about; before or after it is shown. */
  about(runId: string, place: string): Change[] {
    this.places.set(runId, place);
    const item = this.items.find((other) => other.kind === "prompt" && other.id.startsWith(`${runId}-`));
    if (item?.kind !== "prompt") return [];
    item.place = place;
    return [{ type: "put", item }];
  }

  /** The server has gone: nothing is under way any more. */
  interrupt(): Change[] {
    const open = this.items.filter((item): item is ToolItem => item.kind === "tool" && isOpen(item));
    return open.flatMap((item) => this.change(item, { status: "cancelled", reply: item.permission && "reject" }));
  }

  /** Show something that a person said, or that is no event. */
  add(item: Item): Change {
    this.items.push(item);
    return { type: "put", item };
  }

  /** Show a message of our own. */
  notice(level: "info" | "warning" | "error", message: string): Change {
    return this.add({ kind: "notice", id: this.id("notice"), level, message });
  }

  /** A fresh id. */
  id(prefix: string): string {
    this.number += 1;
    return `${prefix}-${this.number}`;
  }

  private grow(kind: "text" | "reasoning", runId: string, text: string): Change[] {
    const last = this.items.at(-1);
    if (last?.kind !== kind) return [this.add({ kind, id: this.id(runId), text })];
    last.text += text;
    return [{ type: "append", id: last.id, text }];
  }

  private tool(runId: string, call: RunEvent & ToolCall, nested: boolean): Change[] {
    const { title, status } = call;
    const output = call.output ? { output: call.output } : {};
    const known = call.type === "tool_call_started" ? undefined : this.find(runId, call.toolCallId);
    if (known) return this.change(known, { title: title || known.title, status, ...output });
    const command = call.kind === "execute" ? call.arguments?.["command"] : undefined;
    const item: ToolItem = {
      kind: "tool",
      id: this.id("tool"),
      runId,
      toolCallId: call.toolCallId,
      tool: call.name,
      toolKind: call.kind,
      title: title || call.name,
      status,
      nested,
      ...output,
      ...(typeof command === "string" ? { command } : {}),
    };
    return [this.add(item)];
  }

  private ask(runId: string, request: PermissionRequest, nested: boolean): Change[] {
    const { title, command, diff } = request;
    const known = this.asking(runId, request);
    if (known) return this.change(known, { title, command, diff, permission: request, reply: undefined });
    const { tool, toolCallId } = request;
    return [
      this.add({
        kind: "tool",
        id: this.id("tool"),
        runId,
        toolCallId,
        tool,
        toolKind: diff === undefined ? "execute" : "edit",
        title,
        status: "pending",
        nested,
        command,
        diff,
        permission: request,
      }),
    ];
  }

  // The run that a person began asks for its subagents too, and the provider may count the calls of each run from one:
  // of theirs it is the oldest that was not asked for yet. A call that waits already asks for nothing else.
  private asking(runId: string, { tool, toolCallId }: PermissionRequest): ToolItem | undefined {
    const open = this.items.filter((item): item is ToolItem => item.kind === "tool" && item.toolCallId === toolCallId && isOpen(item));
    const own = open.findLast((item) => item.runId === runId && !(item.permission && !item.reply));
    const nested = open.filter((item) => item.runId !== runId && item.nested && !item.permission);
    return [own, ...nested].find((item) => item?.tool === tool) ?? own ?? nested[0];
  }

  private settle(requestId: string, reply: Reply): Change[] {
    const asked = this.items.find((item) => item.kind === "tool" && item.permission?.requestId === requestId);
    return this.change(asked as ToolItem | undefined, { reply });
  }

  private end(runId: string, { stopReason, edits, usage, error, text }: RunFinished): Change[] {
    const said = this.items.some((item) => item.kind === "text" && item.id.startsWith(`${runId}-`));
    const late = text && !said ? this.grow("text", runId, text) : [];
    return [...late, this.add({ kind: "end", id: this.id("end"), runId, stopReason, edits, usage, error })];
  }

  private find(runId: string, toolCallId: string): ToolItem | undefined {
    return this.items.findLast(
      (item): item is ToolItem => item.kind === "tool" && item.runId === runId && item.toolCallId === toolCallId,
    );
  }

  private change(item: ToolItem | undefined, values: Partial<ToolItem>): Change[] {
    if (!item) return [];
    Object.assign(item, values);
    return [{ type: "put", item }];
  }

  private put(item: Item): Change {
    const at = this.items.findIndex((other) => other.id === item.id);
    if (at < 0) return this.add(item);
    this.items[at] = item;
    return { type: "put", item };
  }
}

function isOfTool(event: RunEvent): boolean {
  return event.type.startsWith("tool_call_") || event.type.startsWith("permission_") || event.type === "edit_applied";
}

function isOpen({ status }: ToolItem): boolean {
  return status === "pending" || status === "in_progress";
}
