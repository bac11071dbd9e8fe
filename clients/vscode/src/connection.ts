// The connection to the server: started, restarted, and the one way to run its commands.

import { type CodeAction, CodeActionTriggerKind, type Command as Titled, commands, type ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, type LanguageClientOptions, type Middleware, State } from "vscode-languageclient/node";

import type { Choices } from "./choices";
import type { Conversations } from "./conversations";
import { plain } from "./plain";
import type { Envelope, Started } from "./protocol";
import { type Command, findServer, offerServer } from "./server";
import { section } from "./settings";

/** Serves requests of the server; registered before the connection begins. */
export type Serve = (client: LanguageClient) => void;

const PATIENCE_MS = 5000;

/** Once it is let go, its end is nobody's trouble. */
class Client extends LanguageClient {
  gone = false;
  private readonly waiting = new Set<() => void>();

  /** Run a command; undefined if the server is let go before it answers: one that hangs never does, and nothing says so. */
  run<T>(command: string, argument: object): Promise<T | undefined> {
    return new Promise((settle, fail) => {
      const leave = (): void => settle(undefined);
      this.waiting.add(leave);
      const answer = this.sendRequest<T>("workspace/executeCommand", { command, arguments: [argument] });
      void answer.then(settle, fail).finally(() => this.waiting.delete(leave));
    });
  }

  letGo(): void {
    this.gone = true;
    for (const leave of this.waiting) leave();
  }

  override error(message: string, data?: unknown, show?: boolean | "force"): void {
    super.error(message, data, this.gone ? false : show);
  }
}

export class Connection {
  private client: Client | undefined;
  private finding = false;
  /** Counts starts and stops: whoever has waited looks whether another has come since. */
  private turn = 0;
  /** Settles when the latest start is through, well or not. */
  private begun: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: ExtensionContext,
    private readonly conversations: Conversations,
    private readonly choices: Choices,
    private readonly serve: Serve,
  ) {
    context.subscriptions.push(
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("magentLsp.server")) void this.restart();
        else if (change.affectsConfiguration("magentLsp")) void this.sendSettings();
      }),
    );
  }

  /** Whether there is a server. */
  get ready(): boolean {
    return this.client?.state === State.Running;
  }

  /** Whether there will be one soon. */
  get starting(): boolean {
    return this.finding || this.client?.state === State.Starting;
  }

  /** Start the server; says so if it is missing. */
  start(): Promise<void> {
    return (this.begun = this.open());
  }

  /** Stop the server and start it again, perhaps another one. */
  restart(): Promise<void> {
    return (this.begun = this.reopen());
  }

  /** End the connection; the turn in which that was. */
  async stop(): Promise<number> {
    const turn = ++this.turn;
    const client = this.client;
    this.client = undefined;
    if (!client) return turn;
    client.letGo();
    this.conversations.interrupt();
    // One that starts cannot be stopped, and one that hangs does not; both are killed.
    await client.dispose().catch(() => undefined);
    return turn;
  }

  /** Show the log of the server. */
  showLog(): void {
    this.client?.outputChannel.show();
  }

  /** The server, after a moment if it starts; undefined, and said to the person, if there is none. */
  async reach(): Promise<Client | undefined> {
    if (!this.ready) await Promise.race([this.begun, new Promise((done) => setTimeout(done, PATIENCE_MS))]);
    if (this.ready) return this.client;
    if (this.starting) void window.showInformationMessage("Magent's server starts; try again in a moment.");
    else void offerStart(this);
    return undefined;
  }

  /** Run a command of the server; undefined, and said to the person, if it fails. */
  async execute<T>(command: string, argument: Record<string, unknown> = {}): Promise<T | undefined> {
    const client = await this.reach();
    if (!client) return undefined;
    try {
      const result = await client.run<T>(command, argument);
      this.started(argument, result);
      return result;
    } catch (error) {
      if (!client.gone) void window.showErrorMessage(`Magent: ${plain(words(error))}`);
      return undefined;
    }
  }

  private async open(): Promise<void> {
    const turn = ++this.turn;
    const found = await this.find();
    if (turn !== this.turn) return;
    if (!found) return void offerServer();
    const client = new Client("magentLsp", "Magent", found, this.options());
    this.client = client;
    client.onNotification("magent/event", (envelope: Envelope) => {
      if (!client.gone) this.conversations.take(envelope);
    });
    client.onDidChangeState(({ newState }) => {
      if (client.gone) return;
      if (newState === State.Stopped) this.conversations.interrupt();
      this.conversations.says("");
    });
    this.serve(client);
    try {
      await client.start();
    } catch (error) {
      if (client.gone) return;
      void window.showErrorMessage(
        `Magent's server, “${[found.command, ...found.args].join(" ")}”, does not start: ${words(error)} ` +
          "Run it in a terminal to see why, or see the output “Magent”.",
      );
    }
  }

  private async reopen(): Promise<void> {
    const turn = await this.stop();
    if (turn === this.turn) await this.open();
  }

  private async find(): Promise<Command | undefined> {
    this.finding = true;
    this.conversations.says("");
    try {
      return await findServer();
    } finally {
      this.finding = false;
      this.conversations.says("");
    }
  }

  private started(argument: object, result: unknown): void {
    const begun = result as Started | undefined;
    if (begun?.runId && begun.sessionId) this.conversations.about(argument, begun);
  }

  private async sendSettings(): Promise<void> {
    if (!this.ready) return;
    await this.client?.sendNotification("workspace/didChangeConfiguration", {
      settings: { magent: section(this.context) },
    });
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      initializationOptions: { magent: { client: { events: true, save: true, input: true, diff: true } } },
      initializationFailedHandler: () => false, // we say it, with what to do
      middleware: this.middleware(),
    };
  }

  private middleware(): Middleware {
    return {
      workspace: {
        configuration: (params) =>
          params.items.map((item) => (item.section === "magent" ? section(this.context) : null)),
        didChangeConfiguration: async () => undefined, // `sendSettings` does it, with our names
      },
      // The status bar item says it; a second one beside it would only take room.
      handleWorkDoneProgress: (_token, progress) => {
        if (progress.kind !== "end" && progress.message) this.conversations.says(progress.message);
      },
      provideCodeActions: async (document, range, context, token, next) => {
        const actions = await next(document, range, context, token);
        const unasked = context.triggerKind === CodeActionTriggerKind.Automatic && range.isEmpty;
        return unasked ? actions?.filter(isPressing) : actions;
      },
      executeCommand: async (command, [argument]) => {
        if (command === "magent.openChat") return commands.executeCommand("magentLsp.openChat");
        const chosen = command === "magent.prompt" ? this.choices.model() : {};
        return this.execute(command, { ...chosen, ...(argument as object) });
      },
    };
  }
}

// A lightbulb on every line says nothing: without a selection it stands for problems and open questions.
function isPressing(action: Titled | CodeAction): boolean {
  if (!("kind" in action)) return false;
  const command = action.command?.command;
  return !!action.diagnostics?.length || command === "magent.respond" || command === "magent.cancel";
}

async function offerStart(connection: Connection): Promise<void> {
  const choice = await window.showWarningMessage("Magent's server does not run.", "Start it", "Show the log");
  if (choice === "Start it") await connection.restart();
  if (choice === "Show the log") connection.showLog();
}

// The server names the argument that it cannot take; a person has given none.
function words(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^'\w+': /, "");
}
