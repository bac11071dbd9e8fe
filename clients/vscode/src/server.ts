// Finds the language server, or says what to do. Nothing is ever fetched: a name in an index may be anybody's.

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { commands, extensions, window, workspace } from "vscode";

import { places } from "./places";

export interface Command {
  command: string;
  args: string[];
}

const NAME = "magent-lsp";
const GUIDE = "magent-lsp.magent-lsp#magentLsp.start";

/** The command that starts the server: the setting, the active Python environment, PATH, pipx, uv; else undefined. */
export async function findServer(): Promise<Command | undefined> {
  const [command, ...args] = workspace.getConfiguration("magentLsp").get<string[]>("server.command", []);
  if (command) return { command: command.replace(/^~(?=\/)/, homedir()), args };
  const machine = { platform: process.platform, env: process.env, home: homedir() };
  const found = (await besidePython()) ?? places(NAME, machine).find(isFile);
  return found ? { command: found, args: ["serve"] } : undefined;
}

/** Say that the server is missing and offer ways to get it. */
export async function offerServer(): Promise<void> {
  const choice = await window.showErrorMessage(
    "Magent needs its server, magent-lsp, which is neither in the active Python environment, nor on the PATH, nor where " +
      "pipx and uv put programs. In a checkout of its repository: pipx install '.[rg]'. Then try again.",
    "Try again",
    "How to install it",
    "Set its path",
  );
  if (choice === "Try again") await commands.executeCommand("magentLsp.restart");
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
    const beside = path && join(dirname(path), process.platform === "win32" ? `${NAME}.exe` : NAME);
    return beside && isFile(beside) ? beside : undefined;
  } catch {
    return undefined; // a Python extension that fails is no reason to go without a server
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // not there, or behind a folder that may not be read
  }
}
