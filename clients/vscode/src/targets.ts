// Marks the lines that a run may change and works on, wherever their file is shown, as long as it runs.

import {
  DecorationRangeBehavior,
  type Disposable,
  OverviewRulerLane,
  Range,
  type TextDocument,
  type TextDocumentChangeEvent,
  type TextEditor,
  ThemeColor,
  Uri,
  window,
  workspace,
} from "vscode";

import type { Conversations } from "./conversations";
import { type Lines, linesOf, moved } from "./lines";

interface Marked {
  uri: string;
  lines: Lines;
  /** Of the last line; undefined as long as the file is not open. */
  length?: number;
}

export class Targets implements Disposable {
  private readonly marked = new Map<string, Marked>();
  private readonly background = window.createTextEditorDecorationType({
    isWholeLine: true,
    rangeBehavior: DecorationRangeBehavior.ClosedClosed,
    backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
    borderColor: new ThemeColor("focusBorder"),
    borderStyle: "solid",
    borderWidth: "0 0 0 2px",
    overviewRulerColor: new ThemeColor("focusBorder"),
    overviewRulerLane: OverviewRulerLane.Left,
  });
  private readonly label = window.createTextEditorDecorationType({
    rangeBehavior: DecorationRangeBehavior.ClosedClosed,
    after: {
      contentText: "Magent works here",
      color: new ThemeColor("editorCodeLens.foreground"),
      fontStyle: "italic",
      margin: "0 0 0 3em",
    },
  });
  private readonly parts: Disposable[];

  constructor(conversations: Conversations) {
    this.parts = [
      this.background,
      this.label,
      conversations.onTarget(({ runId, uri, range }) => {
        if (uri && range) this.mark(runId, Uri.parse(uri).toString(), linesOf(range));
        else if (this.marked.delete(runId)) this.draw();
      }),
      workspace.onDidChangeTextDocument((change) => this.follow(change)),
      window.onDidChangeVisibleTextEditors(() => {
        if (this.marked.size > 0) this.draw();
      }),
    ];
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  private mark(runId: string, uri: string, lines: Lines): void {
    const document = workspace.textDocuments.find((open) => open.uri.toString() === uri);
    this.marked.set(runId, { uri, lines, length: document && lengthOf(document, lines) });
    this.draw();
  }

  private follow({ document, contentChanges }: TextDocumentChangeEvent): void {
    const here = this.in(document);
    if (here.length === 0 || contentChanges.length === 0) return;
    for (const target of here) {
      target.lines = moved(target.lines, target.length ?? Infinity, contentChanges);
      target.length = lengthOf(document, target.lines);
    }
    this.draw();
  }

  private in(document: TextDocument): Marked[] {
    const uri = document.uri.toString();
    return [...this.marked.values()].filter((target) => target.uri === uri);
  }

  private draw(): void {
    for (const editor of window.visibleTextEditors) this.drawIn(editor);
  }

  private drawIn(editor: TextEditor): void {
    const { document } = editor;
    const ranges = this.in(document).map(({ lines }) =>
      document.validateRange(new Range(lines.first, 0, Math.max(lines.first, lines.end - 1), Number.MAX_SAFE_INTEGER)),
    );
    editor.setDecorations(this.background, ranges);
    // The label stands behind the first line.
    const ends = ranges.map((range) => document.lineAt(range.start.line).range.end);
    editor.setDecorations(
      this.label,
      ends.map((end) => new Range(end, end)),
    );
  }
}

function lengthOf(document: TextDocument, { end }: Lines): number {
  return end > 0 && end <= document.lineCount ? document.lineAt(end - 1).text.length : 0;
}
