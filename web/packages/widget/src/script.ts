/** What the script's own tag says: where the server is, and how the chat shall be. */

/** What the tag and the element may both say; the element's own word counts. */
export const SETTINGS = ["profile", "mode", "userToken", "lang", "theme", "launcher", "placement"] as const;

export interface Tag {
  /** The tag itself, to be asked for a token that the page renews. */
  readonly script: HTMLScriptElement | null;
  /** The server's address, without a slash at its end. */
  readonly base: string;
  readonly settings: { readonly [name in (typeof SETTINGS)[number]]?: string };
}

/** Read the tag of the script that runs now. To be asked while it is first run, not later. */
export function ownTag(document: Document): Tag {
  const script = current(document);
  if (!script) return { script, base: "", settings: {} };
  const settings: { [name: string]: string } = {};
  for (const name of SETTINGS) {
    const value = script.dataset[name];
    if (value !== undefined) settings[name] = value;
  }
  return { script, base: baseOf(script.src, document.baseURI), settings };
}

/** The folder that the script lies in. */
export function baseOf(src: string, baseURI: string): string {
  try {
    const folder = new URL(".", new URL(src, baseURI));
    return /^https?:$/.test(folder.protocol) ? `${folder.origin}${folder.pathname}`.replace(/\/$/, "") : "";
  } catch {
    return "";
  }
}

function current(document: Document): HTMLScriptElement | null {
  // By the prototype's own getter: an image named `currentScript` would stand in front of it.
  const getter = Object.getOwnPropertyDescriptor(Document.prototype, "currentScript")?.get;
  const script: unknown = getter?.call(document);
  if (script instanceof HTMLScriptElement) return script;
  // A module has no tag of its own to ask for: the last that loads a script of this name.
  const named = [...document.querySelectorAll<HTMLScriptElement>("script[src]")];
  return named.findLast(({ src }) => /\/pollux\.js$/.test(src.split(/[?#]/)[0] ?? "")) ?? null;
}
