/** Text as it is told: on one line, and never longer than it needs to be. */

/** Everything that is not seen as text but could change how the rest of it reads. */
const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u180e\u{e0000}-\u{e0fff}]/gu;

/** What there is to fold: most texts have nothing of it, and to find that out is quicker than to write them anew. */
const FOLDED = /[^\S ]| {2}/;

export function fold(text: string): string {
  const seen = text.replace(UNSEEN, "");
  return (FOLDED.test(seen) ? seen.replace(/\s+/g, " ") : seen).trim();
}

/** At most so many characters, the last of them an ellipsis where something was cut. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // Not between the two halves of one sign.
  const end = /[\ud800-\udbff]/.test(text.charAt(most - 2)) ? most - 2 : most - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** As it stands in a line: between double quotes, without any of its own. */
export function quoted(text: string, most = 120): string {
  return `"${cut(fold(text).replaceAll('"', "'"), most)}"`;
}

/** From 0 to 1: how much two texts have in common, by their pairs of characters. */
export function similarity(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  if (a === b) return 1;
  const pairs = new Map<string, number>();
  for (let at = 0; at < a.length - 1; at++) {
    const pair = a.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let shared = 0;
  for (let at = 0; at < b.length - 1; at++) {
    const left = pairs.get(b.slice(at, at + 2)) ?? 0;
    if (left > 0) {
      shared++;
      pairs.set(b.slice(at, at + 2), left - 1);
    }
  }
  const all = a.length + b.length - 2;
  return all > 0 ? (2 * shared) / all : 0;
}
