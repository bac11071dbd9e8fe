// Items of a conversation as HTML. Everything the model says is text, or Markdown without raw HTML.

import MarkdownIt from "markdown-it";

import type { EndItem, Item, ToolItem } from "../thread";
import type { FromView } from "../view";

export type Say = (message: FromView) => void;

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
markdown.disable("image"); // nothing is fetched because a model says so

const MARKS: Record<ToolItem["status"], string> = {
  pending: "…",
  in_progress: "…",
  completed: "✓",
  failed: "✗",
  rejected: "✗",
  cancelled: "–",
};

const STOPPED: Record<string, string> = {
  end_turn: "Done",
  max_tokens: "Stopped: the answer reached the model's limit of length",
  max_turns: "Stopped: too many requests to the model in one run (setting `maxTurns`)",
  budget: "Stopped: a limit of cost or time was reached",
  loop: "Stopped: the agent repeated the same steps",
  rejected: "Stopped: you rejected a step",
  cancelled: "Cancelled",
  error: "Failed",
};

/** The element of an item; made anew whenever the item changed. */
export function render(item: Item, say: Say): HTMLElement {
  const element = make("article", `item ${item.kind}`);
  element.dataset["id"] = item.id;
  switch (item.kind) {
    case "prompt":
      element.textContent = item.text;
      if (item.place) element.append(make("div", "where", item.place));
      break;
    case "text":
      renderText(element, item.text, say);
      break;
    case "reasoning":
      element.append(details("Thinking", make("div", "quiet", item.text)));
      break;
    case "tool":
      renderTool(element, item, say);
      break;
    case "todo":
      for (const todo of item.items) element.append(make("div", `todo ${todo.status}`, todo.content));
      break;
    case "notice":
      element.classList.add(item.level);
      element.innerHTML = markdown.renderInline(item.message);
      break;
    case "end":
      renderEnd(element, item, say);
  }
  return element;
}

/** Fill in Markdown; links open files of the workspace, code blocks can be copied. */
export function renderText(element: HTMLElement, text: string, say: Say): void {
  element.innerHTML = markdown.render(text);
  for (const link of element.querySelectorAll("a")) {
    const href = link.getAttribute("href") ?? "";
    if (/^https?:/.test(href)) continue;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      say({ type: "open", path: href });
    });
  }
  for (const block of element.querySelectorAll("pre")) {
    const copy = button("Copy", "copy", () => {
      void navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? "");
      copy.textContent = "Copied";
    });
    block.append(copy);
  }
}

function renderTool(element: HTMLElement, item: ToolItem, say: Say): void {
  const { permission, reply } = item;
  element.classList.add(item.status, ...(item.nested ? ["nested"] : []));
  if (permission && !reply) {
    element.classList.add("asking");
    element.append(make("div", "title", item.command ? "Run this command?" : item.title), body(item), ...question(item, say));
    return;
  }
  const line = make("span", "line");
  line.append(make("span", "mark", MARKS[item.status]), make("span", "title", item.title), counts(item.diff));
  const content = body(item);
  if (content.childElementCount > 0) element.append(details(line, content));
  else element.append(line);
}

function question(item: ToolItem, say: Say): HTMLElement[] {
  const request = item.permission;
  if (!request) return [];
  const { requestId } = request;
  const buttons = make("div", "buttons");
  const order = ["allow_once", "reject", "allow_session", "allow_always"];
  for (const { reply, title } of request.options.toSorted((a, b) => order.indexOf(a.reply) - order.indexOf(b.reply))) {
    const look = reply === "allow_once" ? "" : "secondary";
    buttons.append(button(title, look, () => say({ type: "reply", requestId, reply })));
  }
  buttons.append(button("Reject and say why…", "secondary", () => say({ type: "rejectSaying", requestId })));
  if (item.diff !== undefined) buttons.append(button("Open diff", "secondary", () => say({ type: "diff", requestId })));
  const reason = make("div", "reason");
  reason.innerHTML = markdown.renderInline(request.reason);
  return [reason, buttons];
}

function body(item: ToolItem): HTMLElement {
  const content = make("div", "content");
  if (item.command) content.append(make("pre", "command", `$ ${item.command}`));
  if (item.diff) content.append(diff(item.diff));
  if (item.output && !item.diff) content.append(make("pre", "output", item.output));
  return content;
}

function diff(text: string): HTMLElement {
  const block = make("pre", "diff");
  for (const line of text.split("\n")) {
    if (line.startsWith("--- ") || line.startsWith("+++ ") || line.startsWith("\\ ")) continue;
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "place" : "";
    block.append(make("span", kind, `${line}\n`));
  }
  return block;
}

function counts(text: string | undefined): HTMLElement {
  const lines = text?.split("\n") ?? [];
  const added = lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length;
  const removed = lines.filter((line) => /^-(?!-- )/.test(line)).length;
  const counted = make("span", "counts");
  if (added) counted.append(make("span", "added", `+${added}`));
  if (removed) counted.append(make("span", "removed", `−${removed}`));
  return counted;
}

function renderEnd(element: HTMLElement, item: EndItem, say: Say): void {
  const { stopReason, edits, usage, error, runId } = item;
  if (stopReason !== "end_turn") element.classList.add("stopped");
  const applied = edits.filter((edit) => edit.outcome === "applied").length;
  const missed = edits.length - applied;
  const facts = [
    (STOPPED[stopReason] ?? stopReason).replaceAll("`", ""),
    applied > 0 ? `${applied} ${applied === 1 ? "edit" : "edits"} applied` : "",
    missed > 0 ? `${missed} not` : "",
    usage.inputTokens ? `${tokens(usage.inputTokens + usage.outputTokens)} tokens` : "",
    usage.costUsd ? `$${usage.costUsd.toFixed(4)}` : "",
  ];
  if (error) element.append(make("div", "failure", error));
  if (error && /model|key/i.test(error)) element.append(button("What is configured?", "secondary", () => say({ type: "doctor" })));
  const line = make("div", "facts", facts.filter(Boolean).join(" · "));
  if (applied > 0) line.append(toggle(runId, say));
  element.append(line);
}

/** Undo, which then becomes Redo. */
function toggle(runId: string, say: Say): HTMLElement {
  let next: "undo" | "redo" = "undo";
  const element = button("Undo", "link", () => {
    say({ type: next, runId });
    next = next === "undo" ? "redo" : "undo";
    element.textContent = next === "undo" ? "Undo" : "Redo";
  });
  return element;
}

function tokens(count: number): string {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(1)}k`;
}

function details(summary: string | HTMLElement, content: HTMLElement): HTMLElement {
  const box = document.createElement("details");
  const head = document.createElement("summary");
  head.append(summary);
  box.append(head, content);
  return box;
}

export function button(title: string, look: string, click: () => void): HTMLButtonElement {
  const element = document.createElement("button");
  element.type = "button";
  element.className = look;
  element.textContent = title;
  // The second click of two may fall on what came into the place of what the first was meant for.
  element.addEventListener("click", (event) => event.detail < 2 && click());
  return element;
}

export function make(tag: string, look: string, text?: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = look;
  if (text !== undefined) element.textContent = text;
  return element;
}
