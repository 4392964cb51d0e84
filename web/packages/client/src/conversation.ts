/**
 * A conversation: what a person says and decides, and what is under way because of it. Where things stand is on the
 * shelf at every moment, and everything goes on from there (rounds.ts): a new message, a retry and a page that was
 * loaded again take the same road.
 */

import { type Claims, claimsHere, type Release } from "./claim";
import { Door } from "./door";
import { clean } from "./json";
import { Keeper, newId, type Owing, subjectOf } from "./kept";
import { lookAt } from "./look";
import { forOwner, tellOwner } from "./owner";
import { sleep } from "./patience";
import { isWaiting, type Parts, Rounds } from "./rounds";
import { Transcript } from "./transcript";
import { CHANGED, chatError, ELSEWHERE, EXPIRED, HISTORY_GONE, Trouble } from "./trouble";
import type { ChatState, ClientOptions, Conversation, Decision } from "./types";
import { cancelRun, decide, historyAfter, standing } from "./verbs";

/** Characters of one message. */
export const LONGEST_MESSAGE = 100_000;
const STOP_WAIT = 3_000;
const TICK = 1_000;
const NO = { decision: "reject", feedback: "" } as const;

export function createConversation(options: ClientOptions): Conversation {
  return new Talk(options);
}

class Talk implements Conversation {
  private readonly parts: Parts;
  private readonly rounds: Rounds;
  private readonly claims: Claims;
  private readonly base: string;
  /** Ends what is under way. */
  private control = new AbortController();
  private driving: Promise<void> | null = null;
  private stopping: Promise<void> | null = null;
  private release: Release | null = null;
  /** How often everything was forgotten. */
  private cleared = 0;
  private ticking: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ClientOptions) {
    const { base, page, profile = "", userToken, shelf, now = Date.now, wait = sleep } = options;
    const keeper = new Keeper(shelf, `pollux ${base} ${profile}`, subjectOf(userToken));
    const door = new Door(options, keeper);
    const transcript = new Transcript(keeper.kept.messages, now);
    this.base = base;
    this.claims = options.claims ?? claimsHere();
    this.parts = { keeper, door, transcript, page, wait, now };
    this.rounds = new Rounds(this.parts);
  }

  get state(): ChatState {
    return this.parts.transcript.state;
  }

  subscribe(listener: (state: ChatState) => void): () => void {
    return this.parts.transcript.subscribe(listener);
  }

  async resume(): Promise<void> {
    if (this.driving || this.stopping || this.rounds.step.kind === "idle") return;
    await this.drive(async (signal) => {
      if (!(await this.claim())) return this.leaveToOther();
      const { step } = this.rounds;
      if (step.kind === "idle") return;
      if (step.isStopped) return await this.endStopped();
      this.parts.transcript.goOn();
      if (step.kind === "asking") this.rounds.again(step);
      else if (isWaiting(step)) await this.lookWhatStands(step, signal);
      await this.rounds.goOn(signal);
    });
  }

  async send(text: string): Promise<void> {
    const message = clean(text);
    if (!message.trim()) return;
    const more = [...message].length - LONGEST_MESSAGE;
    if (more > 0) {
      const said = `A message may have ${LONGEST_MESSAGE} characters; this one has ${more} more. Say it in parts.`;
      this.parts.transcript.trouble({ code: "too_long", message: said, canRetry: false });
      return;
    }
    const { cleared } = this;
    // Where nothing is under way it is said in this very moment: who asks at once whether it is, is told so.
    if (this.driving || this.stopping || this.rounds.step.kind === "asking") await this.leaveOff();
    if (cleared !== this.cleared) return;
    this.parts.transcript.say("user", message);
    this.parts.transcript.begin();
    await this.drive((signal) => this.ask(message, signal));
  }

  async retry(): Promise<void> {
    const { lastText, step } = this.parts.keeper.kept;
    if (this.driving || this.stopping) return;
    if (step.kind !== "idle") return await this.resume();
    if (lastText) await this.drive((signal) => this.ask(lastText, signal));
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopNow().finally(() => {
      this.stopping = null;
    });
    return this.stopping;
  }

  async resolve(approvalId: string, decision: Decision, feedback = ""): Promise<void> {
    const { door, transcript, wait } = this.parts;
    const question = this.state.approvals.find(({ id }) => id === approvalId);
    if (!question) return;
    this.rounds.answering.add(approvalId);
    if (decision !== "reject") this.rounds.agree(question);
    this.showQuestions();
    transcript.goOn();
    try {
      await decide(door, question, { decision, feedback }, { wait, signal: this.signal });
      if (decision !== "reject" && this.isAsked(approvalId)) transcript.approved(question);
    } catch (problem) {
      this.rounds.answering.delete(approvalId);
      if (!this.isAsked(approvalId)) return;
      if (!isOver(problem)) {
        this.showQuestions();
        transcript.fail(chatError(problem));
        return;
      }
      const isExpired = problem.code === "expired";
      transcript.say("system", isExpired ? EXPIRED : CHANGED, isExpired ? "expired" : "changed");
      // With other arguments it is another question, of the same name.
      if (problem.code === "args_changed") return await this.goOnWithout([approvalId], { isKnown: false });
    }
    await this.goOnWithout([approvalId]);
  }

  clear(): void {
    const { step } = this.rounds;
    if (step.kind !== "idle" && step.runId) void cancelRun(this.parts.door, step.runId);
    this.cleared += 1;
    this.control.abort();
    this.driving = null;
    clearTimeout(this.ticking);
    this.letGo();
    this.parts.keeper.forget();
    this.parts.transcript.clear();
  }

  // Under way.

  /** Do this as the one thing that is under way. What goes wrong is shown. */
  private drive(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const control = new AbortController();
    this.control = control;
    clearTimeout(this.ticking);
    const driving = Promise.resolve()
      .then(() => {
        control.signal.throwIfAborted();
        return work(control.signal);
      })
      .catch((problem: unknown) => this.failed(problem, control.signal))
      .finally(() => {
        if (this.driving !== driving) return;
        this.driving = null;
        if (control.signal.aborted) return;
        this.parts.transcript.rest();
        if (this.rounds.step.kind === "idle") this.letGo();
        this.tick();
      });
    this.driving = driving;
    return driving;
  }

  private failed(problem: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    if (problem instanceof Trouble) {
      if (problem.code === "answer_gone" || HISTORY_GONE.has(problem.code)) this.rounds.restart();
      // It was refused, and would be again. What may have been heard is asked again as it was.
      else if (isRefused(problem)) this.rounds.keep({ kind: "idle" });
    }
    const owners = forOwner(problem, this.base);
    if (owners) tellOwner(owners);
    this.parts.transcript.fail(chatError(problem));
    this.rounds.keep(this.rounds.step);
  }

  private async ask(message: string, signal: AbortSignal): Promise<void> {
    const { keeper, transcript, page, now } = this.parts;
    transcript.begin();
    this.rounds.answered.clear();
    if (!(await this.claim())) {
      // A copy of this tab goes on from the same words, as a conversation of its own.
      keeper.change({ id: newId() });
      await this.claim();
    }
    const { tools, state } = await lookAt(page, signal);
    const after = transcript.last;
    const asking = { kind: "asking", message, requestId: newId(), tools, state, at: now(), after } as const;
    this.rounds.keep(asking, { lastText: message });
    await this.rounds.goOn(signal);
  }

  /** Whoever says something new does not wait for what was said before. */
  private async leaveOff(): Promise<void> {
    while (this.driving || this.stopping) await this.stop();
    if (this.rounds.step.kind === "asking") await this.endStopped();
  }

  /** What ends with what is under way. */
  private get signal(): AbortSignal {
    return this.control.signal.aborted ? new AbortController().signal : this.control.signal;
  }

  // Questions.

  /** These questions do not stand any more. Where something is under way, it goes on with that by itself. */
  private async goOnWithout(ids: readonly string[], { isKnown = true } = {}): Promise<void> {
    for (const id of ids) {
      this.rounds.answering.delete(id);
      if (isKnown) this.rounds.answered.add(id);
    }
    const { step } = this.rounds;
    if (step.kind !== "owing" || step.isStopped || !ids.some((id) => this.isAsked(id))) return;
    const approvals = step.approvals.filter(({ id }) => !ids.includes(id));
    this.rounds.keep({ ...step, approvals, isAnswered: true });
    if (this.driving) return await this.driving;
    this.parts.transcript.goOn();
    await this.drive((signal) => this.rounds.goOn(signal));
  }

  private isAsked(approvalId: string): boolean {
    const { step } = this.rounds;
    return step.kind === "owing" && step.approvals.some(({ id }) => id === approvalId);
  }

  private showQuestions(): void {
    const { step } = this.rounds;
    if (step.kind === "owing") this.parts.transcript.ask(this.rounds.shown(step.approvals));
  }

  /** After a reload: which of the questions still stand, the server knows. */
  private async lookWhatStands(step: Owing, signal: AbortSignal): Promise<void> {
    const open = await standing(this.parts.door, { wait: this.parts.wait, signal });
    const approvals = step.approvals.filter(({ id }) => open.has(id));
    this.rounds.keep({ ...step, approvals, isAnswered: approvals.length < step.approvals.length });
    this.showQuestions();
  }

  /** Look now and then whether the time of a question is up. */
  private tick(): void {
    const { step } = this.rounds;
    clearTimeout(this.ticking);
    if (step.kind !== "owing" || step.approvals.length === 0) return;
    this.ticking = setTimeout(() => {
      const isOver = (question: { expiresAt: string }) => Date.parse(question.expiresAt) <= this.parts.now();
      const over = this.rounds
        .shown(step.approvals)
        .filter(isOver)
        .map(({ id }) => id);
      if (over.length === 0 || this.rounds.step !== step || this.driving) this.tick();
      else void this.expire(step, over);
    }, TICK);
  }

  /** Nobody answered in time: that is a no. The server says so by its own clock, which may be another one. */
  private async expire(step: Owing, ids: readonly string[]): Promise<void> {
    const { door, transcript, wait } = this.parts;
    for (const id of ids) this.rounds.answering.add(id);
    this.showQuestions();
    transcript.say("system", EXPIRED, "expired");
    const told = step.approvals
      .filter(({ id }) => ids.includes(id))
      .map((question) => decide(door, question, NO, { wait, signal: this.signal }).catch(() => undefined));
    await Promise.all(told);
    await this.goOnWithout(ids);
  }

  // Stopping.

  private async stopNow(): Promise<void> {
    const { driving } = this;
    const { step } = this.rounds;
    if (step.kind === "idle" && !driving) return;
    clearTimeout(this.ticking);
    // Before it is shown: what somebody saw stopped does not go on after a reload.
    if (step.kind !== "idle") this.rounds.keep({ ...step, isStopped: true });
    this.parts.transcript.stopped();
    this.rounds.keep(this.rounds.step);
    if (driving && step.kind === "asking" && !step.runId) {
      // What has begun at the server goes on there unless it is named: its name comes with the first line.
      const known = new Promise<void>((resolve) => {
        this.rounds.onRun = resolve;
      });
      await Promise.race([known, driving, sleep(STOP_WAIT, this.control.signal).catch(() => undefined)]);
    }
    this.control.abort();
    await driving;
    await this.endStopped();
  }

  /** End it at the server too, and take over what was done until then: whoever is asked next shall know of it. */
  private async endStopped(): Promise<void> {
    const { door } = this.parts;
    const { step } = this.rounds;
    let history: string | undefined;
    if (step.kind !== "idle" && step.runId) {
      const isHeard = await cancelRun(door, step.runId);
      // The same request again: its run has ended, so the answer is there.
      if (step.kind === "asking" && isHeard) history = await historyAfter(door, this.rounds.sending(step));
    }
    if (this.rounds.step === step) this.rounds.keep({ kind: "idle" }, history ? { history } : {});
    this.letGo();
  }

  // Tabs.

  private async claim(): Promise<boolean> {
    this.release ??= await this.claims.take(`pollux ${this.parts.keeper.kept.id}`);
    return this.release !== null;
  }

  private letGo(): void {
    this.release?.();
    this.release = null;
  }

  /** This tab is a copy of another one, which is at it. */
  private leaveToOther(): void {
    this.parts.keeper.forget();
    this.parts.transcript.clear();
    this.parts.transcript.say("system", ELSEWHERE, "elsewhere");
  }
}

/** Whether a question cannot be answered any more. */
function isOver(problem: unknown): problem is Trouble {
  return problem instanceof Trouble && (problem.status === 409 || problem.status === 404);
}

/** Whether the server has looked at it and said no. With another credential it might say yes. */
function isRefused({ status, mayPass }: Trouble): boolean {
  return status >= 400 && status < 500 && !mayPass && status !== 401 && status !== 403;
}
