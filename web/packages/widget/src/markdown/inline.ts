/** What is within a line: emphasis, code, links. Follows CommonMark's way of pairing stars, in one pass. */

import { decoded } from "./entities";
import { type Inline, nameOf, type References } from "./tokens";

/** Stars, underscores or tildes that may begin or end something. */
interface Run {
  readonly char: string;
  readonly opens: boolean;
  readonly closes: boolean;
  readonly size: number;
  left: number;
}

/** A `[` or `![` that may begin a link. */
interface Bracket {
  readonly at: number;
  readonly start: number;
  readonly isImage: boolean;
}

type Part = Inline | Run;

const SPECIAL = /[\\`*_~[\]!<]|https?:\/\/|www\./g;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const SPACE = /\s/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const WORD = /[\p{L}\p{N}_]/u;
const ADDRESS = /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>/iy;
const BARE = /(?:https?:\/\/|www\.)[^\s<]+/y;
const TARGET =
  /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/y;
const LABEL = /\[([^[\]]*)\]/y;

export function inline(text: string, references: References): Inline[] {
  return new Reader(text, references).read();
}

class Reader {
  readonly #parts: Part[] = [];
  #brackets: Bracket[] = [];
  /** Lengths of backtick runs that nothing ends. */
  readonly #endless = new Set<number>();
  #at = 0;

  constructor(
    readonly text: string,
    readonly references: References,
  ) {}

  read(): Inline[] {
    const { text } = this;
    while (this.#at < text.length) {
      SPECIAL.lastIndex = this.#at;
      const found = SPECIAL.exec(text);
      const next = found ? found.index : text.length;
      if (next > this.#at) this.#parts.push(decoded(text.slice(this.#at, next)));
      this.#at = next;
      if (found && !this.#special(found[0])) {
        this.#parts.push(found[0]);
        this.#at += found[0].length;
      }
    }
    return paired(this.#parts);
  }

  /** Whether what begins here was more than text. */
  #special(sign: string): boolean {
    switch (sign) {
      case "\\":
        return this.#escape();
      case "`":
        return this.#code();
      case "*":
      case "_":
      case "~":
        return this.#run(sign);
      case "!":
        return this.text[this.#at + 1] === "[" && this.#open(2);
      case "[":
        return this.#open(1);
      case "]":
        return this.#close();
      case "<":
        return this.#address();
      default:
        return this.#bare();
    }
  }

  #escape(): boolean {
    const next = this.text[this.#at + 1] ?? "";
    if (next !== "\n" && !ESCAPABLE.test(next)) return false;
    return this.#push(next, 2);
  }

  #code(): boolean {
    const size = this.#length("`");
    const begin = this.#at + size;
    let end = this.#endless.has(size) ? -1 : this.text.indexOf("`", begin);
    while (end >= 0) {
      let after = end;
      while (this.text[after] === "`") after += 1;
      if (after - end === size) {
        const text = this.text.slice(begin, end).replace(/\n/g, " ");
        const isPadded = /^ .* $/.test(text) && text.trim() !== "";
        return this.#push({ type: "code", text: isPadded ? text.slice(1, -1) : text }, after - this.#at);
      }
      end = this.text.indexOf("`", after);
    }
    this.#endless.add(size);
    return this.#push("`".repeat(size), size);
  }

  #run(char: string): boolean {
    const size = this.#length(char);
    const [before, after] = [this.text[this.#at - 1] ?? " ", this.text[this.#at + size] ?? " "];
    const isLeft = flanks(after, before);
    const isRight = flanks(before, after);
    if (char === "~" && size !== 2) return this.#push(char.repeat(size), size);
    const isInWord = char === "_";
    return this.#push(
      {
        char,
        size,
        left: size,
        opens: isLeft && (!isInWord || !isRight || PUNCTUATION.test(before)),
        closes: isRight && (!isInWord || !isLeft || PUNCTUATION.test(after)),
      },
      size,
    );
  }

  #open(size: number): boolean {
    this.#brackets.push({ at: this.#parts.length, start: this.#at + size, isImage: size === 2 });
    return this.#push(size === 2 ? "![" : "[", size);
  }

  #close(): boolean {
    const bracket = this.#brackets.pop();
    if (!bracket) return false;
    const written = this.text.slice(bracket.start, this.#at);
    const target = this.#target(written);
    if (!target) return false;
    const [address, end] = target;
    const children = paired(this.#parts.splice(bracket.at).slice(1));
    // A link has no link in it.
    if (!bracket.isImage) this.#brackets = this.#brackets.filter(({ isImage }) => isImage);
    const link: Inline = bracket.isImage
      ? { type: "image", text: plain(children) }
      : { type: "link", address, text: written, children };
    return this.#push(link, end - this.#at);
  }

  /** Where the link leads whose text ends here, and where it ends. */
  #target(written: string): [address: string, end: number] | null {
    const next = this.#at + 1;
    TARGET.lastIndex = next;
    const direct = TARGET.exec(this.text);
    if (direct) return [unescaped(direct[1] ?? direct[2] ?? ""), TARGET.lastIndex];
    LABEL.lastIndex = next;
    const label = LABEL.exec(this.text);
    const address = this.references.get(nameOf(label?.[1] || written));
    return address === undefined ? null : [address, label ? LABEL.lastIndex : next];
  }

  #address(): boolean {
    ADDRESS.lastIndex = this.#at;
    const found = ADDRESS.exec(this.text);
    const written = found?.[1];
    if (!written) return false;
    const address = /^[^:]*@/.test(written) ? `mailto:${written}` : written;
    return this.#push({ type: "link", address, text: written, children: [written] }, written.length + 2);
  }

  #bare(): boolean {
    if (WORD.test(this.text[this.#at - 1] ?? " ") || this.#brackets.some(({ isImage }) => !isImage))
      return false;
    BARE.lastIndex = this.#at;
    const written = trimmed(BARE.exec(this.text)?.[0] ?? "");
    if (written.length < 8) return false;
    const address = /^w/i.test(written) ? `http://${written}` : written;
    return this.#push({ type: "link", address, text: written, children: [written] }, written.length);
  }

  #length(char: string): number {
    let end = this.#at;
    while (this.text[end] === char) end += 1;
    return end - this.#at;
  }

  #push(part: Part, size: number): true {
    this.#parts.push(part);
    this.#at += size;
    return true;
  }
}

/** Whether a run stands at the edge of what is on this side of it. */
function flanks(inner: string, outer: string): boolean {
  return !SPACE.test(inner) && (!PUNCTUATION.test(inner) || SPACE.test(outer) || PUNCTUATION.test(outer));
}

/** Parts with the runs that belong together made into what they say; those that are left over are text. */
function paired(parts: Part[]): Inline[] {
  const bottoms = new Map<string, number>();
  let at = 0;
  while (at < parts.length) {
    const closer = parts[at];
    if (!isRun(closer) || !closer.closes || closer.left === 0) {
      at += 1;
      continue;
    }
    const key = `${closer.char}${closer.opens}${closer.size % 3}`;
    const opened = openerOf(parts, at, bottoms.get(key) ?? 0);
    if (opened < 0) {
      bottoms.set(key, at);
      at += 1;
      continue;
    }
    const opener = parts[opened] as Run;
    const used = closer.left >= 2 && opener.left >= 2 ? 2 : 1;
    const type = closer.char === "~" ? "del" : used === 2 ? "strong" : "em";
    opener.left -= used;
    closer.left -= used;
    const children = texts(parts.slice(opened + 1, at));
    parts.splice(opened + 1, at - opened - 1, { type, children });
    at = opened + 2;
  }
  return texts(parts);
}

function openerOf(parts: readonly Part[], closerAt: number, bottom: number): number {
  const closer = parts[closerAt] as Run;
  for (let at = closerAt - 1; at >= bottom; at -= 1) {
    const run = parts[at];
    if (!isRun(run) || !run.opens || run.char !== closer.char || run.left === 0) continue;
    // CommonMark's rule of three, for runs that could do both.
    const isOdd = (run.closes || closer.opens) && (run.size + closer.size) % 3 === 0 && closer.size % 3 !== 0;
    if (!isOdd) return at;
  }
  return -1;
}

function texts(parts: readonly Part[]): Inline[] {
  const out: Inline[] = [];
  for (const part of parts) {
    const inline = isRun(part) ? part.char.repeat(part.left) : part;
    const last = out.at(-1);
    if (typeof inline === "string" && typeof last === "string") out[out.length - 1] = last + inline;
    else if (inline !== "") out.push(inline);
  }
  return out;
}

function isRun(part: Part | undefined): part is Run {
  return typeof part === "object" && "char" in part;
}

/** What reads the same without any form. */
function plain(children: readonly Inline[]): string {
  return children
    .map((child) =>
      typeof child === "string" ? child : "children" in child ? plain(child.children) : child.text,
    )
    .join("");
}

function unescaped(address: string): string {
  return decoded(address.replace(/\\([!-/:-@[-`{-~])/g, "$1"));
}

/** An address without the punctuation of the sentence that it stands in. */
function trimmed(address: string): string {
  const end = address.replace(/(?:[?!.,:;*_~'"]|&\w+;)+$/, "");
  const isOpen = end.endsWith(")") && end.split(")").length > end.split("(").length;
  return isOpen ? trimmed(end.slice(0, -1)) : end;
}
