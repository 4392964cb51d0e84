/** The script for pages: it makes `<pollux-chat>` known, and puts one into a page that has none. */

import { recordedListeners, recordListeners } from "@pollux/automation";
import { isUnderWay } from "@pollux/client";
import { arrival } from "./arrival";
import { type Act, define, PolluxChat, type Wiring } from "./element";
import { late } from "./late";
import { pagePort } from "./page-port";
import { Person } from "./person";
import { ownTag, SETTINGS, type Tag } from "./script";
import { Talks } from "./talks";

/** When a page was left whose visitor was in the chat. */
const LEFT = "pollux-left";
const FOLLOWED_MS = 15_000;

// The second time there is nothing left to do, unless the page was written anew.
if (customElements.get("pollux-chat")) putInto(ownTag(document));
else start(ownTag(document));

function start(tag: Tag): void {
  // As early as can be: who listens for clicks cannot be asked later.
  recordListeners();
  const automation = late(tag.base, document, { listeners: recordedListeners() });
  // Before the chat keeps its keys to itself.
  const person = new Person(window, () => document.querySelector<PolluxChat>("pollux-chat")?.takeFocus());
  const shelf = shelfOf(window);
  const arrived = shelf && isUnderWay(shelf) ? arrival(window) : Promise.resolve();
  const page = pagePort(automation, window, person, arrived);
  const talks = new Talks<PolluxChat>({ base: tag.base, page, shelf });

  // Before any element hears of it: what the browser had kept is older than what is on the shelf.
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) talks.forget();
  });

  const connect = (chat: PolluxChat): Wiring => {
    const profile = chat.dataset.profile ?? tag.settings.profile ?? "";
    const userToken = chat.dataset.userToken ?? tag.script?.dataset.userToken ?? "";
    const conversation = talks.of(chat, profile, userToken);
    // Whoever goes to write will want it in a moment. If it cannot be had, sending tries again.
    return { conversation, locate, control, prepare: () => void automation().catch(() => {}) };
  };

  const control = (call: Act) => automation.there?.controlOf(call) ?? null;
  const locate = (ref: string): Element | null => control({ name: "", args: { ref } })?.element ?? null;

  define(connect);
  putInto(tag);
  followOn(person, shelf);
  if (tag.script)
    new MutationObserver(() => talks.chats.forEach(PolluxChat.renew)).observe(tag.script, {
      attributeFilter: ["data-user-token"],
    });
}

function putInto(tag: Tag): void {
  whenParsed(() => {
    if (!document.querySelector("pollux-chat")) put(tag);
  });
}

/** Beside the body, not in it: the page's own rules for its last child, its gaps and its grids go on as they were. */
function put({ settings }: Tag): void {
  const chat = document.createElement("pollux-chat");
  for (const name of SETTINGS) {
    const value = settings[name];
    // A user's token stays where it was written.
    if (value !== undefined && name !== "userToken") chat.dataset[name] = value;
  }
  document.documentElement.appendChild(chat);
}

/** Who was in the chat when the agent left the page for another one is in the chat there too. */
function followOn(person: Person, shelf: Storage | null): void {
  const left = Number(shelf?.getItem(LEFT));
  shelf?.removeItem(LEFT);
  if (left && Date.now() - left < FOLLOWED_MS)
    whenParsed(() => {
      const chat = document.querySelector<PolluxChat>("pollux-chat");
      chat?.open();
      chat?.takeFocus();
      person.watch();
    });
  window.addEventListener("pagehide", () => {
    if (person.isWatching) shelf?.setItem(LEFT, `${Date.now()}`);
  });
}

function whenParsed(act: () => void): void {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", act, { once: true });
  else act();
}

/** Where the conversation is kept, unless the browser forbids it. */
function shelfOf(window: Window): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
