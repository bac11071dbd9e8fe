// Questions of an agent, `magent/input`. Each waits in the chat until the person answers it or says that they will not,
// or until its run ends; none takes the keyboard.

import { type CancellationToken, CancellationTokenSource, commands, type Disposable, EventEmitter, type QuickPickItem, type Uri, window } from "vscode";

import { plain } from "./plain";
import { Proposal } from "./proposal";
import type { Question } from "./view";

/** The parameters of `magent/input`. */
export interface Input {
  title: string;
  message: string;
  options?: string[];
  multiple?: boolean;
  default?: string;
}

export type Value = string | string[];

interface Waiting {
  question: Question;
  proposal?: Proposal;
  /** Cancelled when nobody waits for the answer any more. */
  over: CancellationTokenSource;
  settle: (value: Value | null) => void;
}

const NOBODY = "Magent: nobody waits for that answer any more.";
const NO_ANSWER = "Do not answer";
const SHOW = "Show the Text";

export class Questions implements Disposable {
  private readonly waiting = new Map<string, Waiting>();
  private readonly changes = new EventEmitter<void>();
  private readonly asks = new EventEmitter<Question>();
  private number = 0;
  /** A question has come or gone. */
  readonly onChange = this.changes.event;
  /** A question has come. */
  readonly onAsked = this.asks.event;

  dispose(): void {
    this.abandon();
    this.changes.dispose();
    this.asks.dispose();
  }

  /** What waits for an answer, oldest first. */
  get open(): Question[] {
    return [...this.waiting.values()].map(({ question }) => question);
  }

  /** Ask; null if the person will not answer, or need not any more. */
  async ask(input: Input, token: CancellationToken): Promise<{ value: Value } | null> {
    this.number += 1;
    const question = asQuestion(`question-${this.number}`, input);
    const proposal = question.proposal ? new Proposal(input.default ?? "") : undefined;
    const answer = new Promise<Value | null>((settle) => {
      this.waiting.set(question.id, { question, proposal, over: new CancellationTokenSource(), settle });
    });
    const listener = token.onCancellationRequested(() => this.abandon(question.id));
    if (token.isCancellationRequested) this.abandon(question.id);
    await proposal?.show(true);
    this.changed();
    if (this.waiting.has(question.id)) this.asks.fire(question);
    else await proposal?.close();
    const value = await answer;
    listener.dispose();
    return value === null ? null : { value };
  }

  /** Answer a question; null says that there will be no answer. */
  async answer(id: string, value: Value | null): Promise<void> {
    const waiting = this.waiting.get(id);
    if (!waiting) return void window.showInformationMessage(NOBODY);
    // The server takes an answer without words for none, and that must be meant.
    if (value !== null && value.length === 0) return;
    const { proposal, question } = waiting;
    if (!proposal) return this.settle(id, value);
    const accepted = value === question.options[0];
    if (accepted && !proposal.uri) {
      await this.show(id);
      return void window.showInformationMessage("Magent: the text was closed; here it is again, accept or reject it.");
    }
    if (accepted && !proposal.text.trim()) return void window.showInformationMessage("Magent: the text is empty; write one, or reject it.");
    this.settle(id, accepted && proposal.isChanged ? proposal.text : value);
    // What the person wrote and nobody got is theirs.
    if (accepted || !proposal.isChanged) await proposal.close();
  }

  /** What is half written stays, also when the chat is moved and its page made anew. */
  draft(id: string, text: string): void {
    const waiting = this.waiting.get(id);
    if (waiting) waiting.question.text = text;
  }

  /** Show a proposed text. */
  async show(id: string): Promise<void> {
    await this.waiting.get(id)?.proposal?.show(false);
    this.changed();
  }

  /** Answer a question at the top of the window, the quick way; to leave it answers nothing. */
  async pick(id?: string): Promise<void> {
    const nearest = this.at(window.activeTextEditor?.document.uri) ?? this.open[0];
    const waiting = this.waiting.get(id ?? nearest?.id ?? "");
    if (!waiting) return void window.showInformationMessage(NOBODY);
    const { question, over } = waiting;
    const { title, message, options, multiple } = question;
    const common = { title, placeHolder: message, ignoreFocusOut: true };
    if (options.length === 0) {
      const text = await window.showInputBox({ title, prompt: plain(message), value: question.text, ignoreFocusOut: true }, over.token);
      if (text?.trim()) await this.answer(question.id, text);
    } else if (multiple) {
      const chosen = await window.showQuickPick(options, { ...common, canPickMany: true }, over.token);
      if (chosen) await this.answer(question.id, chosen);
    } else {
      const items: (QuickPickItem & { value: string | null })[] = options.map((label) => ({ label, value: label }));
      const rest = [...(question.proposal ? [{ label: SHOW, value: SHOW }] : []), { label: NO_ANSWER, value: null }];
      const chosen = await window.showQuickPick([...items, ...rest], common, over.token);
      if (chosen && question.proposal && chosen.value === SHOW) await this.show(question.id);
      else if (chosen) await this.answer(question.id, chosen.value);
    }
  }

  /** Accept or reject a proposal; other questions are asked at the top of the window. */
  async decide(id: string, accept: boolean): Promise<void> {
    const question = this.waiting.get(id)?.question;
    if (question?.proposal) await this.answer(id, question.options[accept ? 0 : 1] ?? null);
    else await this.pick(id);
  }

  /** The question about the text at a place. */
  at(uri: Uri | undefined): Question | undefined {
    const found = [...this.waiting.values()].find(({ proposal }) => uri && proposal?.uri?.toString() === uri.toString());
    return found?.question;
  }

  /** Tell of a question where the chat is not seen. */
  async announce({ id, title, proposal, options }: Question): Promise<void> {
    const buttons = proposal ? [...options, SHOW] : ["Answer…", "Open the Chat"];
    const what = plain(`Magent ${proposal ? "proposes a text" : "asks"}: ${title}`);
    const chosen = await window.showInformationMessage(what, ...buttons);
    if (chosen === undefined) return;
    if (!this.waiting.has(id)) return void window.showInformationMessage(NOBODY);
    if (chosen === "Open the Chat") await commands.executeCommand("magentLsp.openChat");
    else if (!proposal) await this.pick(id);
    else if (chosen === SHOW) await this.show(id);
    else await this.answer(id, chosen);
  }

  /** Nobody waits for the answer to a question any more, or to any. */
  abandon(id?: string): void {
    for (const { question, proposal } of [...this.waiting.values()]) {
      if (id !== undefined && id !== question.id) continue;
      this.settle(question.id, null);
      if (!proposal?.uri) continue;
      void window.showInformationMessage(`Magent: nobody waits for “${plain(question.title)}” any more; its text stays open for you.`);
    }
  }

  private settle(id: string, value: Value | null): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.settle(value);
    waiting?.over.cancel();
    this.changed();
  }

  private changed(): void {
    const uris = [...this.waiting.values()].map(({ proposal }) => proposal?.uri?.toString()).filter((uri) => !!uri);
    void commands.executeCommand("setContext", "magentLsp.proposals", uris);
    this.changes.fire();
  }
}

function asQuestion(id: string, input: Input): Question {
  const { title, options = [], multiple = false } = input;
  const text = input.default ?? "";
  // A text to be changed, not one of the answers.
  const proposal = text !== "" && !options.includes(text) && (text === input.message || text.includes("\n"));
  const message = proposal && text === input.message ? "" : input.message;
  const answers = proposal && options.length === 0 ? ["Accept"] : options;
  return { id, title, message, options: answers, multiple, text: proposal ? "" : text, proposal };
}
