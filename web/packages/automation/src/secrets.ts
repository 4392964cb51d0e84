/** What stood in the private fields of a page, for as long as the page lives. In memory alone; told nowhere. */

export const MASK = "[private]";

/** Shorter ones are no secrets, and would be found everywhere. */
const SHORTEST = 4;
const MOST = 5_000;
const SEPARATORS = /[\s.-]/;
const NUMBER = /^\d{8,}$/;

export class Secrets {
  /** By how they begin, so that a text is gone through once, however many there are. */
  readonly #texts = new Map<string, Set<string>>();
  readonly #numbers = new Map<string, Set<string>>();
  readonly #ofFields = new WeakMap<Element, string>();
  #count = 0;

  /** What stands in a field now. While it is being written only the longest that it held is kept. */
  note(field: Element, value: string): void {
    const secret = value.replace(/\s+/g, " ").trim();
    const before = this.#ofFields.get(field) ?? "";
    if (secret === before || secret.length < SHORTEST) return;
    if (before.startsWith(secret)) return;
    if (before && secret.startsWith(before)) this.#drop(before);
    this.#ofFields.set(field, secret);
    this.add(secret);
  }

  add(secret: string): void {
    if (secret.length < SHORTEST || this.#count >= MOST) return;
    if (put(this.#texts, secret)) this.#count++;
    const digits = bare(secret);
    if (NUMBER.test(digits)) put(this.#numbers, digits);
  }

  /** A text without them. Numbers are the same number however they are spaced. */
  without(text: string): string {
    if (this.#count === 0 || text.length < SHORTEST) return text;
    const told = masked(text, places(text, this.#texts));
    return this.#numbers.size > 0 && /\d/.test(told) ? withoutNumbers(told, this.#numbers) : told;
  }

  #drop(secret: string): void {
    if (take(this.#texts, secret)) this.#count--;
    take(this.#numbers, bare(secret));
  }
}

type Place = readonly [from: number, to: number];

/** Where in the text one of them stands, the longest that begins there. */
function places(text: string, known: ReadonlyMap<string, ReadonlySet<string>>): Place[] {
  const found: Place[] = [];
  for (let at = 0; at + SHORTEST <= text.length; at++) {
    const here = known.get(text.slice(at, at + SHORTEST));
    if (!here) continue;
    let longest = 0;
    for (const each of here) if (each.length > longest && text.startsWith(each, at)) longest = each.length;
    if (longest === 0) continue;
    found.push([at, at + longest]);
    at += longest - 1;
  }
  return found;
}

function withoutNumbers(text: string, known: ReadonlyMap<string, ReadonlySet<string>>): string {
  // Digits with at most one sign between two of them, and where in the text each of them is.
  let digits = "";
  const at: number[] = [];
  for (let n = 0; n < text.length; n++) {
    const sign = text.charAt(n);
    if (sign >= "0" && sign <= "9") {
      digits += sign;
      at.push(n);
    } else if (!SEPARATORS.test(sign) || SEPARATORS.test(text.charAt(n - 1))) {
      digits += " ";
      at.push(n);
    }
  }
  const found = places(digits, known).map(([from, to]): Place => [at[from] ?? 0, (at[to - 1] ?? 0) + 1]);
  return masked(text, found);
}

function masked(text: string, found: readonly Place[]): string {
  if (found.length === 0) return text;
  let told = "";
  let end = 0;
  for (const [from, to] of found) {
    told += text.slice(end, from) + MASK;
    end = to;
  }
  return told + text.slice(end);
}

function bare(secret: string): string {
  return secret.replace(/[\s.-]/g, "");
}

/** Whether it was not known before. */
function put(known: Map<string, Set<string>>, secret: string): boolean {
  const start = secret.slice(0, SHORTEST);
  const others = known.get(start) ?? new Set();
  known.set(start, others);
  return !others.has(secret) && others.add(secret).size > 0;
}

function take(known: Map<string, Set<string>>, secret: string): boolean {
  return known.get(secret.slice(0, SHORTEST))?.delete(secret) ?? false;
}
