// What the server says, as in docs/reference/protocol.md; absent means null.

export interface Range {
  start: { line: number; character: number };
  end: { line: number; character: number };
}

export type Reply = "allow_once" | "allow_session" | "allow_always" | "reject";

export interface PermissionRequest {
  requestId: string;
  runId: string;
  sessionId: string;
  toolCallId: string;
  tool: string;
  title: string;
  reason: string;
  options: { reply: Reply; title: string }[];
  command?: string;
  diff?: string;
  paths: string[];
  uris: string[];
}

/** An edit to be looked at, `magent/showDiff`. */
export interface Comparison {
  uri: string;
  original: string;
  modified: string;
  title: string;
  requestId?: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  costUsd?: number;
  estimated?: boolean;
}

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

export interface ToolCall {
  toolCallId: string;
  name: string;
  kind: string;
  title: string;
  status: "pending" | "in_progress" | "completed" | "failed" | "rejected" | "cancelled";
  arguments?: Record<string, unknown>;
  output?: string;
  paths: string[];
}

export interface EditRecord {
  uri: string;
  outcome: "applied" | "rejected" | "stale" | "diverged" | "unknown";
}

export type RunEvent =
  | { type: "run_queued"; position: number }
  | { type: "run_started"; agent: string; model: string; prompt: string; parentRunId?: string; uri?: string; range?: Range; folder?: string }
  | { type: "target_updated"; uri: string; range: Range }
  | { type: "text_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | ({ type: "tool_call_started" | "tool_call_updated" | "tool_call_finished" } & ToolCall)
  | ({ type: "permission_requested" } & PermissionRequest)
  | { type: "permission_resolved"; requestId: string; reply: Reply }
  | { type: "edit_applied"; uri: string; outcome: EditRecord["outcome"]; diff: string; toolCallId: string }
  | { type: "todo_updated"; items: Todo[] }
  | { type: "usage_updated"; usage: Usage }
  | { type: "notice"; level: "info" | "warning" | "error"; message: string }
  | RunFinished;

export interface RunFinished {
  type: "run_finished";
  stopReason: string;
  text: string;
  edits: EditRecord[];
  usage: Usage;
  error?: string;
}

/** The parameters of `magent/event`. */
export interface Envelope {
  runId: string;
  sessionId: string;
  seq: number;
  time: string;
  event: RunEvent;
}

/** What a prompt is answered with. */
export interface Started {
  runId: string;
  sessionId: string;
  queued?: boolean;
}
