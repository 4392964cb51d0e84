/** What can be done to a page, one function for each. They say what they did, and how to see whether it came true. */

import { activeIn, attributeOf, bodyOf, isConnected, nearest, ownerOf, tagOf } from "../dom";
import { parentOf } from "../frames";
import { Look } from "../look";
import { isPrivate, knownSecrets } from "../private";
import type { Refs } from "../refs";
import { isOn, roleOf, standsFor } from "../roles";
import { isOfPages } from "../settle";
import type { Json, Known } from "../types";
import { isOwn } from "../visible";
import { chooseIn } from "./choose";
import { viewOf } from "./events";
import { type Check, fieldOf, fill, isChecked } from "./fill";
import { focused, focusOn } from "./focus";
import { keyOf } from "./keys";
import { clickAt, moveTo } from "./pointer";
import { changesValue, press } from "./press";
import { aimOf, mustBeUsable, reached, resolve } from "./reach";
import { described, Refusal } from "./refusal";
import { scroll } from "./scroll";
import { isTyped } from "./typing";

export interface Page {
  readonly document: Document;
  readonly refs: Refs;
  /** The outline of one container, or of the page, from an entry on: as much as fits into one answer. */
  read(within?: Element, from?: number): readonly string[];
  /** Elements that are no part of the page. */
  isOwn?(element: Element): boolean;
}

export interface Done {
  readonly did: string;
  readonly check?: Check;
  readonly value?: Json;
  readonly notes?: readonly string[];
}

type Args = { readonly [name: string]: Json };
type Action = (page: Page, args: Args, signal?: AbortSignal) => Promise<Done> | Done;

/** What was acted on last: keys without a ref go there while the chat has the focus. */
let last: WeakRef<Element> | null = null;

export const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["click", click],
  ["fill", fillIn],
  ["select", select],
  ["press", pressKey],
  ["scroll", scrollTo],
  ["read", readMore],
]);

async function click({ refs }: Page, args: Args, signal?: AbortSignal): Promise<Done> {
  const ref = textArg(args, "ref");
  const { known, aim } = await reached(refs, ref, signal);
  const { element } = known;
  const control = standsFor(element) ?? element;
  mustBeClickable(control, element);
  mustBeAskedToPress(element, known);
  mustBeAsShown(refs, ref, element);
  moveTo(aim);
  // A page that answers to the pointer may have put something else there.
  const still = resolve(refs, ref);
  mustBeUsable(still.element);
  const was = isBox(control) ? isChecked(control) : null;
  clickAt(aimOf(still.element), args.double === true ? 2 : 1, () => mustBeStill(refs, ref));
  last = new WeakRef(element);
  const did = `${args.double === true ? "double-clicked" : "clicked"} ${described(element)}`;
  return { did, ...(was === null ? {} : { check: toggled(control, was) }), notes: notesOn(element) };
}

async function fillIn({ refs }: Page, args: Args, signal?: AbortSignal): Promise<Done> {
  const value = valueArg(args);
  const ref = textArg(args, "ref");
  const { known } = await reached(refs, ref, signal);
  const field = fieldOf(known.element);
  mustBeUsable(standsFor(known.element) ? known.element : field);
  mustBeAskedAbout(field, known);
  // Told neither now nor once the field is gone.
  if (isPrivate(field) && isTyped(field)) knownSecrets(ownerOf(field)).add(value.replace(/\s+/g, " ").trim());
  const check = await fill(field, value, () => mustBeStill(refs, ref), signal);
  last = new WeakRef(field);
  const shown = isPrivate(field) ? "the value" : `"${value.slice(0, 80)}"`;
  return { did: `filled ${described(known.element)} with ${shown}`, check: masked(check, field) };
}

async function select({ refs }: Page, args: Args, signal?: AbortSignal): Promise<Done> {
  const values = valuesArg(args);
  const ref = textArg(args, "ref");
  const { known } = await reached(refs, ref, signal);
  const field = fieldOf(known.element);
  mustBeAskedAbout(field, known);
  const check = await chooseIn(field, values, () => mustBeStill(refs, ref), signal);
  last = new WeakRef(field);
  const shown = isPrivate(field) ? "the value" : values.map((value) => `"${value.slice(0, 60)}"`).join(", ");
  return { did: `selected ${shown} in ${described(known.element)}`, check: masked(check, field) };
}

async function pressKey({ document, refs }: Page, args: Args, signal?: AbortSignal): Promise<Done> {
  const key = keyOf(textArg(args, "key"));
  const named =
    args.ref === undefined || args.ref === null ? null : await focusedBy(refs, textArg(args, "ref"), signal);
  const target = named?.target ?? whereKeysGo(document);
  // Of a key without a ref the server asks wherever the page has told of consequences.
  if (/^(Enter| )$/.test(key.key) && (named || !refs.isAskedAbout(target)))
    mustBeAskedToPress(target, named?.known ?? null, key.key);
  if (changesValue(target, key)) {
    mustBeAskedAbout(target, named?.known ?? null);
    if (!named) mustBeAskedToPress(target, null, key.key);
  }
  const did = `pressed ${textArg(args, "key")}${target === bodyOf(document) ? "" : ` in ${described(target)}`}`;
  press(ownerOf(target), key);
  return { did };
}

async function scrollTo({ document, refs }: Page, args: Args): Promise<Done> {
  const element = typeof args.ref === "string" ? resolve(refs, args.ref).element : null;
  const to = typeof args.to === "string" ? args.to : null;
  const did = scroll(document, element, to);
  return { did: element && to === null ? `${did}: ${described(element)}` : did };
}

function readMore({ refs, read }: Page, args: Args): Done {
  const element = typeof args.ref === "string" ? resolve(refs, args.ref).element : undefined;
  if (element && isPrivate(element)) throw new Refusal("it is private: what is in it is not told");
  const from = typeof args.from === "number" ? args.from : 0;
  const lines = read(element, from);
  return { did: element ? `read ${described(element)}` : "read the page", value: [...lines] };
}

/** Asked once the focus has come, which by itself may make a page put something else there. */
function mustBeStill(refs: Refs, ref: string): void {
  const found = refs.find(ref);
  if (!found.ok) throw new Refusal(`${found.reason} since it was touched, so it was left alone. Look again`);
}

/** The server asks the visitor by the ref that a call names: what lies behind another ref nobody was asked about. */
function mustBeAskedAbout(field: Element, known: Known | null): void {
  if (isPrivate(field) && !known?.isPrivate)
    throw new Refusal("that leads into a private field. Name the field itself, so that the visitor is asked");
}

/** The same of what has consequences: the button around a picture, or the form that Enter would send. */
function mustBeAskedToPress(element: Element, known: Known | null, key = "click"): void {
  if (known?.consequence === "press" || (known?.consequence && key !== "click")) return;
  const look = new Look(ownerOf(element));
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const consequence = look.isControl(at) ? look.consequence(at) : null;
    if (consequence === "press" || (consequence === "enter" && at === element && key === "Enter"))
      throw new Refusal(
        `that would press ${described(at)}, which has consequences. Name it, so that the visitor is asked`,
      );
    if (look.isControl(at) && consequence === null && at !== element) return;
  }
}

/** Somebody else switched it meanwhile: a press would only undo that. */
function mustBeAsShown(refs: Refs, ref: string, element: Element): void {
  const [was, now] = [refs.wasOn(ref), isOn(element)];
  if (was === null || now === null || was === now) return;
  const role = roleOf(element);
  const word = role === "checkbox" || role === "switch" || role === "radio" ? "on" : "pressed or open";
  throw new Refusal(
    `it is ${now ? "" : "no longer "}${word} now, and was ${was ? "" : "not "}when you saw it: a press would undo what was done meanwhile. Look again`,
  );
}

function mustBeClickable(control: Element, element: Element): void {
  const input = control as HTMLInputElement;
  const opensFiles = tagOf(control) === "input" && input.type === "file";
  if (opensFiles && !viewOf(element).navigator.userActivation?.isActive)
    throw new Refusal("files are chosen by the visitor alone. Ask them to click here");
  if (isBox(control) && isPrivate(control))
    throw new Refusal("it is private. Use fill with true or false, so that the visitor is asked");
}

function isBox(element: Element): boolean {
  return tagOf(element) === "input" && /^(checkbox|radio)$/.test((element as HTMLInputElement).type);
}

function toggled(box: Element, was: boolean): Check {
  const isRadio = (box as HTMLInputElement).type === "radio";
  const wanted = isRadio || !was;
  return () => {
    if (!isConnected(box) || isChecked(box) === wanted) return null;
    return `it is still ${was ? "checked" : "not checked"}`;
  };
}

/** What is in a private field is not told either where it went wrong. */
function masked(check: Check, field: Element): Check {
  return () => {
    if (!isConnected(field)) return null;
    const wrong = check();
    return wrong !== null && isPrivate(field) ? "it holds something else now" : wrong;
  };
}

function notesOn(element: Element): string[] {
  const link = nearest(element, "a[target], area[target], form[target]");
  const target = (link && attributeOf(link, "target")) ?? "";
  if (/^_blank$/i.test(target))
    return ["it opens in another tab, which the browser may have kept from opening"];
  const program = programOf(element);
  return program ? [`it is for another program (${program}), which the browser may have opened`] : [];
}

/** By which scheme a link is handed to another program, if it is. */
function programOf(element: Element): string {
  const link = nearest(element, "a[href], area[href]");
  const scheme = /^\s*([a-z][a-z0-9+.-]*:)/i.exec((link && attributeOf(link, "href")) ?? "")?.[1] ?? "";
  return scheme && !isOfPages(scheme) ? scheme.toLowerCase() : "";
}

/** What the page itself gave the focus to is what comes next, also once the focus is elsewhere. */
export function remember(document: Document): void {
  const there = focused(document);
  if (there && there !== bodyOf(document)) last = new WeakRef(there);
}

function whereKeysGo(document: Document): Element {
  const there = focused(document);
  if (there) return there;
  const before = last?.deref();
  const active = activeIn(document);
  const isInChat = active !== null && isOwn(active);
  if (isInChat && before && isConnected(before) && focusOn(before)) return before;
  return bodyOf(document);
}

async function focusedBy(
  refs: Refs,
  ref: string,
  signal?: AbortSignal,
): Promise<{ known: Known; target: Element }> {
  const { known } = await reached(refs, ref, signal);
  const target = standsFor(known.element) ?? known.element;
  if (!focusOn(target))
    throw new Refusal("it does not take the focus, so it gets no keys. Click on it instead");
  mustBeStill(refs, ref);
  last = new WeakRef(target);
  return { known, target: focused(ownerOf(target)) ?? target };
}

function textArg(args: Args, name: string): string {
  const value = args[name];
  if (typeof value === "string" && value !== "") return value;
  throw new Refusal(
    `expected \`${name}\` to be a text, found ${value === undefined ? "nothing" : typeof value}`,
  );
}

function valueArg(args: Args): string {
  const { value } = args;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Refusal("expected `value` to be a text, a number, true or false");
}

function valuesArg(args: Args): string[] {
  const given = args.values ?? args.value;
  const list = Array.isArray(given) ? given : [given];
  return list.map((value) => valueArg({ value: value ?? null }));
}
