/**
 * Tools that the page declares to browsers (WebMCP: `document.modelContext`). What they are given is checked here,
 * since browsers do not; and a tool that fails says so in its result, since what it threw is lost.
 */

import { asJson } from "./json";
import { problemsOf } from "./schema";
import type { PageTool } from "./tools";
import type { Json, Outcome } from "./types";

interface DeclaredTool {
  readonly name: string;
  readonly description?: string;
  readonly title?: string;
  readonly inputSchema?: unknown;
  readonly origin?: string;
}

interface ModelContext {
  getTools(): Promise<readonly DeclaredTool[]>;
  executeTool(tool: DeclaredTool, input: object, options?: { signal?: AbortSignal }): Promise<unknown>;
}

const MOST = 60;
const ANYTHING = { type: "object", properties: {} };
/** What models and servers take for a tool's name. */
const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** The tools that a page declares now; none where the browser or the page knows nothing of such things. */
export async function declaredTools(page: Document): Promise<PageTool[]> {
  const context = (page as unknown as { modelContext?: ModelContext }).modelContext;
  if (typeof context?.getTools !== "function" || typeof context.executeTool !== "function") return [];
  try {
    const tools = await context.getTools();
    const own = tools.filter((tool) => NAME.test(tool.name) && isOfPage(tool, page));
    return own.slice(0, MOST).map((tool) => pageTool(context, tool));
  } catch {
    // A page that is being left.
    return [];
  }
}

function pageTool(context: ModelContext, tool: DeclaredTool): PageTool {
  const inputSchema = schemaOf(tool.inputSchema);
  const description = (tool.description || tool.title || `What the page calls ${tool.name}`).slice(0, 1_000);
  return {
    definition: { name: tool.name, description, inputSchema, category: "page-automation" },
    execute: async (args, signal) => {
      const problems = problemsOf({ ...args }, inputSchema);
      if (problems.length > 0) return { ok: false, error: `${tool.name}: ${problems.join("; ")}` };
      try {
        return outcomeOf(tool.name, await context.executeTool(tool, { ...args }, signal ? { signal } : {}));
      } catch {
        const why = signal?.aborted ? "was stopped" : "failed in the page, which does not say why";
        return { ok: false, error: `${tool.name} ${why}` };
      }
    },
  };
}

function isOfPage(tool: DeclaredTool, page: Document): boolean {
  return tool.origin === undefined || tool.origin === page.location.origin;
}

function schemaOf(given: unknown): { readonly [name: string]: Json } {
  const schema = asJson(typeof given === "string" ? parsed(given) : given);
  return schema !== null && typeof schema === "object" && !Array.isArray(schema)
    ? { ...ANYTHING, ...schema }
    : ANYTHING;
}

function outcomeOf(name: string, given: unknown): Outcome {
  const value = asJson(typeof given === "string" ? parsed(given) : given) ?? null;
  const content = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  if (content.isError === true)
    return { ok: false, error: `${name} failed: ${textOf(content.content) || "it does not say why"}` };
  return { ok: true, did: `called ${name}`, changed: [], value: textOf(content.content) || value };
}

/** The texts of a result, where it is made of such. */
function textOf(content: Json | undefined): string {
  if (!Array.isArray(content)) return "";
  const texts = content.map((part) => (part as { text?: Json } | null)?.text);
  return texts.filter((text) => typeof text === "string").join("\n");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
