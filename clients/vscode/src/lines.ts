// Whole lines of a text, and where they go while it is edited. Knows nothing of VS Code.

import type { Range } from "./protocol";

/** Lines counted from 0; `end` is the first that is none of them. */
export interface Lines {
  first: number;
  end: number;
}

/** A piece of a text that was replaced, at its place before the change. */
export interface Replaced {
  range: Range;
  text: string;
}

/** The whole lines of a range; one that ends where a line begins leaves that line out. */
export function linesOf({ start, end }: Range): Lines {
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { first: start.line, end: last + 1 };
}

/** `:13-15`, or `:13` for a single line, as people count. */
export function lineWords({ first, end }: Lines): string {
  return end - first > 1 ? `:${first + 1}-${end}` : `:${first + 1}`;
}

/** Where lines are after changes that were made at once; `length` is that of their last line before. */
export function moved(lines: Lines, length: number, changes: readonly Replaced[]): Lines {
  let { first, end } = lines;
  for (const { range, text } of changes) {
    const grown = text.split("\n").length - 1 - (range.end.line - range.start.line);
    if (isBefore(range, lines)) {
      first += grown;
      end += grown;
    } else if (isBehind(range, lines, length)) {
      continue;
    } else if (range.start.line < lines.first) {
      // What was written across the border is the writer's: the lines begin behind it.
      first += range.end.line + 1 - lines.first + grown;
      end += grown;
    } else if (range.end.line < lines.end || (range.end.line === lines.end && range.end.character === 0)) {
      end += grown;
    } else {
      end -= lines.end - range.start.line;
    }
  }
  return { first, end: Math.max(first, end) };
}

// Text that is put right before the first line, or at the end of the last, is outside.
function isBefore({ end }: Range, { first }: Lines): boolean {
  return end.line < first || (end.line === first && end.character === 0);
}

function isBehind({ start }: Range, { end }: Lines, length: number): boolean {
  return start.line >= end || (start.line === end - 1 && start.character >= length);
}
