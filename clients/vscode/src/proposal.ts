// A text that the agent proposes, as a document that the person may change before they accept it.

import { type TextDocument, TabInputText, type Uri, ViewColumn, window, workspace, WorkspaceEdit, Range } from "vscode";

export class Proposal {
  private document: TextDocument | undefined;
  private readonly proposed: string;

  constructor(proposed: string) {
    this.proposed = unified(proposed);
  }

  /** Where the document is. */
  get uri(): Uri | undefined {
    return this.document?.isClosed ? undefined : this.document?.uri;
  }

  /** The text as it is now. */
  get text(): string {
    return this.document ? unified(this.document.getText()) : this.proposed;
  }

  get isChanged(): boolean {
    return this.text !== this.proposed;
  }

  /** Open the document, again if it was closed; beside what the person is at, who goes on there. */
  async show(preserveFocus: boolean): Promise<void> {
    const tab = this.tab();
    if (!this.document || this.document.isClosed) this.document = await workspace.openTextDocument({ content: this.text });
    const viewColumn = tab?.group.viewColumn ?? (window.activeTextEditor ? ViewColumn.Beside : ViewColumn.Active);
    await window.showTextDocument(this.document, { viewColumn, preserveFocus, preview: false });
  }

  /** Close the document, whose text is not needed any more. */
  async close(): Promise<void> {
    const tab = this.tab();
    if (!this.document || !tab) return;
    // A document without text is closed without a question whether to save it.
    const edit = new WorkspaceEdit();
    edit.delete(this.document.uri, new Range(0, 0, this.document.lineCount, 0));
    if (await workspace.applyEdit(edit)) await window.tabGroups.close(tab, true);
  }

  private tab() {
    const uri = this.uri?.toString();
    return window.tabGroups.all
      .flatMap((group) => group.tabs)
      .find(({ input }) => input instanceof TabInputText && input.uri.toString() === uri);
  }
}

function unified(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
