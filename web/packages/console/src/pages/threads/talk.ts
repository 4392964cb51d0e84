/** One conversation as this page knows it: what was said before, and each run that it follows since.
 *
 * The last run is always read from its journal, also when it is over, and so are all that begin while somebody looks,
 * here or elsewhere. Messages tell only what came before those: nothing is shown twice. */

import type { MessagePage, RunPage, RunView, ThreadAnswer, ThreadView } from "@pollux/protocol";
import { door, isStopped, Refusal } from "../../door";
import { signalled } from "../../parts/signal";
import { forgetSent, keyOf, NEW } from "./draft";
import { type Picked, written } from "./files";
import { follow } from "./following";
import { type Past, withPage } from "./history";
import { begin } from "./sending";
import { isResting, type Story, storyOf } from "./story";

export interface TalkState {
  readonly thread: ThreadView | null;
  readonly isLoaded: boolean;
  readonly past: Past;
  /** Oldest first. */
  readonly stories: readonly Story[];
  /** The last of them that was begun here. */
  readonly own: string;
  /** What the server says of runs that have ended: tokens, costs. By run. */
  readonly ended: Readonly<Record<string, RunView>>;
  readonly isLost: boolean;
  readonly isSending: boolean;
  /** What went wrong in reading. */
  readonly problem: unknown;
  /** What went wrong in sending. */
  readonly refusal: unknown;
}

export interface Prompt {
  readonly text: string;
  readonly files: readonly Picked[];
  readonly profile: string;
  /** Stop what is under way. */
  readonly supersede?: boolean;
}

const NOTHING: TalkState = {
  ...{ thread: null, isLoaded: false, past: { messages: [], next: null }, stories: [], own: "", ended: {} },
  ...{ isLost: false, isSending: false, problem: null, refusal: null },
};
const PAGE = 30;
/** More than these at once, and everything is read anew. */
const MOST_NEWS = 5;

let talks = 0;

export class Talk {
  /** Nobody else's, also before it has an id. */
  readonly key = ++talks;
  readonly state = signalled<TalkState>(NOTHING);
  readonly #over = new AbortController();
  readonly #followed = new Set<string>();
  /** When a run had last changed as we began to follow it. */
  readonly #changedAt = new Map<string, string>();
  #isLooking = false;

  constructor(public threadId: string | null) {
    if (threadId === null) this.#set({ isLoaded: true });
  }

  /** Read it from the server. */
  async open(): Promise<void> {
    if (this.threadId === null) return;
    this.#set({ problem: null });
    try {
      const [, runs] = await Promise.all([this.#readThread(), this.#runs(1)]);
      const last = runs.items[0];
      if (last) await this.#join(last.runId, last.updatedAt);
      else await this.#readPast();
      this.#set({ isLoaded: true });
    } catch (problem) {
      this.#failed(problem);
    }
  }

  /** Whether something new is there, begun here or elsewhere. */
  async look(): Promise<void> {
    const { isLoaded, problem } = this.state.get();
    if (this.threadId === null || this.#isLooking) return;
    if (!isLoaded) return problem ? this.open() : undefined;
    this.#isLooking = true;
    try {
      const { items } = await this.#runs(MOST_NEWS);
      const { stories } = this.state.get();
      const at = items.findIndex(({ runId }) => stories.some((story) => story.runId === runId));
      // So much happened that it does not hang together any more.
      if (at < 0 && stories.length > 0) return this.#anew();
      const news = items.slice(0, at < 0 ? items.length : at).reverse();
      for (const { runId, updatedAt } of news) void this.#join(runId, updatedAt).catch(this.#failed);
      for (const { runId, updatedAt } of items) {
        const story = this.#story(runId);
        if (story && isResting(story) && this.#changedAt.get(runId) !== updatedAt)
          this.#follow(story, updatedAt);
      }
      if (this.state.get().problem) this.#set({ problem: null });
    } catch (problem) {
      // That the server is gone is said above; what was read stays.
      if (!(problem instanceof Refusal && problem.status === 0)) this.#failed(problem);
    } finally {
      this.#isLooking = false;
    }
  }

  /** A question of this run was answered: it goes on. */
  goOn(runId: string): void {
    const story = this.#story(runId);
    if (story && !story.ending) this.#follow(story);
  }

  /** Say something. Settles with whether it was taken; where not, `refusal` says why. */
  async send({ text, files, profile, supersede = false }: Prompt): Promise<boolean> {
    if (this.state.get().isSending) return false;
    this.#set({ isSending: true, refusal: null });
    const draft = this.threadId ?? NEW;
    const what = JSON.stringify([text, files.map(named), profile, supersede]);
    try {
      const attached = await written(files);
      const begun = await begin({
        body: {
          prompt: text,
          ...(this.threadId && { threadId: this.threadId }),
          ...(profile && { profile }),
          ...(supersede && { supersede }),
          ...attached,
        },
        key: keyOf(draft, what),
        signal: this.#over.signal,
        onTrouble: () => this.#set({ isLost: true }),
      });
      forgetSent(draft);
      this.threadId = begun.threadId;
      this.#set({ isSending: false, isLost: false, own: begun.runId });
      void this.#join(begun.runId).catch(this.#failed);
      if (!this.state.get().thread) void this.#readThread().catch(this.#failed);
      return true;
    } catch (problem) {
      // What was sent before and what is sent now are not the same after all.
      if (problem instanceof Refusal && problem.code === "idempotency_mismatch") forgetSent(draft);
      if (!isStopped(problem)) this.#set({ isSending: false, isLost: false, refusal: problem });
      return false;
    }
  }

  async stop(runId: string): Promise<void> {
    await door.post(`/api/agent/runs/${encodeURIComponent(runId)}/cancel?wait=0`);
    this.goOn(runId);
  }

  /** What was said before that which is shown. */
  async earlier(): Promise<void> {
    const { past } = this.state.get();
    try {
      if (past.next) await this.#readPast(past.next);
    } catch (problem) {
      this.#failed(problem);
    }
  }

  forgetRefusal(): void {
    this.#set({ refusal: null });
  }

  rename(thread: ThreadView): void {
    this.#set({ thread });
  }

  /** Nobody looks any more. */
  close(): void {
    this.#over.abort();
  }

  get #path(): string {
    return `/api/agent/threads/${encodeURIComponent(this.threadId ?? "")}`;
  }

  #runs(limit: number): Promise<RunPage> {
    return door.get<RunPage>("/api/agent/runs", { threadId: this.threadId, limit }, this.#over.signal);
  }

  async #readThread(): Promise<void> {
    const { thread } = await door.get<ThreadAnswer>(this.#path, {}, this.#over.signal);
    this.#set({ thread });
  }

  #anew(): Promise<void> {
    this.#set({ stories: [], past: NOTHING.past, isLoaded: false });
    return this.open();
  }

  #story(runId: string): Story | undefined {
    return this.state.get().stories.find((story) => story.runId === runId);
  }

  /** Show this run too. Settles when its beginning is there, and what was said before. */
  async #join(runId: string, updatedAt = ""): Promise<void> {
    if (this.#story(runId)) return;
    const story = storyOf(runId);
    this.#set({ stories: [...this.state.get().stories, story] });
    const isFirst = this.state.get().stories.length === 1 && !this.state.get().isLoaded;
    const begun = this.#follow(story, updatedAt);
    const { head } = await begun;
    // One more than is shown: the prompt's own files are named there.
    if (isFirst && head !== null) await this.#readPast(`${head + 2}`);
    else await this.#readPrompt(head);
  }

  /** Follow a run until there is nothing to hear. Settles with its first line. */
  #follow(story: Story, updatedAt = ""): Promise<Story> {
    const { runId } = story;
    this.#changedAt.set(runId, updatedAt);
    if (this.#followed.has(runId)) return Promise.resolve(story);
    this.#followed.add(runId);
    return new Promise((resolve, reject) => {
      follow(story, {
        signal: this.#over.signal,
        onTold: (next) => {
          this.#put(next);
          if (next.head !== null) resolve(next);
        },
        onLost: (isLost) => this.state.get().isLost !== isLost && this.#set({ isLost }),
      })
        .then((last) => this.#heard(last))
        .catch((problem: unknown) => {
          this.#failed(problem);
          reject(problem);
        })
        .finally(() => this.#followed.delete(runId));
    });
  }

  async #heard({ runId, ending }: Story): Promise<void> {
    if (!ending) return;
    const run = await door.get<RunView>(
      `/api/agent/runs/${encodeURIComponent(runId)}`,
      {},
      this.#over.signal,
    );
    this.#set({ ended: { ...this.state.get().ended, [runId]: run } });
  }

  async #readPast(before?: string): Promise<void> {
    const page = await this.#messages(PAGE, before);
    this.#set({ past: withPage(this.state.get().past, page) });
  }

  /** The message that a run began with, for the sake of its files. */
  async #readPrompt(head: number | null): Promise<void> {
    if (head === null || !this.state.get().stories.some((story) => story.head === head && story.files.length))
      return;
    const { items } = await this.#messages(1, `${head + 2}`);
    const { past } = this.state.get();
    this.#set({ past: withPage(past, { ok: true, items, next: past.next }) });
  }

  #messages(limit: number, before?: string): Promise<MessagePage> {
    return door.get<MessagePage>(`${this.#path}/messages`, { limit, before }, this.#over.signal);
  }

  #put(story: Story): void {
    const { stories } = this.state.get();
    this.#set({ stories: stories.map((old) => (old.runId === story.runId ? story : old)) });
  }

  #set(change: Partial<TalkState>): void {
    if (!this.#over.signal.aborted) this.state.set({ ...this.state.get(), ...change });
  }

  #failed = (problem: unknown): void => {
    if (!isStopped(problem) && !this.#over.signal.aborted) this.#set({ problem });
  };
}

function named({ file: { name, size, lastModified } }: Picked): readonly unknown[] {
  return [name, size, lastModified];
}
