/** One of several: options of a list, radios of a group, entries of what a combobox opens. By what is written there. */

import {
  allIn,
  attributeOf,
  byId,
  isConnected,
  isElement,
  nearest,
  ownerOf,
  rootOf,
  tagOf,
  textContentOf,
} from "../dom";
import { contentOf, rootsOf } from "../frames";
import { nameOf } from "../names";
import { natives } from "../natives";
import { roleOf } from "../roles";
import { settled } from "../settle";
import { fold } from "../text";
import { isDisabled, isVisible } from "../visible";
import { aimAt, bringIntoView } from "./aim";
import { emitChange, emitInput } from "./events";
import { focusOn } from "./focus";
import { clickAt, moveTo } from "./pointer";
import { Refusal, unlessStopped } from "./refusal";

type Check = () => string | null;

const MOST_TOLD = 20;

/** Throws a Refusal where there is no such choice, or more than one; nothing is chosen then. */
export async function chooseIn(
  element: Element,
  values: readonly string[],
  mustBeStill: () => void,
  signal?: AbortSignal,
): Promise<Check> {
  if (tagOf(element) === "select") return inSelect(element as HTMLSelectElement, values, mustBeStill);
  const [value] = values;
  const role = roleOf(element);
  if (
    role === "radiogroup" ||
    role === "listbox" ||
    role === "combobox" ||
    attributeOf(element, "aria-haspopup")
  ) {
    if (value === undefined || (values.length > 1 && attributeOf(element, "aria-multiselectable") !== "true"))
      throw new Refusal(`it takes one value, found ${values.length}`);
    return await inWidget(element, values, signal);
  }
  throw new Refusal(`a ${role || tagOf(element)} holds nothing to select from. Click on it instead`);
}

function inSelect(select: HTMLSelectElement, values: readonly string[], mustBeStill: () => void): Check {
  if (!select.multiple && values.length !== 1)
    throw new Refusal(`it takes one value, found ${values.length}`);
  const options = [...select.options];
  const wanted = new Set(
    values.map((value) => only(options, value, (option) => [option.label || option.text, option.value])),
  );
  for (const option of wanted) {
    const group = nearest(option, "optgroup");
    if (option.disabled || (group as HTMLOptGroupElement | null)?.disabled)
      throw new Refusal(`"${fold(option.text)}" is disabled`);
  }
  focusOn(select);
  mustBeStill();
  if (options.some((option) => option.selected !== wanted.has(option))) {
    for (const option of options) {
      // Of a list with one choice, choosing one takes back the others.
      if (select.multiple || wanted.has(option)) natives().setSelected(option, wanted.has(option));
    }
    emitInput(select);
    emitChange(select);
  }
  // The page may have written its options anew: then the texts count.
  const texts = [...wanted].map((option) => option.value).sort();
  return () => {
    const selected = [...select.selectedOptions];
    if (
      selected
        .map((option) => option.value)
        .sort()
        .join("\n") === texts.join("\n")
    )
      return null;
    return `selected is ${selected.map((option) => `"${fold(option.text)}"`).join(", ") || "nothing"}`;
  };
}

async function inWidget(
  element: Element,
  values: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Check> {
  const wasOpen = entriesOf(element).length > 0;
  if (!wasOpen) await open(element);
  unlessStopped(signal);
  const entries = entriesOf(element);
  if (entries.length === 0) throw new Refusal("nothing to select from came up. Click on it, and look again");
  const chosen = values.map((value) =>
    only(entries, value, (entry) => [nameOf(entry), attributeOf(entry, "data-value") ?? ""]),
  );
  const before = stateOf(element, chosen);
  for (const entry of chosen) {
    if (isDisabled(entry)) throw new Refusal(`"${nameOf(entry)}" is disabled`);
    press(entry);
  }
  return () => {
    const isChosen = chosen.every((entry) => isConnected(entry) && isOn(entry));
    const shown = shownBy(element);
    if (isChosen || values.every((value) => shown.includes(value.toLowerCase()))) return null;
    // What says nothing of its choice can only be seen to have done something.
    return stateOf(element, chosen) !== before ? null : `it shows "${shown.slice(0, 80)}"`;
  };
}

async function open(element: Element): Promise<void> {
  await settled(ownerOf(element), () => press(element));
}

function press(element: Element): void {
  bringIntoView(element);
  const aim = aimAt(element);
  moveTo(aim);
  clickAt(aim);
}

/** What can be chosen now: inside the element, or in what it says it controls, or in the only list that is open. */
function entriesOf(element: Element): Element[] {
  const ids = ["aria-controls", "aria-owns"].flatMap((name) =>
    (attributeOf(element, name) ?? "").split(/\s+/),
  );
  const root = rootOf(element);
  const named = ids.filter(Boolean).map((id) => byId(root, id));
  for (const holder of [element, ...named]) {
    const entries = holder ? entriesIn(holder) : [];
    if (entries.length) return entries;
  }
  if (attributeOf(element, "aria-expanded") === "false") return [];
  const lists = [...rootsOf(ownerOf(element))].flatMap((each) => [
    ...allIn(each, "[role=listbox], [role=menu], [role=tree]"),
  ]);
  const open = lists.filter((list) => isVisible(list) && entriesIn(list).length > 0);
  return open.length === 1 && open[0] ? entriesIn(open[0]) : [];
}

function entriesIn(holder: Element): Element[] {
  const found: Element[] = [];
  const walk = (at: Element) => {
    for (const node of contentOf(at)) {
      if (!isElement(node)) continue;
      const inside = node as Element;
      if (/^(option|radio|menuitem|menuitemradio|menuitemcheckbox|treeitem)$/.test(roleOf(inside))) {
        if (isVisible(inside)) found.push(inside);
      } else walk(inside);
    }
  };
  walk(holder);
  return found;
}

/** The one entry that is called so: exactly, or but for case and spaces. Never one that merely resembles it. */
function only<Entry>(
  entries: readonly Entry[],
  value: string,
  names: (entry: Entry) => readonly string[],
): Entry {
  const folded = fold(value).toLowerCase();
  const tests: ((name: string) => boolean)[] = [
    (name) => fold(name) === fold(value),
    (name) => fold(name).toLowerCase() === folded,
  ];
  for (const place of [0, 1]) {
    for (const isIt of tests) {
      const found = entries.filter((entry) => isIt(names(entry)[place] ?? ""));
      if (found.length === 1 && found[0] !== undefined) return found[0];
      if (found.length > 1)
        throw new Refusal(
          `${found.length} choices are called "${value.slice(0, 60)}". Click on the one that is meant`,
        );
    }
  }
  const there = entries.slice(0, MOST_TOLD).map((entry) => `"${fold(names(entry)[0] ?? "").slice(0, 60)}"`);
  const more = entries.length > MOST_TOLD ? ` and ${entries.length - MOST_TOLD} more` : "";
  throw new Refusal(`there is no "${value.slice(0, 60)}". There is ${there.join(", ") || "nothing"}${more}`);
}

function isOn(entry: Element): boolean {
  if (tagOf(entry) === "input") return (entry as HTMLInputElement).checked;
  return ["aria-selected", "aria-checked"].some((name) => attributeOf(entry, name) === "true");
}

function shownBy(element: Element): string {
  const value = tagOf(element) === "input" ? natives().value(element as HTMLInputElement) : "";
  return fold(value || textContentOf(element) || "").toLowerCase();
}

function stateOf(element: Element, entries: readonly Element[]): string {
  return [
    shownBy(element),
    attributeOf(element, "aria-activedescendant"),
    ...entries.map((each) => isOn(each)),
  ].join("\n");
}
