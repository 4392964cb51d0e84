/** `<pollux-chat>`: what it knows, what it can be told, and what it shows. Everything drawn is in its shadow. */

import {
  type ChatMessage,
  type ChatState,
  type Conversation,
  type Decision,
  type Json,
  LONGEST_MESSAGE,
} from "@pollux/client";
import type { Question } from "@pollux/protocol";
import { createRef, render } from "preact";
import { Highlight } from "./highlight";
import { asPressed, keepKeysFrom, keepKeysIn } from "./keys";
import { Stage } from "./stage";
import { type Strings, stringsFor, worded } from "./strings";
import css from "./style.css";
import { Chat } from "./view/chat";

export interface Act {
  readonly name: string;
  readonly args: { readonly [name: string]: Json };
}

/** What a chat talks through, and how it finds the controls that are talked about. */
export interface Wiring {
  readonly conversation: Conversation;
  readonly locate?: (ref: string) => Element | null;
  /** The control that a call of the page's acts upon, and what it is called. */
  readonly control?: (call: Act) => { readonly name: string; readonly element: Element } | null;
  /** The visitor is about to say something. */
  readonly prepare?: () => void;
}

export type Connect = (chat: PolluxChat) => Wiring;

const NOTHING: ChatState = { messages: [], isLoading: false, error: null, approvals: [], activity: [] };

/** Events of the keyboard and of focus that are no business of the page's: its shortcuts are not for our field. */
const OURS = [
  "keydown",
  "keyup",
  "keypress",
  "beforeinput",
  "input",
  "paste",
  "copy",
  "cut",
  "focusin",
  "focusout",
];

let connect: Connect | null = null;
let sheet: CSSStyleSheet | null = null;

export class PolluxChat extends HTMLElement {
  static readonly observedAttributes = [
    ...["data-mode", "data-lang", "data-theme", "data-placement", "data-user-token", "hidden"],
  ];

  readonly #root: HTMLElement;
  readonly #highlight: Highlight;
  readonly #stage: Stage;
  /** Keeps the place of a chat in the page while it is shown above. */
  readonly #hole: HTMLElement;
  readonly #field = createRef<HTMLTextAreaElement>();
  #wiring: Wiring | null = null;
  #unsubscribe: (() => void) | null = null;
  #chat = NOTHING;
  #own: Partial<Strings> = {};
  #strings = stringsFor("");
  #draft = "";
  #isOpen = true;
  #isExpanded = false;
  /** Whether a chat that lies in the page is shown above it, because its question could not be seen there. */
  #isLifted = false;
  #isTold = true;
  #frame = 0;
  /** Those who wait to say something until nothing is under way. True: it is their turn to look. */
  #waiting: ((mayLook: boolean) => void)[] = [];

  constructor() {
    super();
    const shadow = this.attachShadow({ mode: "open" });
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    shadow.adoptedStyleSheets = [sheet];
    this.#root = this.ownerDocument.createElement("div");
    this.#root.className = "root";
    for (const type of OURS) this.#root.addEventListener(type, (event) => event.stopPropagation());
    this.#root.addEventListener("keydown", this.#pressed);
    keepKeysIn(this.#root);
    this.#root.addEventListener("focusin", () => this.#wiring?.prepare?.(), { once: true });
    shadow.appendChild(this.#root);
    this.#hole = this.ownerDocument.createElement("div");
    this.#stage = new Stage(this, shadow, this.#root, {
      // What lies in the page is out of use with the page, unless somebody is needed.
      mayLeave: () => this.#isFloating || this.#isBusy,
      leaving: () => this.#keepPlace(!this.#isFloating),
      moved: () => this.#place(),
    });
    this.#highlight = new Highlight(shadow);
  }

  // The chat as the contract tells it.

  get messages(): readonly ChatMessage[] {
    return this.#chat.messages;
  }

  get hasMessages(): boolean {
    return this.#chat.messages.length > 0;
  }

  get lastUserMessage(): string {
    return this.#last("user");
  }

  get lastAssistantMessage(): string {
    return this.#last("assistant");
  }

  get isLoading(): boolean {
    return this.#chat.isLoading;
  }

  get hasError(): boolean {
    return this.#chat.error !== null;
  }

  get errorMessage(): string {
    const { error } = this.#chat;
    return error ? worded(this.#strings, error.code, error.message) : "";
  }

  get error(): string {
    return this.errorMessage;
  }

  get messageInput(): string {
    return this.#draft;
  }

  set messageInput(text: string) {
    this.#draft = String(text);
    this.#changed();
  }

  get isExpanded(): boolean {
    return this.#isExpanded;
  }

  /** Say what is written, or `text`, which waits while something is under way, until that is stopped. */
  async sendMessage(text = this.#draft): Promise<void> {
    if (text.trim() === "") return;
    while (this.#isBusy)
      if (text === this.#draft || !(await new Promise<boolean>((look) => this.#waiting.push(look)))) return;
    if (!this.#wiring) return;
    // What is too long is not sent: it stays, to be said in parts.
    if (text === this.#draft && [...text].length <= LONGEST_MESSAGE) this.#draft = "";
    const sent = this.#wiring.conversation.send(text.trim());
    this.#changed();
    await sent;
  }

  toggleExpand(): void {
    this.#isExpanded = !this.#isExpanded;
    this.#changed();
    this.#draw();
  }

  // What else it can be told.

  /** Have the focus where the visitor writes. */
  takeFocus(): void {
    this.#draw();
    (this.#field.current ?? this.#root.querySelector("button"))?.focus();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#setOpen(true);
  }

  close(): void {
    this.#setOpen(false);
  }

  async stop(): Promise<void> {
    this.#callUp(false);
    await this.#wiring?.conversation.stop();
  }

  async retry(): Promise<void> {
    await this.#wiring?.conversation.retry();
  }

  clear(): void {
    this.#callUp(false);
    this.#wiring?.conversation.clear();
  }

  /** Words of the page's own, for some or all of ours. */
  get strings(): Strings {
    return this.#strings;
  }

  set strings(own: Partial<Strings>) {
    this.#own = { ...own };
    this.#read();
  }

  connectedCallback(): void {
    this.#takeEarly("strings");
    this.#takeEarly("messageInput");
    if (!this.#wiring) {
      this.#isExpanded = this.dataset.mode === "full";
      this.#isOpen = !this.#isFloating || this.dataset.launcher !== "closed";
    }
    this.#listen();
    window.addEventListener("pageshow", this.#shownAgain);
    this.#read();
    this.#draw();
    this.#stage.open();
    this.#stage.follow();
  }

  disconnectedCallback(): void {
    this.#callUp(false);
    window.removeEventListener("pageshow", this.#shownAgain);
    this.#stage.close();
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#highlight.hide();
    render(null, this.#root);
  }

  attributeChangedCallback(name: string): void {
    if (name === "data-mode") this.#isExpanded = this.dataset.mode === "full";
    if (!this.isConnected) return;
    if (name === "data-user-token") this.#reconnect();
    this.#read();
  }

  /** The page says that somebody else is there now, or the same person with a new token. */
  static renew(chat: PolluxChat): void {
    if (chat.isConnected) chat.#reconnect();
  }

  #reconnect(): void {
    const wiring = connect?.(this) ?? null;
    if (wiring?.conversation === this.#wiring?.conversation) return;
    this.#callUp(false);
    this.#unsubscribe?.();
    this.#wiring = null;
    // Nor what the other person was about to say.
    this.#draft = "";
    this.#listen();
  }

  /** Wire it up where it is not, and hear what is said. */
  #listen(): void {
    if (!this.#wiring) {
      this.#wiring = connect?.(this) ?? null;
      void quietly(this.#wiring?.conversation.resume());
    }
    const conversation = this.#wiring?.conversation;
    if (!conversation) return;
    this.#unsubscribe = conversation.subscribe((chat) => this.#hear(chat));
    this.#hear(conversation.state);
  }

  /** The visitor came back to a page that the browser had kept: the conversation went on without it. */
  #shownAgain = ({ persisted }: PageTransitionEvent): void => {
    if (!persisted) return;
    this.#unsubscribe?.();
    this.#wiring = null;
    this.#listen();
  };

  /** Whether it lies above the page rather than in it. */
  get #isFloating(): boolean {
    return this.dataset.placement !== "inline";
  }

  get #isBusy(): boolean {
    return this.#chat.isLoading || this.#chat.approvals.length > 0;
  }

  /** What a question of the page's is about, as the page is now. */
  #controlOf({ tool, args }: Question): ReturnType<NonNullable<Wiring["control"]>> {
    return this.#wiring?.control?.({ name: tool, args: args as Act["args"] }) ?? null;
  }

  #canSend(text: string): boolean {
    return text.trim() !== "" && !this.#chat.isLoading && this.#chat.approvals.length === 0;
  }

  #last(role: ChatMessage["role"]): string {
    return this.#chat.messages.findLast((message) => message.role === role)?.content ?? "";
  }

  #setOpen(isOpen: boolean): void {
    if (isOpen === this.#isOpen || !this.#isFloating) return;
    // Focus stays where the visitor is; when that was with us, it stays with us.
    const isHere = this.#stage.focused !== null;
    this.#isOpen = isOpen;
    this.#changed();
    this.#draw();
    if (isHere) (isOpen ? this.#field.current : this.#root.querySelector("button"))?.focus();
  }

  /** What the page set on the element before it was one. */
  #takeEarly(name: "strings" | "messageInput"): void {
    if (!Object.hasOwn(this, name)) return;
    const early = this[name];
    Reflect.deleteProperty(this, name);
    Reflect.set(this, name, early);
  }

  #read(): void {
    const language = this.dataset.lang || this.closest("[lang]")?.getAttribute("lang") || navigator.language;
    this.#strings = { ...stringsFor(language), ...this.#own };
    this.#changed();
  }

  #hear(chat: ChatState): void {
    const before = this.#chat;
    this.#chat = chat;
    const step = chat.activity.findLast(
      ({ status, isOnPage, ref }) => status === "running" && isOnPage && ref,
    );
    const asked = chat.approvals.find(({ onPage }) => onPage);
    const control = (asked && this.#controlOf(asked)?.element) ?? null;
    const isNew = this.#highlight.point((step?.ref && this.#wiring?.locate?.(step.ref)) || control);
    // What is asked about is seen, and lies under the question, not over it.
    if (isNew && control) {
      control.scrollIntoView({ block: "nearest", behavior: "instant" });
      this.#stage.raise();
    }
    // A question that nobody sees would only expire.
    if (chat.approvals.length > before.approvals.length && this.#isFloating) this.#isOpen = true;
    if (chat.approvals.length === 0) this.#isLifted = false;
    // What has just ended is not quite over yet.
    if (this.#waiting.length > 0) window.setTimeout(() => this.#isBusy || this.#callUp(true));
    if (this.#stage.isBlocked && !this.#stage.isAway) this.#stage.follow();
    this.#changed();
  }

  /** Let those who wait to say something look, or leave it. The first of them makes it busy again. */
  #callUp(mayLook: boolean): void {
    for (const look of this.#waiting.splice(0)) look(mayLook);
  }

  /** Tell whoever listens once for all that changes now, and draw with the next picture. */
  #changed(): void {
    if (!this.isConnected) return;
    this.#frame ||= requestAnimationFrame(this.#draw);
    if (!this.#isTold) return;
    this.#isTold = false;
    queueMicrotask(() => {
      this.#isTold = true;
      this.dispatchEvent(new CustomEvent("pollux-change"));
    });
  }

  #draw = (): void => {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.isConnected) return;
    this.#place();
    const asked = this.#root.querySelectorAll(".approval").length;
    const isHere = this.#stage.focused !== null;
    render(
      <Chat
        chat={this.#chat}
        strings={this.#strings}
        draft={this.#draft}
        isOpen={this.#isOpen}
        isExpanded={this.#isExpanded}
        isFloating={this.#isFloating}
        canSend={this.#canSend(this.#draft)}
        field={this.#field}
        onInput={(draft) => {
          this.messageInput = draft;
        }}
        onSend={() => {
          void quietly(this.sendMessage());
          this.#field.current?.focus();
        }}
        onStop={this.#stopped}
        onRetry={() => void quietly(this.retry())}
        onClear={() => {
          this.clear();
          this.#field.current?.focus();
        }}
        onExpand={() => this.toggleExpand()}
        onOpen={() => this.open()}
        onClose={() => this.close()}
        nameOf={(question) => this.#controlOf(question)?.name ?? ""}
        onAnswer={this.#answered}
        onRaise={this.#raise}
      />,
      this.#root,
    );
    this.#moveFocus(asked, isHere);
  };

  #place(): void {
    const root = this.#root;
    const language = this.dataset.lang ?? "";
    root.dataset.theme = this.dataset.theme ?? "";
    root.dir = this.closest("[dir]")?.getAttribute("dir") === "rtl" ? "rtl" : "ltr";
    if (language) root.lang = language;
    const isAbove = this.#isFloating || this.#isLifted || this.#stage.isAway;
    this.#keepPlace(isAbove && !this.#isFloating);
    root.dataset.placement = isAbove ? "corner" : "inline";
    // In the top layer nothing of the page covers it, whatever its z-index.
    root.popover = isAbove ? "manual" : null;
    if (isAbove && root.isConnected && !root.matches(":popover-open")) root.showPopover();
    this.#stage.dress();
  }

  /** The page around a chat that is shown above it stays as it was. */
  #keepPlace(isAbove: boolean): void {
    if (isAbove === this.#hole.isConnected) return;
    if (!isAbove) return void this.#hole.parentNode?.removeChild(this.#hole);
    this.#hole.style.setProperty("block-size", `${this.getBoundingClientRect().height}px`);
    this.shadowRoot?.appendChild(this.#hole);
  }

  /** Above all that the page laid over it. */
  #raise = (isWanted: boolean): void => {
    if (isWanted && !this.#isFloating) this.#isLifted = true;
    this.#place();
    this.#stage.raise();
  };

  /** To Deny when a question comes up, and back to the field after the last; never away from the page. */
  #moveFocus(asked: number, wasHere: boolean): void {
    const denials = this.#root.querySelectorAll<HTMLButtonElement>('.deny[aria-disabled="false"]');
    const isHere = this.#stage.focused !== null;
    const isWriting = this.#draft !== "" && isHere;
    if (denials.length > 0 && wasHere && !isWriting && (denials.length > asked || !isHere))
      denials[0]?.focus();
    else if (wasHere && !isHere) (this.#field.current ?? this.#root.querySelector("button"))?.focus();
  }

  #answered = (question: Question, decision: Decision): Promise<void> =>
    quietly(this.#wiring?.conversation.resolve(question.id, decision));

  #stopped = (): void => {
    void quietly(this.stop());
    this.#field.current?.focus();
  };

  #pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || asPressed(event).isComposing || event.defaultPrevented) return;
    // With nothing to stop or to close here, it is the page's.
    if (!this.#chat.isLoading && !(this.#isOpen && this.#isFloating)) return;
    event.preventDefault();
    if (this.#chat.isLoading) this.#stopped();
    else this.close();
  };
}

/** What went wrong is in the conversation's state: the page's console has nothing to do with it. */
async function quietly(act: Promise<void> | undefined): Promise<void> {
  try {
    await act;
  } catch {}
}

/** Make `<pollux-chat>` known to the page, unless it is already. */
export function define(how: Connect): void {
  if (customElements.get("pollux-chat")) return;
  connect = how;
  keepKeysFrom(window);
  customElements.define("pollux-chat", PolluxChat);
}
