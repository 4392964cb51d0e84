/** What programs put out, for people to read: without colours and cursors, and never too much of it. */

/** So much of the end is kept. */
export const MOST = 50_000;

const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this is about.
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|\[?[0-?]*[ -/]*$|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: bells, shifts and backspaces.
const SILENT = /[\u0007\u0008\u000e\u000f]/g;

/** Text without what only a terminal understands. A line that was written over shows what it came to. */
export function plain(text: string): string {
  const lines = text.replace(ESCAPES, "").replace(/\r+\n/g, "\n").replace(SILENT, "");
  return lines.replace(/\r+$/, "").replace(/[^\n]*\r/g, "");
}

/** The end of a text that grows. */
export class Tail {
  text = "";
  /** Whether something of it was let go. */
  isCut = false;

  add(more: string): void {
    const whole = this.text + more;
    if (whole.length <= MOST) {
      this.text = whole;
      return;
    }
    this.isCut = true;
    const kept = whole.slice(-MOST);
    // From the beginning of a line, so that no half of an escape sequence is left over.
    const line = kept.indexOf("\n");
    this.text = line >= 0 && line < MOST / 2 ? kept.slice(line + 1) : kept;
  }
}

/** The end of a whole text, and whether that is less than all. */
export function tailOf(text: string): Tail {
  const tail = new Tail();
  tail.add(text);
  return tail;
}
