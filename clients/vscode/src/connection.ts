// The connection to the server: started, restarted, and the one way to run its commands.

import { type CodeAction, CodeActionTriggerKind, type Command, commands, type ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, type LanguageClientOptions, type Middleware, State } from "vscode-languageclient/node";

import type { Choices } from "./choices";
import type { Conversations } from "./conversations";
import { plain } from "./plain";
import type { Envelope, Started } from "./protocol";
import { findServer, offerServer } from "./server";
import { section } from "./settings";

/** Serves requests of the server; registered before the connection begins. */
export type Serve = (client: LanguageClient) => void;

export class Connection {
  private client: LanguageClient | undefined;

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

  /** Start the server; says so if it is missing. */
  async start(): Promise<void> {
    const found = await findServer();
    if (!found) {
      this.conversations.says("");
      void offerServer();
      return;
    }
    const client = new LanguageClient("magentLsp", "Magent", found, this.options());
    this.client = client;
    client.onNotification("magent/event", (envelope: Envelope) => this.conversations.take(envelope));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped) this.conversations.interrupt();
      this.conversations.says("");
    });
    this.serve(client);
    try {
      await client.start();
    } catch (error) {
      void window.showErrorMessage(
        `Magent's server, “${[found.command, ...found.args].join(" ")}”, does not start: ${words(error)} ` +
          "Run it in a terminal to see why, or see the output “Magent”.",
      );
    }
  }

  /** Stop the server and start it again, perhaps another one. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** End the connection. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.state === State.Running) await client.stop();
    await client?.dispose().catch(() => undefined);
  }

  /** Show the log of the server. */
  showLog(): void {
    this.client?.outputChannel.show();
  }

  /** Run a command of the server; undefined, and said to the person, if it fails. */
  async execute<T>(command: string, argument: Record<string, unknown> = {}): Promise<T | undefined> {
    if (!this.client || !this.ready) {
      void offerStart(this);
      return undefined;
    }
    try {
      const result = await this.client.sendRequest<T>("workspace/executeCommand", { command, arguments: [argument] });
      this.started(argument, result);
      return result;
    } catch (error) {
      void window.showErrorMessage(`Magent: ${plain(words(error))}`);
      return undefined;
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
function isPressing(action: Command | CodeAction): boolean {
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
