// Knows when the person typed last, so that nothing comes under their hands.

import { commands, type Disposable, window, workspace } from "vscode";

const QUIET_MS = 1500;

/** Inputs of VS Code that are documents, but never the active one. */
const INPUTS = new Set(["vscode-scm", "comment"]);

export class Typing implements Disposable {
  private last = 0;
  private readonly listener = workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    const here = document === window.activeTextEditor?.document || INPUTS.has(document.uri.scheme);
    if (contentChanges.length > 0 && here) this.note();
  });

  dispose(): void {
    this.listener.dispose();
  }

  /** The person typed, in an input of ours. */
  note(): void {
    this.last = Date.now();
  }

  /** Wait until the person has paused. */
  async pause(): Promise<void> {
    let left = 0;
    do {
      await new Promise((done) => setTimeout(done, left));
      // On a busy machine keys may be on their way to us; they are here before the window has done this.
      await commands.executeCommand("setContext", "magentLsp.heard", true);
      left = this.last + QUIET_MS - Date.now();
    } while (left > 0);
  }
}
