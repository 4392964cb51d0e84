/** What the parts of the automation say to one another, and to whoever uses it. */

import type { Consequence } from "./consequences";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Where a control stands: the keys of the containers it lies in, then what it is called. */
export type Coordinate = readonly string[];

/** A control as it was when it was last shown. Whoever acts on it holds it against what is there now. */
export interface Known {
  /** For as long as the element lives, and for no other: `e12`. */
  readonly ref: string;
  readonly element: Element;
  readonly role: string;
  readonly name: string;
  readonly coordinate: Coordinate;
  /** A password, a card's number, a one-time code, or what the page marked as private. */
  readonly isPrivate: boolean;
  /** Whether the visitor is asked before it is pressed, or before Enter is pressed in it. */
  readonly consequence: Consequence | null;
}

/** A reference that leads to the control that was shown, or the reason why it does not and what was perhaps meant. */
export type Found =
  | { readonly ok: true; readonly known: Known }
  | { readonly ok: false; readonly reason: string; readonly candidates: readonly Known[] };

/** A control about which the visitor may be asked. */
export interface Asks {
  readonly ref: string;
  readonly role: string;
  readonly name: string;
  /** True where a press has consequences, `enter` where the key sends the form that has them. */
  readonly consequential?: true | "enter";
}

/** What the page shows, compact and bounded. Goes to the server as `pageState`. */
export interface PageState {
  readonly url: string;
  readonly title: string;
  /** A line for each thing worth knowing, indented by containers; controls begin with their ref. */
  readonly outline: readonly string[];
  /** The controls that the server must ask about before they are filled in. */
  readonly private: readonly { readonly ref: string; readonly private: true }[];
  /** What controls are called about which the server may have to ask, and which of them have consequences. */
  readonly asks?: readonly Asks[];
  /** What cannot be seen from here, and why: frames of other origins, closed roots, canvases. */
  readonly unreachable?: readonly string[];
  /** Of a page that tells of itself (`window.__jay.automation`). */
  readonly viewState?: Json;
  readonly interactions?: Json;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [name: string]: Json };
  readonly category: "page-automation";
}

export interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly args: { readonly [name: string]: Json };
}

/** What came of an action: what it did and what changed in the page, or why it was not done. */
export type Outcome =
  | { readonly ok: true; readonly did: string; readonly changed: readonly string[]; readonly value?: Json }
  | { readonly ok: false; readonly error: string; readonly candidates?: readonly string[] };
