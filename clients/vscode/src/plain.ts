// Words that are not ours, in a message of VS Code or below an input box.

/** The text without links, which VS Code makes of `[words](command:…)` and which run that command. */
export function plain(text: string): string {
  return text.replaceAll("](", "] (");
}
