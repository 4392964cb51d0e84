/** The prompt of a runbook's run: it is the document itself, and nothing that a person would read as a prompt. */

const MARK = '{"type":"pollux-runbook"';

export interface Opening {
  readonly name: string;
  readonly path: string;
  readonly source: string;
}

/** What a run begins with, if that is a document. */
export function openingOf(prompt: string): Opening | null {
  const name = documentName(prompt);
  if (name === null) return null;
  try {
    const { path = "", source = "" } = JSON.parse(prompt) as Partial<Opening>;
    return { name, path, source };
  } catch {
    // Only its beginning is there.
    return { name, path: "", source: "" };
  }
}

/** The name of the document that this prompt is, or begins; null for any other prompt. */
export function documentName(prompt: string): string | null {
  if (!prompt.startsWith(MARK)) return null;
  const text = prompt.replaceAll('\\"', '"').replaceAll("\\n", "\n");
  return /(?:^|[\s{,"])name"?: *"?([^"\n]+)/.exec(text)?.[1]?.trim() ?? "";
}

export function documentWords(name: string): string {
  return name ? `the runbook “${name}”` : "a runbook";
}
