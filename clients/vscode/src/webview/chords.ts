// VS Code takes the second key of `Alt+M …`, but the page gets it too, and it is no text.

const PATIENCE = 5000; // ms, as long as VS Code waits for the second key
const MODIFIERS = new Set(["Alt", "Control", "Meta", "Shift"]);
const onMac = navigator.platform.startsWith("Mac");

/** From now on the page takes no second key of a chord for text. */
export function swallowChords(): void {
  let until = 0;
  const key = (event: KeyboardEvent): void => {
    if (MODIFIERS.has(event.key)) return;
    const { altKey, ctrlKey, metaKey } = event;
    if (performance.now() < until && event.key.length === 1 && !altKey && !ctrlKey && !metaKey) event.preventDefault();
    // By its place: with Alt a Mac has another letter there.
    const begins = altKey && !ctrlKey && metaKey === onMac && (event.code === "KeyM" || event.key === "m");
    until = begins ? performance.now() + PATIENCE : 0;
  };
  window.addEventListener("keydown", key, { capture: true });
}
