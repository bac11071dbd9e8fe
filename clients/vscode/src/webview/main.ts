// The chat's page: keeps what is shown in step with the conversation.

import type { Change, Item } from "../thread";
import type { FromView, ToView } from "../view";
import { Asking } from "./asking";
import { Composer, element, type Kept } from "./composer";
import { swallowChords } from "./chords";
import { render, renderText } from "./render";

declare function acquireVsCodeApi(): { postMessage(message: FromView): void } & Kept;

const api = acquireVsCodeApi();
const say = (message: FromView): void => api.postMessage(message);
const thread = element("thread");
const composer = new Composer(say, api);
const asking = new Asking(element("questions"), say);
const texts = new Map<string, string>();
const stale = new Set<string>();

const EMPTY = `
### Magent
Select code and press **Ctrl+.** (**⌘.**) for its actions, or write below.
**Alt+M e** (**⌘⌥M e**) changes the lines that you selected, and nothing else.

Nothing is changed or run before you agree, except what your rules allow.
`;

function show(items: Item[]): void {
  texts.clear();
  thread.replaceChildren(...items.map((item) => draw(item)));
  if (items.length === 0) {
    const welcome = document.createElement("article");
    welcome.className = "item text welcome";
    renderText(welcome, EMPTY, say);
    thread.append(welcome);
  }
  thread.scrollTop = thread.scrollHeight;
}

function draw(item: Item): HTMLElement {
  if (item.kind === "text" || item.kind === "reasoning") texts.set(item.id, item.text);
  return render(item, say);
}

function change(changes: Change[]): void {
  const atEnd = thread.scrollHeight - thread.scrollTop - thread.clientHeight < 40;
  for (const one of changes) {
    if (one.type === "append") grow(one.id, one.text);
    else put(one.item);
  }
  if (atEnd) thread.scrollTop = thread.scrollHeight;
}

function put(item: Item): void {
  thread.querySelector(".welcome")?.remove();
  const old = find(item.id);
  const fresh = draw(item);
  if (!old) return thread.append(fresh);
  const wasOpen = old.querySelector("details")?.open;
  const box = fresh.querySelector("details");
  if (box && wasOpen) box.open = true;
  old.replaceWith(fresh);
}

// A long answer is drawn once a frame, however fast it comes.
function grow(id: string, text: string): void {
  texts.set(id, (texts.get(id) ?? "") + text);
  if (stale.size === 0) requestAnimationFrame(redraw);
  stale.add(id);
}

function redraw(): void {
  const atEnd = thread.scrollHeight - thread.scrollTop - thread.clientHeight < 60;
  for (const id of stale) {
    const old = find(id);
    const text = texts.get(id) ?? "";
    if (old?.classList.contains("reasoning")) old.querySelector(".quiet")?.replaceChildren(text);
    else if (old) renderText(old, text, say);
  }
  stale.clear();
  if (atEnd) thread.scrollTop = thread.scrollHeight;
}

function find(id: string): HTMLElement | null {
  return thread.querySelector(`[data-id="${CSS.escape(id)}"]`);
}

window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
  switch (data.type) {
    case "show":
      return show(data.items);
    case "change":
      return change(data.changes);
    case "state":
      document.body.classList.toggle("running", data.running);
      return composer.show(data);
    case "commands":
      return composer.offer(data.commands);
    case "questions":
      return asking.show(data.questions);
    case "focus":
      return composer.focus();
    case "unsent":
      return composer.restore(data.text);
  }
});
swallowChords();
say({ type: "ready" });
