/** Sees and drives any page: what it shows, what can be done there, and doing it. Needs nothing of the page. */

import { isConnected, listen, tagOf, unlisten, windowOf } from "./dom";
import type { JayAutomation } from "./jay";
import { JAY_READY, jayOf, toldBy } from "./jay";
import { type Act, elementFor, jayTools } from "./jay-tools";
import { type Recorded, useListeners } from "./listeners";
import { lookAt, read } from "./outline";
import { pageStateOf } from "./page-state";
import { knownSecrets } from "./private";
import { Refs } from "./refs";
import { createTools, type PageTool } from "./tools";
import type {
  Coordinate,
  Found,
  Json,
  Known,
  Outcome,
  PageState,
  PendingCall,
  ToolDefinition,
} from "./types";
import { isOwn } from "./visible";
import { watch } from "./watch";
import { declaredTools } from "./webmcp";

export { type Recorded, recordedListeners, recordListeners } from "./listeners";
export { Refs } from "./refs";
export { watchRequests } from "./requests";
export type * from "./types";

export interface AutomationOptions {
  /** Elements that are no part of the page, beside the chat itself. */
  readonly exclude?: (element: Element) => boolean;
  /** What a script that came before this one has recorded (`recordedListeners`). */
  readonly listeners?: Recorded;
}

export interface Automation {
  /** What the page shows, for the model: once for each time that it is sent, since refs then mean what it says. */
  getPageState(): PageState;
  /** The control at a coordinate: container keys and a name, or what the page itself calls it. */
  getInteraction(coordinate: Coordinate): Found;
  /** The control that a call acts upon, where it is still what was shown; null where it names none. */
  controlOf(call: Pick<PendingCall, "name" | "args">): Known | null;
  triggerEvent(type: string, coordinate: Coordinate, data?: Json): Promise<Outcome>;
  /** Tells, until it is called off, what the page shows once it has changed. */
  onStateChange(callback: (state: PageState) => void): () => void;
  tools(): Promise<ToolDefinition[]>;
  /** Never rejects. */
  execute(call: PendingCall, signal?: AbortSignal): Promise<Outcome>;
  readonly refs: Refs;
}

/** Bytes of one answer of `read`. */
const MOST_READ = 8_000;

export function createAutomation(
  page: Document = document,
  { exclude, listeners }: AutomationOptions = {},
): Automation {
  if (listeners) useListeners(listeners);
  const refs = new Refs(page, exclude);
  const tools = createTools({
    document: page,
    refs,
    read: (within?: Element, from = 0) =>
      read(lookAt(page, exclude), refs, within, from, { most: MOST_READ }),
    pageTools: () => pageTools(),
    isOwn: (element: Element) => isOwn(element) || (exclude?.(element) ?? false),
  });

  const act: Act = (verb, element, value, signal) => {
    const name = verb === "fill" ? (tagOf(element) === "select" ? "select" : "fill") : "click";
    const { ref } = refs.know(element);
    return tools.execute({ id: "", name, args: { ref, ...(verb === "fill" ? { value } : {}) } }, signal);
  };

  const pageTools = async (): Promise<PageTool[]> => {
    const jay = jayOf(page);
    return [...(jay ? jayTools(jay, act) : []), ...(await declaredTools(page))];
  };

  const stateNow = (): PageState => {
    const jay = jayOf(page);
    const look = lookAt(page, exclude);
    const state = pageStateOf(look, refs);
    return jay ? { ...state, ...toldBy(jay, knownSecrets(page), look) } : state;
  };

  const getInteraction = (coordinate: Coordinate): Found => {
    const element = elementOf(jayOf(page), coordinate);
    return element ? { ok: true, known: refs.know(element) } : refs.byCoordinate(coordinate);
  };

  const controlOf = ({ name, args }: Pick<PendingCall, "name" | "args">): Known | null => {
    const { ref, coordinate } = args;
    if (typeof ref === "string") return knownOr(refs.find(ref));
    const jay = jayOf(page);
    const element = jay && elementFor(jay, name, coordinate);
    return element ? refs.know(element) : null;
  };

  return {
    refs,
    controlOf,
    tools: () => tools.tools(),
    execute: (call, signal) => tools.execute(call, signal),
    getInteraction,
    getPageState: () => {
      const state = stateNow();
      refs.shown();
      return state;
    },
    triggerEvent: async (type, coordinate, data) => {
      const found = getInteraction(coordinate);
      if (!found.ok) {
        const candidates = found.candidates.map(({ ref, role, name }) => `${ref} ${role} "${name}"`);
        return { ok: false, error: found.reason, candidates };
      }
      const isFilled = /^(input|change|fill)$/.test(type) && data !== undefined;
      if (!isFilled && type !== "click")
        return { ok: false, error: `events are click, and input or change with a value; not ${type}` };
      return act(isFilled ? "fill" : "click", found.known.element, isFilled ? String(data) : "");
    },
    onStateChange: (callback) => {
      const told = (): void => callback(stateNow());
      const stop = watch(page, told);
      const view = windowOf(page);
      if (view) listen(view, JAY_READY, told);
      return () => {
        stop();
        if (view) unlisten(view, JAY_READY, told);
      };
    },
  };
}

function knownOr(found: Found): Known | null {
  return found.ok ? found.known : null;
}

/** What the page itself says is at a coordinate of its own. */
function elementOf(jay: JayAutomation | null, coordinate: Coordinate): Element | null {
  try {
    const found = jay?.getInteraction?.([...coordinate]) as { element?: Element } | null | undefined;
    return found?.element && isConnected(found.element) ? found.element : null;
  } catch {
    return null;
  }
}
