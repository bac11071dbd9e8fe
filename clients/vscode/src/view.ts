// What the extension and the chat's page say to each other.

import type { Reply } from "./protocol";
import type { Change, Item } from "./thread";

/** What the web view is told. */
export type ToView =
  | { type: "show"; items: Item[]; title: string }
  | { type: "change"; changes: Change[] }
  | { type: "state"; running: boolean; doing: string; agent: string; model: string; place: string; ready: boolean }
  | { type: "commands"; commands: { name: string; description: string }[] }
  | { type: "focus"; text?: string };

/** What the web view tells. */
export type FromView =
  | { type: "ready" }
  | { type: "send"; text: string; withPlace: boolean }
  | { type: "reply"; requestId: string; reply: Reply }
  | { type: "rejectSaying" | "diff"; requestId: string }
  | { type: "open"; path: string }
  | { type: "undo" | "redo"; runId: string }
  | { type: "cancel" | "pickAgent" | "pickModel" | "newChat" | "doctor" };
