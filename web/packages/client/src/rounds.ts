/**
 * From where things stand to where only a person can bring them on: ask, do what the server wants of the page, tell it
 * what came of it, and again. Each step is written down, in one piece, before the next one is taken.
 */

import type { PendingCall, Question } from "@pollux/protocol";
import { deadlineOf, dueOf, execute, unexecuted } from "./calls";
import type { Door } from "./door";
import { exchanged } from "./exchange";
import { written } from "./json";
import { type Asking, type Did, type Keeper, type Kept, NO_HISTORY, type Owing, type Step } from "./kept";
import { lookAt } from "./look";
import { leftOutFor, tellOwner } from "./owner";
import type { Wait } from "./patience";
import type { Told } from "./told";
import type { Transcript } from "./transcript";
import { HISTORY_GONE, RESTARTED, Trouble } from "./trouble";
import type { PagePort } from "./types";

/** The server has a limit of its own, which is lower. This one is for a server that has none. */
const MOST_ROUNDS = 50;
/** How long after a run's end the server surely has its answer. */
const ANSWER_KEPT = 9.5 * 60_000;
/** Seconds, some thirty years: what is longer is no date any more. */
const LONGEST_QUESTION = 1e9;

/** What a conversation is made of. */
export interface Parts {
  readonly keeper: Keeper;
  readonly door: Door;
  readonly transcript: Transcript;
  readonly page: PagePort;
  readonly wait: Wait;
  readonly now: () => number;
}

export class Rounds {
  /** Questions that the server knows the answer to. It may have spoken before it did. */
  readonly answered = new Set<string>();
  /** Questions whose answer is on its way. They stand, but are not asked any more. */
  readonly answering = new Set<string>();
  /** What the page called the control of each question when the visitor said yes, and what would be done. */
  private agreed: { readonly id: string; readonly deed: string; readonly name: string }[] = [];
  /** Told when the server says which run it is. */
  onRun = () => {};

  constructor(private readonly parts: Parts) {}

  get step(): Step {
    return this.parts.keeper.kept.step;
  }

  keep(step: Step, more: Partial<Kept> = {}): void {
    const { keeper, transcript } = this.parts;
    keeper.change({ ...more, step, messages: transcript.whole });
  }

  /** Until the server has answered, or waits for a person. */
  async goOn(signal: AbortSignal): Promise<void> {
    for (let round = 0; ; ) {
      signal.throwIfAborted();
      const { step } = this;
      if (step.kind === "idle" || step.isStopped) return;
      if (step.kind === "asking") {
        await this.ask(step, signal);
        continue;
      }
      if (isWaiting(step)) return;
      if (++round > MOST_ROUNDS)
        throw new Trouble("loop_limit", "This takes too many rounds. Say how to go on.");
      await this.execute(step, signal);
      await this.submit(signal);
    }
  }

  /** The request that says it. The same each time, letter by letter. */
  sending({ message, requestId, tools, state }: Asking): string {
    const { history } = this.parts.keeper.kept;
    const asked = `"message":${written(message)},"requestId":${written(requestId)}`;
    return `{${asked},"history":${history},"toolDefinitions":${tools},"pageState":${state}}`;
  }

  /** The history is of no use any more. What is said next begins a new one. */
  restart(next: Step = { kind: "idle" }): void {
    this.parts.transcript.say("system", RESTARTED, "restarted");
    const after = this.parts.transcript.last;
    this.keep(next.kind === "asking" ? { ...next, after } : next, { history: NO_HISTORY });
  }

  /** Note something about the message that is being asked. */
  noteAsking(part: Partial<Asking>): void {
    const { step } = this;
    if (step.kind === "asking") this.keep({ ...step, ...part });
  }

  /** Ask again what may have been heard. After a while the server would take first words for something new. */
  again(step: Asking): void {
    const { keeper, now } = this.parts;
    if (now() - step.at > ANSWER_KEPT && keeper.kept.history === NO_HISTORY)
      throw new Trouble("answer_gone", "the answer is not kept any more");
    this.noteAsking({ isRepeated: true });
  }

  /** The questions that a person is asked. */
  shown(approvals: readonly Question[]): readonly Question[] {
    return approvals.filter(({ id }) => !this.answering.has(id));
  }

  /** The visitor says yes to this, as it is on the page now: what they saw, and no other. */
  agree({ id, tool, args, onPage }: Question): void {
    if (!onPage) return;
    const others = this.agreed.filter((each) => each.id !== id);
    this.agreed = [...others, { id, deed: written([tool, args]), name: this.subject(tool, args) }];
  }

  private subject(name: string, args: PendingCall["args"]): string {
    return this.parts.page.subject?.({ id: "", name, args, expiresIn: 0, category: "page-automation" }) ?? "";
  }

  private isAnother({ name, args }: PendingCall): boolean {
    const deed = written([name, args]);
    // One yes is for one call: of two that are alike, each has its own.
    const agreed = this.agreed.find((each) => each.deed === deed);
    this.agreed = this.agreed.filter((each) => each !== agreed);
    return agreed !== undefined && agreed.name !== this.subject(name, args);
  }

  private async ask(step: Asking, signal: AbortSignal): Promise<void> {
    const { door, keeper, transcript, wait, now } = this.parts;
    const isNew = keeper.kept.history === NO_HISTORY;
    try {
      const told = await exchanged(door, transcript, {
        ...{ path: "/api/page/send-message/stream", body: this.sending(step), signal, wait },
        onTry: () => {
          // Perhaps the machine slept in between.
          if (this.step.kind === "asking" && this.step.isRepeated) this.again(this.step);
          // It is told from the beginning each time.
          transcript.cutBack(step.after);
        },
        onRun: (runId) => {
          if (this.step.kind === "asking" && this.step.runId !== runId) this.noteAsking({ runId });
          this.onRun();
        },
        onTrouble: () => this.noteAsking({ isRepeated: true }),
      });
      this.hear(told);
    } catch (problem) {
      const isGone = problem instanceof Trouble && HISTORY_GONE.has(problem.code);
      const asked = this.step;
      if (!isGone || isNew || asked.kind !== "asking" || asked.isRepeated) throw problem;
      // Nothing of it has begun, so it may be said again, once, as the first words of a new conversation.
      this.restart({ ...step, at: now() });
    }
  }

  private async submit(signal: AbortSignal): Promise<void> {
    const { door, keeper, transcript, page, wait } = this.parts;
    const { tools, state } = await lookAt(page, signal);
    const { step } = this;
    if (step.kind !== "owing") return;
    const results = written(step.did.filter(isOneOf(step.calls)));
    const { history } = keeper.kept;
    const body = `{"results":${results},"history":${history},"toolDefinitions":${tools},"pageState":${state}}`;
    const told = await exchanged(door, transcript, {
      ...{ path: "/api/page/submit-tool-results/stream", body, signal, wait },
      // What was told whole is not told again.
      onTry: () => transcript.cutTurn(),
      onRun: () => undefined,
      onTrouble: () => undefined,
    });
    this.hear(told);
  }

  private hear({ answer, history }: Told): void {
    const { step } = this;
    const { transcript, now } = this.parts;
    const isStopped = step.kind !== "idle" && step.isStopped;
    const leftOut = leftOutFor(answer.leftOut);
    if (leftOut) tellOwner(leftOut);
    if (answer.type === "response") {
      if (!isStopped) transcript.answer(answer);
      this.keep({ kind: "idle" }, { history });
      return;
    }
    const asked = answer.type === "approval-required" ? answer.approvals : [];
    const approvals = asked.filter(({ id }) => !this.answered.has(id)).map((each) => this.inTimeHere(each));
    const { calls } = answer;
    if (!isStopped) transcript.owe(calls, this.shown(approvals));
    const owing: Owing = {
      ...{ kind: "owing", runId: answer.runId, calls, approvals, at: now() },
      // A result that has not reached the server yet is not made again.
      did: step.kind === "owing" ? step.did.filter(isOneOf(calls)) : [],
      isAnswered: approvals.length < asked.length,
      ...(isStopped && { isStopped }),
    };
    this.keep(owing, { history });
  }

  private async execute(owing: Owing, signal: AbortSignal): Promise<void> {
    const { transcript, page, now } = this.parts;
    for (const call of owing.calls) {
      signal.throwIfAborted();
      const due = dueOf(call, owing, now());
      if (due === "lost" || due === "late") this.note(unexecuted(call, due));
      if (due === "due" && this.isAnother(call)) this.note(unexecuted(call, "another"));
      else if (due === "due") {
        // Before it is done: after a reload we know that it may have happened.
        this.note({ callId: call.id });
        transcript.act(call, page.subject?.(call));
        this.note(await execute(page, call, deadlineOf(call, owing) - now(), signal));
      }
      const { step } = this;
      const did = step.kind === "owing" ? step.did.find(({ callId }) => callId === call.id) : undefined;
      transcript.acted(call, did?.isError ?? false);
    }
  }

  private note(did: Did): void {
    const { step } = this;
    if (step.kind !== "owing") return;
    this.keep({ ...step, did: [...step.did.filter(({ callId }) => callId !== did.callId), did] });
  }

  /** A question whose time ends by the clock here, which may be another one than the server's. */
  private inTimeHere(question: Question): Question {
    const { expiresIn } = question;
    if (!(expiresIn >= 0 && expiresIn < LONGEST_QUESTION)) return question;
    return { ...question, expiresAt: new Date(this.parts.now() + expiresIn * 1000).toISOString() };
  }
}

/** Whether only a person can bring it on. */
export function isWaiting(step: Owing): boolean {
  return step.calls.length === 0 && step.approvals.length > 0 && !step.isAnswered;
}

function isOneOf(calls: readonly PendingCall[]): (did: Did) => boolean {
  const ids = new Set(calls.map(({ id }) => id));
  return ({ callId }) => ids.has(callId);
}
