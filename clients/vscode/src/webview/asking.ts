// The questions that wait, between the conversation and the input; what is half written stays when others come and go.

import type { Question } from "../view";
import { button, make, type Say } from "./render";

export class Asking {
  constructor(
    private readonly place: HTMLElement,
    private readonly say: Say,
  ) {}

  show(questions: Question[]): void {
    const wanted = new Map(questions.map((question) => [question.id, question]));
    for (const card of [...this.place.children]) {
      if (!wanted.delete((card as HTMLElement).dataset["id"] ?? "")) card.remove();
    }
    for (const question of wanted.values()) this.place.append(this.card(question));
  }

  private card(question: Question): HTMLElement {
    const { id, title, message, options, multiple, proposal } = question;
    const card = make("form", "question") as HTMLFormElement;
    card.dataset["id"] = id;
    card.setAttribute("aria-label", title);
    card.append(make("div", "title", title));
    if (message) card.append(make("div", "message", message));
    if (proposal) card.append(make("div", "message", "The text is open as a document; you may change it there first."));
    const say = (value: string | string[] | null): void => this.say({ type: "answer", id, value });
    const buttons = make("div", "buttons");
    if (options.length === 0) this.words(card, buttons, question, say);
    else if (multiple) this.several(card, buttons, options, say);
    else for (const option of options) buttons.append(button(option, buttons.childElementCount ? "secondary" : "", () => say(option)));
    if (proposal) buttons.append(button("Show the text", "secondary", () => this.say({ type: "showText", id })));
    buttons.append(button("Do not answer", "secondary", () => say(null)));
    card.append(buttons);
    return card;
  }

  private words(card: HTMLFormElement, buttons: HTMLElement, { id, text }: Question, say: (value: string) => void): void {
    const field = make("textarea", "") as HTMLTextAreaElement;
    field.rows = 1;
    field.value = text;
    field.setAttribute("aria-label", "Your answer");
    field.addEventListener("input", () => this.say({ type: "draft", id, text: field.value }));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      card.requestSubmit();
    });
    card.append(field);
    submit(card, buttons, () => field.value.trim() && say(field.value));
  }

  private several(card: HTMLFormElement, buttons: HTMLElement, options: string[], say: (value: string[]) => void): void {
    const boxes = options.map((option) => {
      const box = make("input", "") as HTMLInputElement;
      box.type = "checkbox";
      box.value = option;
      const label = make("label", "");
      label.append(box, ` ${option}`);
      card.append(label);
      return box;
    });
    submit(card, buttons, () => say(boxes.filter((box) => box.checked).map((box) => box.value)));
  }
}

function submit(card: HTMLFormElement, buttons: HTMLElement, answer: () => void): void {
  buttons.append(button("Answer", "", () => card.requestSubmit()));
  card.addEventListener("submit", (event) => {
    event.preventDefault();
    answer();
  });
}
