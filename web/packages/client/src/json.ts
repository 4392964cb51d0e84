/**
 * JSON at the wire. A sealed history is text to us, and goes back letter by letter as it came. What we write ourselves
 * does not go by `toJSON`, which host pages are known to put on arrays.
 */

const DEEPEST = 60;
/** What the server refuses in a text: halves of characters, and NUL. Pages cut texts in the middle of an emoji. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for.
const UNCLEAN = /\p{Surrogate}|\u0000/gu;

/** A value as JSON text that the server takes. What has no form in JSON is null. */
export function written(value: unknown, depth = 0): string {
  if (typeof value === "string") return JSON.stringify(clean(value));
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "null";
  if (typeof value === "boolean") return `${value}`;
  if (typeof value !== "object" || value === null || depth > DEEPEST) return "null";
  let text = "";
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      text += `${text && ","}${written(value[index], depth + 1)}`;
    }
    return `[${text}]`;
  }
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined || typeof member === "function") continue;
    text += `${text && ","}${written(name)}:${written(member, depth + 1)}`;
  }
  return `{${text}}`;
}

/** A text without what the server refuses. */
export function clean(text: string): string {
  return text.replace(UNCLEAN, "\uFFFD");
}

/** The text of one member of the object that this JSON text is, as it stands there. The text must be valid. */
export function memberText(json: string, name: string): string | undefined {
  let at = json.indexOf("{") + 1;
  let found: string | undefined;
  while (at > 0 && at < json.length) {
    at = skipBlank(json, at);
    if (json[at] !== '"') break;
    const afterName = skipString(json, at);
    const isIt = JSON.parse(json.slice(at, afterName)) === name;
    const start = skipBlank(json, skipBlank(json, afterName) + 1);
    at = skipValue(json, start);
    // As in JSON.parse, the last one counts.
    if (isIt) found = json.slice(start, at).trimEnd();
    at = skipBlank(json, at);
    if (json[at] !== ",") break;
    at += 1;
  }
  return found;
}

function skipBlank(json: string, at: number): number {
  let here = at;
  while (here < json.length && " \t\r\n".includes(json[here] as string)) here += 1;
  return here;
}

function skipString(json: string, at: number): number {
  let here = at + 1;
  while (here < json.length && json[here] !== '"') here += json[here] === "\\" ? 2 : 1;
  return here + 1;
}

/** Where a value ends: at the comma or the bracket that is not its own. */
function skipValue(json: string, at: number): number {
  let here = at;
  let depth = 0;
  while (here < json.length) {
    const letter = json[here] as string;
    if (letter === '"') {
      here = skipString(json, here);
      continue;
    }
    if (depth === 0 && (letter === "," || letter === "}" || letter === "]")) return here;
    if (letter === "{" || letter === "[") depth += 1;
    if (letter === "}" || letter === "]") depth -= 1;
    here += 1;
  }
  return here;
}
