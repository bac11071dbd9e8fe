// All conversations of this window, and what is going on in them.

import { EventEmitter } from "vscode";

import { linesOf, lineWords } from "./lines";
import type { Envelope, PermissionRequest, Range, RunFinished, Started } from "./protocol";
import { type Change, Thread } from "./thread";

/** What the server calls the agent of another program. */
const GUEST = "guest";

export interface Running {
  runId: string;
  sessionId: string;
  agent: string;
  model: string;
}

/** The place that a run may change and nothing else; without one its run is over. */
export interface Target {
  runId: string;
  uri?: string;
  range?: Range;
}

export class Conversations {
  private readonly threads = new Map<string, Thread>();
  /** The session of each root run, and for a subagent's run that of its root. */
  private readonly sessionOf = new Map<string, string>();
  /** The root run of each subagent's run. */
  private readonly nested = new Map<string, string>();

  /** Runs at work, oldest first; subagents are part of theirs. */
  readonly running = new Map<string, Running>();
  /** Requests that wait for an answer, oldest first. */
  readonly pending = new Map<string, PermissionRequest>();
  /** Runs that changed something, the one whose change is the oldest first; the last one is what `undo` means. */
  readonly changed: string[] = [];
  /** The conversation that the chat shows. */
  current: Thread | undefined;
  agent = "";
  model = "";
  costUsd = 0;
  /** What the server says is going on. */
  doing = "";

  private readonly changes = new EventEmitter<Change[]>();
  private readonly states = new EventEmitter<void>();
  private readonly shown = new EventEmitter<Thread | undefined>();
  private readonly answered = new EventEmitter<string>();
  private readonly started = new EventEmitter<Running>();
  private readonly targets = new EventEmitter<Target>();
  /** The current conversation grew. */
  readonly onChange = this.changes.event;
  /** What runs, waits or costs changed. */
  readonly onState = this.states.event;
  /** Another conversation is the current one. */
  readonly onShow = this.shown.event;
  /** With the id of a request that nobody need answer any more. */
  readonly onAnswered = this.answered.event;
  readonly onStarted = this.started.event;
  /** A run has a target, it moved, or the run is over. */
  readonly onTarget = this.targets.event;

  /** Take an event of the server. */
  take(envelope: Envelope): void {
    const { runId, event } = envelope;
    if (event.type === "run_started") this.begin(envelope.sessionId, runId, event);
    const thread = this.thread(this.sessionOf.get(runId) ?? envelope.sessionId);
    const changes = thread.apply(envelope, this.nested.has(runId));
    if (thread === this.current) this.changes.fire(changes);
    switch (event.type) {
      case "run_started":
      case "target_updated":
        if (!this.nested.has(runId)) this.targets.fire({ runId, uri: event.uri, range: event.range });
        break;
      case "edit_applied":
        // What a run changed it changed now, however long it goes on.
        if (event.outcome === "applied") this.hasChanged(this.nested.get(runId) ?? runId);
        break;
      case "permission_requested":
        this.pending.set(event.requestId, event);
        break;
      case "permission_resolved":
        this.pending.delete(event.requestId);
        this.answered.fire(event.requestId);
        break;
      case "run_finished":
        if (!this.nested.has(runId)) this.end(runId, event);
        break;
      case "text_delta":
      case "reasoning_delta":
        return; // nothing that a status bar shows
    }
    this.states.fire();
  }

  /** Show a conversation, or an empty one. */
  show(thread: Thread | undefined): void {
    this.current = thread;
    this.shown.fire(thread);
  }

  /** The conversation of a session; a new one is empty. */
  thread(sessionId: string): Thread {
    let thread = this.threads.get(sessionId);
    if (!thread) this.threads.set(sessionId, (thread = new Thread(sessionId)));
    return thread;
  }

  /** The run of the current conversation, if it is at work. */
  get runHere(): Running | undefined {
    return [...this.running.values()].find((run) => run.sessionId === this.current?.sessionId);
  }

  /** A run was started about a place: the arguments of its command, and the answer. */
  about({ uri, range, scope }: { uri?: string; range?: Range; scope?: string }, { runId, sessionId }: Started): void {
    const thread = this.thread(sessionId);
    const place = uri && range && scope ? `only ${nameOf(uri)}${lineWords(linesOf(range))}` : uri && placeWords(uri, range);
    const changes = place ? thread.about(runId, place) : [];
    if (thread === this.current) this.changes.fire(changes);
  }

  /** The server says what it does. */
  says(words: string): void {
    this.doing = words;
    this.states.fire();
  }

  /** Show a message of our own in the current conversation. */
  tell(level: "info" | "warning" | "error", message: string): void {
    if (this.current) this.changes.fire([this.current.notice(level, message)]);
  }

  /** The server has gone: nothing runs or waits any more. */
  interrupt(): void {
    for (const requestId of this.pending.keys()) this.answered.fire(requestId);
    for (const runId of this.running.keys()) this.targets.fire({ runId });
    this.pending.clear();
    for (const thread of this.threads.values()) {
      const changes = thread.interrupt();
      if (thread === this.current) this.changes.fire(changes);
    }
    if (this.running.size > 0) this.tell("error", "The server has stopped; what was running has ended.");
    this.running.clear();
    this.states.fire();
  }

  private begin(sessionId: string, runId: string, event: { agent: string; model: string; parentRunId?: string }): void {
    if (event.parentRunId) {
      this.nested.set(runId, this.nested.get(event.parentRunId) ?? event.parentRunId);
      this.sessionOf.set(runId, this.sessionOf.get(event.parentRunId) ?? sessionId);
      return;
    }
    this.sessionOf.set(runId, sessionId);
    const run = { runId, sessionId, agent: event.agent, model: event.model };
    this.running.set(runId, run);
    this.agent = event.agent;
    this.model = event.model;
    this.doing = "thinking";
    const thread = this.thread(sessionId);
    // The newest run is what a person wants to see, unless they look at one that is still at work, or it is
    // that of another program's agent.
    if (event.agent !== GUEST && thread !== this.current && !this.runHere) this.show(thread);
    this.started.fire(run);
  }

  private end(runId: string, event: RunFinished): void {
    this.running.delete(runId);
    this.targets.fire({ runId });
    this.costUsd += event.usage.costUsd ?? 0;
    const wasCounted = this.changed.includes(runId);
    if (!wasCounted && event.edits.some((edit) => edit.outcome === "applied")) this.hasChanged(runId);
  }

  /** From now on a run is the last one that changed something. */
  private hasChanged(runId: string): void {
    const at = this.changed.indexOf(runId);
    if (at >= 0) this.changed.splice(at, 1);
    this.changed.push(runId);
  }
}

/** `indent.py:13-15`, or the name alone for a cursor. */
export function placeWords(uri: string, range?: Range): string {
  const isCursor = range?.start.line === range?.end.line && range?.start.character === range?.end.character;
  return range && !isCursor ? nameOf(uri) + lineWords(linesOf(range)) : nameOf(uri);
}

function nameOf(uri: string): string {
  return decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
}
