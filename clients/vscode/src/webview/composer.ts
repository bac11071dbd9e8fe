// The input below a conversation: Enter sends, / completes commands.

import type { Say } from "./render";

export interface Slash {
  name: string;
  description: string;
}

/** What VS Code keeps of a page, also when the view is moved and its page made anew. */
export interface Kept {
  getState(): { text: string } | undefined;
  setState(state: { text: string }): void;
}

const MOST = 8;

export class Composer {
  private commands: Slash[] = [];
  private readonly input = element("input") as HTMLTextAreaElement;
  private readonly list = element("completions");
  private readonly place = element("place");
  private withPlace = true;
  private chosen = 0;

  constructor(
    private readonly say: Say,
    private readonly kept: Kept,
  ) {
    this.input.value = kept.getState()?.text ?? "";
    element("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("input", () => {
      say({ type: "typing" });
      this.complete();
    });
    this.place.addEventListener("click", () => {
      this.withPlace = !this.withPlace;
      this.place.classList.toggle("off", !this.withPlace);
      this.input.focus();
    });
    element("agent").addEventListener("click", () => say({ type: "pickAgent" }));
    element("model").addEventListener("click", () => say({ type: "pickModel" }));
    element("stop").addEventListener("click", () => say({ type: "cancel" }));
  }

  focus(): void {
    this.input.focus();
  }

  /** Give a text back that nobody got; what was written since stays. */
  restore(text: string): void {
    this.input.value = [text, this.input.value].filter(Boolean).join("\n");
    this.complete();
  }

  /** Complete these commands from now on, also where one is typed already. */
  offer(commands: Slash[]): void {
    this.commands = commands;
    this.draw();
  }

  show(state: { running: boolean; agent: string; model: string; place: string; ready: boolean; starting: boolean }): void {
    element("stop").hidden = !state.running;
    element("send").textContent = state.running ? "Steer" : "Send";
    element("agent").textContent = state.agent;
    element("model").textContent = state.model || "model";
    this.place.textContent = state.place;
    // What is said to a running agent goes to that agent, without a place.
    this.place.hidden = state.running || !state.place;
    for (const chip of ["agent", "model"]) element(chip).hidden = state.running;
    this.input.placeholder = !state.ready
      ? `The server ${state.starting ? "starts" : "does not run"}`
      : state.running
        ? "Say something to the running agent"
        : "Ask, or say what to change; / for commands";
  }

  private send(): void {
    const text = this.input.value.trim();
    if (!text) return;
    this.say({ type: "send", text, withPlace: this.withPlace });
    this.input.value = "";
    this.complete();
  }

  private key(event: KeyboardEvent): void {
    const open = !this.list.hidden;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (open) this.take();
      else this.send();
    } else if (open && event.key === "Tab") {
      event.preventDefault();
      this.take();
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.chosen += event.key === "ArrowDown" ? 1 : -1;
      this.draw();
    } else if (open && event.key === "Escape") this.list.hidden = true;
  }

  private complete(): void {
    this.keep();
    this.chosen = 0;
    this.draw();
  }

  private keep(): void {
    this.kept.setState({ text: this.input.value });
  }

  private matches(): Slash[] {
    const [, typed] = /^\/([\w:-]*)$/.exec(this.input.value) ?? [];
    return typed === undefined ? [] : this.commands.filter((command) => command.name.startsWith(typed)).slice(0, MOST);
  }

  private draw(): void {
    const matches = this.matches();
    this.list.hidden = matches.length === 0;
    this.chosen = matches.length ? (this.chosen + matches.length) % matches.length : 0;
    this.list.replaceChildren(
      ...matches.map((command, number) => {
        const row = document.createElement("li");
        row.classList.toggle("chosen", number === this.chosen);
        const name = document.createElement("b");
        name.textContent = `/${command.name}`;
        row.append(name, ` ${command.description}`);
        row.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.chosen = number;
          this.take();
        });
        return row;
      }),
    );
  }

  private take(): void {
    const match = this.matches()[this.chosen];
    if (!match) return;
    this.input.value = `/${match.name} `;
    this.keep();
    this.list.hidden = true;
    this.input.focus();
  }
}

export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no element ${id}`);
  return found;
}
