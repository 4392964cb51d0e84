/** A run as it is told by its journal, line by line. Lines that come twice change nothing. */

import type { JournalLine, Message } from "@pollux/protocol";
import { decided, isOver, type Step, withObserved, withOutput } from "./step";
import { replied, said, type Turn, textOf, turnOf } from "./turn";

export interface Ending {
  readonly state: "completed" | "failed" | "cancelled";
  readonly code: string;
  readonly message: string;
  readonly connectUrl: string;
  readonly at: number;
}

export interface Story {
  readonly runId: string;
  /** The number of the last line of the journal that was read. */
  readonly seq: number;
  /** How many messages the thread had before; null until the first line was read. */
  readonly head: number | null;
  readonly prompt: string;
  readonly files: readonly Enclosed[];
  readonly profile: string;
  readonly startedAt: number;
  readonly turns: readonly Turn[];
  readonly isStopping: boolean;
  /** Why the model is being asked again. */
  readonly trouble: string;
  readonly ending: Ending | null;
}

/** What came with a prompt. */
export interface Enclosed {
  readonly name: string;
  readonly mimeType: string;
}

export function storyOf(runId: string): Story {
  return {
    ...{ runId, seq: 0, head: null, prompt: "", files: [], profile: "", startedAt: 0, turns: [] },
    ...{ isStopping: false, trouble: "", ending: null },
  };
}

/** The story after one more line. */
export function told(story: Story, line: JournalLine): Story {
  if (!("seq" in line)) return overheard(story, line);
  if (line.seq <= story.seq) return story;
  return recorded({ ...story, seq: line.seq }, line);
}

/** Whether only a person can move it: nothing is being said or done. */
export function isResting(story: Story): boolean {
  const last = story.turns.at(-1);
  if (story.ending || story.isStopping || !last || last.isOpen) return false;
  return last.steps.some(({ state }) => state === "asked") && last.steps.every(isAskedOrOver);
}

/** The questions that wait. */
export function questionsOf(story: Story): readonly Step[] {
  return stepsOf(story).filter(({ state }) => state === "asked");
}

export function stepsOf(story: Story): readonly Step[] {
  return story.turns.flatMap(({ steps }) => steps);
}

function isAskedOrOver(step: Step): boolean {
  return step.state === "asked" || isOver(step);
}

type Fact = Extract<JournalLine, { seq: number }>;

/** What is on its way and has no number. */
function overheard(story: Story, line: Exclude<JournalLine, Fact>): Story {
  switch (line.type) {
    case "delta":
    case "thought_delta": {
      const number = line.turn ?? story.turns.at(-1)?.number ?? 1;
      return withTurn(story, number, (turn) => said(turn, line));
    }
    case "turn_restarted":
      return withTurn(story, line.turn, () => turnOf(line.turn));
    case "tool_output":
      return withAction(story, line.actionId, (step) => withOutput(step, line.text));
    default:
      return story;
  }
}

function recorded(story: Story, line: Fact): Story {
  switch (line.type) {
    case "RunStarted": {
      const { prompt, head, profile, at } = line.data;
      return {
        ...story,
        ...{ head, profile, startedAt: at, prompt: textOf(prompt, "text"), files: filesOf(prompt) },
      };
    }
    case "ModelCalled":
      // Whatever an earlier attempt said is not the answer.
      return withTurn({ ...story, trouble: "" }, line.data.turn, () => turnOf(line.data.turn));
    case "ModelReplied":
      return withTurn(story, line.data.turn, (turn) => replied(turn, line.data.message));
    case "ModelFailed":
      return line.data.retry_at === null ? story : { ...story, trouble: line.data.message };
    case "CancelRequested":
      return { ...story, isStopping: true };
    case "RunCompleted":
      return ended(story, { state: "completed", code: "", message: "", connectUrl: "", at: line.data.at });
    case "RunCancelled":
      return ended(story, { state: "cancelled", code: "", message: "", connectUrl: "", at: line.data.at });
    case "RunFailed": {
      const { code, message, connect_url: connectUrl, at } = line.data;
      return ended(story, { state: "failed", code, message, connectUrl, at });
    }
    case "TimeReached":
      return withSteps(story, (step) => expired(step, line.data.at));
    default:
      return acted(story, line);
  }
}

/** What became of a call. */
function acted(story: Story, line: Fact): Story {
  switch (line.type) {
    case "ActionDecided": {
      const step = decided(line.data.action);
      return withTurn(story, line.data.action.turn, (turn) => ({ ...turn, steps: put(turn.steps, step) }));
    }
    case "CallRefused": {
      const { call_id: id, code, message, at } = line.data;
      return withSteps(story, (step) =>
        step.id === id && !isOver(step) ? { ...step, state: "failed", code, message, endedAt: at } : step,
      );
    }
    case "ApprovalResolved": {
      const { approval_id: id, decision, feedback } = line.data;
      return withSteps(story, (step) =>
        step.question?.id !== id
          ? step
          : decision === "approved"
            ? { ...step, state: "planned" }
            : { ...step, state: "rejected", message: feedback },
      );
    }
    case "ActionStarted":
    case "ActionHandedOver": {
      const { action_id: id, at } = line.data;
      return withAction(story, id, (step) => ({
        ...step,
        state: "executing",
        startedAt: step.startedAt ?? at,
      }));
    }
    case "ToolObserved":
      return withAction(story, line.data.action_id, (step) =>
        withObserved(step, `${line.data.title || line.data.tool} (${line.data.status})`),
      );
    case "ActionCompleted": {
      const { action_id: id, result, at } = line.data;
      return withAction(story, id, (step) => ({ ...step, state: "completed", result, endedAt: at }));
    }
    case "ActionFailed": {
      const { action_id: id, code, message, at } = line.data;
      return withAction(story, id, (step) => ({ ...step, state: "failed", code, message, endedAt: at }));
    }
    case "ActionReconciled": {
      const { action_id: id, outcome, result, at } = line.data;
      return withAction(story, id, (step) => found(step, outcome, at, result));
    }
    case "ActionSettled":
      return withAction(story, line.data.action_id, (step) =>
        step.state === "completed" ? step : found(step, line.data.outcome, line.data.at),
      );
    default:
      return story;
  }
}

/** What a look at the world, or a person, found of an attempt that was cut off. */
function found(step: Step, outcome: "done" | "not_done" | "unknown", at: number, result?: unknown): Step {
  if (outcome === "done") return { ...step, state: "completed", code: "", message: "", result, endedAt: at };
  if (outcome === "unknown")
    return { ...step, state: "failed", code: "outcome_unknown", message: "", endedAt: at };
  return isOver(step)
    ? { ...step, code: "", message: "It did not happen." }
    : { ...step, state: "planned", startedAt: null };
}

function expired(step: Step, at: number): Step {
  const isLate = step.question !== null && Date.parse(step.question.expiresAt) <= at * 1000 + 1;
  return step.state === "asked" && isLate ? { ...step, state: "expired" } : step;
}

function ended(story: Story, ending: Ending): Story {
  const over = withSteps(story, (step) => (step.state === "asked" ? { ...step, state: "withdrawn" } : step));
  const turns = over.turns.map((turn) => (turn.isOpen ? { ...turn, isOpen: false } : turn));
  return { ...over, turns, ending, trouble: "" };
}

function filesOf({ parts }: Message): readonly Enclosed[] {
  return parts.flatMap((part) => {
    if (part.type === "blob") return [{ name: part.name ?? "", mimeType: part.mime }];
    return part.type === "file" ? [{ name: "", mimeType: part.mime }] : [];
  });
}

function withTurn(story: Story, number: number, change: (turn: Turn) => Turn): Story {
  const turns = story.turns.some((turn) => turn.number === number)
    ? story.turns.map((turn) => (turn.number === number ? change(turn) : turn))
    : [...story.turns, change(turnOf(number))];
  return { ...story, turns };
}

function withSteps(story: Story, change: (step: Step) => Step): Story {
  return { ...story, turns: story.turns.map((turn) => ({ ...turn, steps: turn.steps.map(change) })) };
}

function withAction(story: Story, id: string, change: (step: Step) => Step): Story {
  return withSteps(story, (step) => (step.actionId === id ? change(step) : step));
}

/** In the place of the step of the same call, or at the end: a foreign agent asks for calls of its own. */
function put(steps: readonly Step[], step: Step): readonly Step[] {
  return steps.some(({ id }) => id === step.id)
    ? steps.map((old) => (old.id === step.id ? step : old))
    : [...steps, step];
}
