// The server's section of settings: only what a person set, so that the server's own files keep counting.

import { type ExtensionContext, workspace } from "vscode";

/** Settings of this extension, which the server does not know. */
const OURS = ["server", "chat", "approvals", "trace"];

interface Manifest {
  contributes: { configuration: { properties: Record<string, unknown> }[] };
}

/** What is set of `magentLsp.*`, as the nested section `magent` of the server. */
export function section(context: ExtensionContext): Record<string, unknown> {
  const manifest = context.extension.packageJSON as Manifest;
  const config = workspace.getConfiguration("magentLsp");
  const result: Record<string, unknown> = {};
  for (const group of manifest.contributes.configuration) {
    for (const full of Object.keys(group.properties)) {
      const path = full.split(".").slice(1);
      const key = path.join(".");
      if (OURS.includes(path[0] ?? "") || !isSet(config.inspect(key))) continue;
      put(result, path, config.get(key));
    }
  }
  return result;
}

// A default is not sent: it would win over the person's `config.yaml`. The values of a workspace are no settings of the
// server's: package.json keeps them out by their scope, as a project may only tighten.
function isSet(found: ReturnType<ReturnType<typeof workspace.getConfiguration>["inspect"]>): boolean {
  return found?.globalValue !== undefined;
}

function put(target: Record<string, unknown>, path: string[], value: unknown): void {
  const [head = "", ...rest] = path;
  if (rest.length === 0) target[head] = value;
  else put((target[head] ??= {}) as Record<string, unknown>, rest, value);
}
