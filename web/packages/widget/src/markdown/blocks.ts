/** Markdown that grows: what is settled stays as it was read, and only the last block is read again. */

import { blocks, referencesOf } from "./lines";
import type { Block, References } from "./tokens";

// What no reader wants, and costs too much to read again at every word, is shown as it was written.
const LONGEST = 50_000;
const MOST_SIGNS = 4000;

/** The blocks of one message. Those that did not change are the same objects as before. */
export class Blocks {
  #source = "";
  #blocks: readonly Block[] = [];
  #references: References = new Map();

  /** The blocks of `text`. While it is `growing`, references to what comes later are not known yet. */
  read(text: string, growing: boolean): readonly Block[] {
    const source = text.replace(/\r\n?/g, "\n").replace(/\0/g, "\ufffd");
    const kept = growing && source.startsWith(this.#source) ? this.#blocks.slice(0, -1) : [];
    const start = kept.reduce((length, block) => length + block.raw.length, 0);
    if (!growing) this.#references = referencesOf(source);
    const fresh = parse(source.slice(start), this.#references);
    this.#blocks = growing ? [...kept, ...fresh] : this.#known(fresh);
    this.#source = source;
    return this.#blocks;
  }

  /** The same blocks, as the objects that they were before where they are no others. */
  #known(fresh: readonly Block[]): readonly Block[] {
    if (this.#references.size > 0) return fresh;
    return fresh.map((block, index) => {
      const before = this.#blocks[index];
      return before?.raw === block.raw ? before : block;
    });
  }
}

function parse(source: string, references: References): Block[] {
  const isTooMuch = source
    .split(/\n[ \t]*\n/)
    .some(
      (part) =>
        part.length > LONGEST || (part.length > MOST_SIGNS && part.split(/[*_~[\]`]/).length > MOST_SIGNS),
    );
  if (!isTooMuch) return blocks(source, references);
  return [{ type: "plain", text: source, raw: source }];
}
