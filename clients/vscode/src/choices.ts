// Which agent and which model a person picked for the next prompts; kept with the workspace.

import { type ExtensionContext, type QuickPickItem, window } from "vscode";

import type { Connection } from "./connection";

interface Agent {
  name: string;
  description: string;
  mode: string;
}

interface Model {
  model: string;
  reason?: string;
}

interface Pick extends QuickPickItem {
  value?: string;
}

const CONFIGURED = "As configured";
const OTHER = "$(edit) Another model…";

export class Choices {
  constructor(
    private readonly context: ExtensionContext,
    private readonly changed: () => void,
  ) {}

  /** The picked agent, as an argument of `magent.prompt`. */
  agent(): { agent?: string } {
    const agent = this.context.workspaceState.get<string>("agent");
    return agent ? { agent } : {};
  }

  /** The picked model, as an argument of `magent.prompt`. */
  model(): { model?: string } {
    const model = this.context.workspaceState.get<string>("model");
    return model ? { model } : {};
  }

  /** Let the person pick an agent. */
  async pickAgent(connection: Connection): Promise<void> {
    const agents = await connection.execute<Agent[]>("magent.agents");
    if (!agents) return;
    const items: Pick[] = [
      { label: CONFIGURED, description: "The conversation's agent, else the setting `agent`", value: undefined },
      ...agents
        .filter((agent) => agent.mode !== "subagent")
        .map(({ name, description }) => ({ label: name, description, value: name })),
    ];
    await this.pick("agent", "Which agent works on your next prompts?", items);
  }

  /** Let the person pick a model. */
  async pickModel(connection: Connection): Promise<void> {
    const models = await connection.execute<Model[]>("magent.models");
    if (!models) return;
    const items: Pick[] = [
      { label: CONFIGURED, description: "The setting `model`", value: undefined },
      ...models.map((entry) => ({ label: entry.model, description: entry.reason, value: entry.model })),
      { label: OTHER, description: "provider/name, as in LiteLLM", value: OTHER },
    ];
    await this.pick("model", "Which model answers your next prompts?", items);
  }

  private async pick(key: "agent" | "model", title: string, items: Pick[]): Promise<void> {
    const chosen = await window.showQuickPick(items, { title, matchOnDescription: true });
    if (!chosen) return;
    let value = chosen.value;
    if (value === OTHER) {
      const placeHolder = "anthropic/claude-sonnet-4-5, openai/gpt-4o, ollama/qwen3, …";
      value = await window.showInputBox({ title: "The model, as provider/name", placeHolder, ignoreFocusOut: true });
      if (!value) return;
    }
    await this.context.workspaceState.update(key, value);
    this.changed();
  }
}
