/** One answer of the model within a run: its words, its thoughts, and what it called. */

import type { DeltaLine, Message, ThoughtLine } from "@pollux/protocol";
import { type Step, stepOf } from "./step";

export interface Turn {
  readonly number: number;
  readonly text: string;
  readonly thoughts: string;
  /** Characters so far, as the server counts them: an emoji is one. */
  readonly length: number;
  readonly thoughtLength: number;
  readonly steps: readonly Step[];
  readonly isOpen: boolean;
}

export function turnOf(number: number): Turn {
  return { number, text: "", thoughts: "", length: 0, thoughtLength: 0, steps: [], isOpen: true };
}

/** Some more was said. What is told again after a broken connection is not said again. */
export function said(turn: Turn, { type, delta, offset }: DeltaLine | ThoughtLine): Turn {
  if (!turn.isOpen) return turn;
  const known = type === "delta" ? turn.length : turn.thoughtLength;
  const characters = [...delta];
  const fresh = offset === undefined ? characters : characters.slice(Math.max(0, known - offset));
  if (fresh.length === 0) return turn;
  return type === "delta"
    ? { ...turn, text: turn.text + fresh.join(""), length: known + fresh.length }
    : { ...turn, thoughts: turn.thoughts + fresh.join(""), thoughtLength: known + fresh.length };
}

/** The whole answer, as it was written down. */
export function replied(turn: Turn, message: Message): Turn {
  const thoughts = textOf(message, "thought");
  return {
    ...turn,
    text: textOf(message, "text"),
    // Not everybody keeps them: what was shown stays.
    thoughts: thoughts || turn.thoughts,
    steps: message.parts.flatMap((part) => (part.type === "tool_call" ? [stepOf(part)] : [])),
    isOpen: false,
  };
}

export function textOf(message: Message, type: "text" | "thought"): string {
  return message.parts.map((part) => (part.type === type ? part.text : "")).join("");
}
