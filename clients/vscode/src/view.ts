// What the extension and the chat's page say to each other.

import type { Reply } from "./protocol";
import type { Change, Item } from "./thread";

/** A question that waits for an answer. */
export interface Question {
  id: string;
  title: string;
  message: string;
  options: string[];
  multiple: boolean;
  /** What an answer in words begins with. */
  text: string;
  /** Whether it is about a text in a document: the first option accepts it as it is then, another refuses it. */
  proposal: boolean;
}

/** What the web view is told. */
export type ToView =
  | { type: "show"; items: Item[]; title: string }
  | { type: "change"; changes: Change[] }
  | { type: "state"; running: boolean; doing: string; agent: string; model: string; place: string; ready: boolean; starting: boolean }
  | { type: "commands"; commands: { name: string; description: string }[] }
  | { type: "questions"; questions: Question[] }
  | { type: "focus" }
  | { type: "unsent"; text: string };

/** What the web view tells. */
export type FromView =
  | { type: "ready" }
  | { type: "send"; text: string; withPlace: boolean }
  | { type: "reply"; requestId: string; reply: Reply }
  | { type: "rejectSaying" | "diff"; requestId: string }
  | { type: "answer"; id: string; value: string | string[] | null }
  | { type: "draft"; id: string; text: string }
  | { type: "showText"; id: string }
  | { type: "open"; path: string }
  | { type: "undo" | "redo"; runId: string }
  | { type: "cancel" | "typing" | "pickAgent" | "pickModel" | "newChat" | "doctor" };
