// Finds the language server, or says what to do.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { commands, extensions, window, workspace } from "vscode";

export interface Command {
  command: string;
  args: string[];
}

const NAME = process.platform === "win32" ? "magent-lsp.exe" : "magent-lsp";
const GUIDE = "magent-lsp.magent-lsp#magentLsp.start";

/** The command that starts the server: the setting, the active Python environment, PATH; else undefined. */
export async function findServer(): Promise<Command | undefined> {
  const [command, ...args] = workspace.getConfiguration("magentLsp").get<string[]>("server.command", []);
  if (command) return { command: command.replace(/^~(?=\/)/, homedir()), args };
  const found = (await besidePython()) ?? onPath(NAME) ?? existing(join(homedir(), ".local", "bin", NAME));
  return found ? { command: found, args: ["serve"] } : undefined;
}

/** Say that the server is missing and offer ways to get it. */
export async function offerServer(): Promise<void> {
  const choice = await window.showErrorMessage(
    "Magent needs its server, magent-lsp, which is neither in the active Python environment nor on the PATH. " +
      "In a checkout of its repository: pipx install '.[rg]'. Then run “Magent: Restart Server”.",
    "How to install it",
    "Set its path",
  );
  if (choice === "How to install it") await commands.executeCommand("workbench.action.openWalkthrough", GUIDE);
  if (choice === "Set its path") {
    await commands.executeCommand("workbench.action.openSettings", "magentLsp.server.command");
  }
}

/** A server that is installed beside the Python interpreter of the workspace. */
async function besidePython(): Promise<string | undefined> {
  // An environment inside the workspace is the workspace's own code.
  if (!workspace.isTrusted) return undefined;
  const python = extensions.getExtension("ms-python.python");
  if (!python) return undefined;
  try {
    const api = (await python.activate()) as {
      environments?: { getActiveEnvironmentPath(): { path: string } };
    };
    const path = api.environments?.getActiveEnvironmentPath().path;
    return path ? existing(join(dirname(path), NAME)) : undefined;
  } catch {
    return undefined; // a Python extension that fails is no reason to go without a server
  }
}

function onPath(name: string): string | undefined {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const found = folder && existing(join(folder, name));
    if (found) return found;
  }
  return undefined;
}

function existing(path: string): string | undefined {
  return existsSync(path) ? path : undefined;
}
