/** A document's text with one more agent block in it. Every line that was there stays as it is. */

import type { CapabilitiesView, DocumentView } from "@pollux/protocol";

export interface NewAgent {
  readonly id: string;
  readonly name: string;
  readonly timeout: number;
  readonly capabilities: CapabilitiesView;
}

/** The text with the block behind the one of this id, or at the end. Null where there is no plain place for it. */
export function withAgent(document: DocumentView, agent: NewAgent, after = ""): string | null {
  return document.form === "json" ? inJson(document, agent, after) : inYaml(document, agent, after);
}

function inJson({ source }: DocumentView, agent: NewAgent, after: string): string | null {
  const whole: unknown = JSON.parse(source);
  const content = Array.isArray(whole) ? whole : (whole as { content?: unknown }).content;
  if (!Array.isArray(content)) return null;
  const at = after ? content.findIndex((block: { id?: unknown }) => block.id === after) : content.length - 1;
  if (after && at < 0) return null;
  content.splice(at + 1, 0, { id: agent.id, type: "agent", props: propsOf(agent), children: [] });
  return `${JSON.stringify(whole, null, 2)}\n`;
}

function inYaml({ source, blocks }: DocumentView, agent: NewAgent, after: string): string | null {
  const lines = source.split("\n");
  const outer = blocks.filter((block) => block.depth === 0);
  const last = outer.at(-1);
  const at = after ? outer.findIndex((block) => block.id === after) : outer.length - 1;
  if (!last || at < 0) return null;
  const indent = /^( *)- /.exec(lines[last.line - 1] ?? "")?.[1];
  if (indent === undefined) return null;
  const next = outer[at + 1];
  const place = next ? next.line - 1 : endOf(lines, last.line);
  const block = yamlOf(agent).map((line) => indent + line);
  return [...lines.slice(0, place), ...block, ...lines.slice(place)].join("\n");
}

/** Where the list ends whose last item begins on this line: before another key, or at the end of the text. */
function endOf(lines: readonly string[], from: number): number {
  for (let at = from; at < lines.length; at++) if (/^[^\s#-]/.test(lines[at] ?? "")) return at;
  let end = lines.length;
  while (end > from && !lines[end - 1]?.trim()) end--;
  return end;
}

function propsOf({ name, timeout, capabilities }: NewAgent) {
  return { name, source: { type: "internal" }, prompt: "", capabilities, timeoutSeconds: timeout };
}

function yamlOf({ id, name, timeout, capabilities }: NewAgent): string[] {
  return [
    `- id: ${id}`,
    "  type: agent",
    "  props:",
    `    name: ${JSON.stringify(name)}`,
    "    source:",
    "      type: internal",
    '    prompt: ""',
    "    capabilities:",
    ...Object.entries(capabilities).map(([key, value]) => `      ${key}: ${value}`),
    `    timeoutSeconds: ${timeout}`,
    "  children: []",
  ];
}

/** A name that no block has yet: `agent`, `agent 2`. */
export function freeName(blocks: readonly { readonly name: string }[]): string {
  const names = new Set(blocks.map((block) => block.name));
  let number = 1;
  while (names.has(number === 1 ? "agent" : `agent ${number}`)) number++;
  return number === 1 ? "agent" : `agent ${number}`;
}

/** A random id. Our own, since a browser has `randomUUID` only where the connection is safe. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
