/** How long a question still waits. */

import { remaining } from "@pollux/widget";
import type { VNode } from "preact";
import { useNow } from "../../parts/moment";
import { type Question, timeLeft } from "./question";

const SOON_MS = 5 * 60_000;

export function Countdown({ question }: { question: Question }): VNode {
  const left = timeLeft(question, useNow(1_000));
  return (
    <time
      class={left < SOON_MS ? "countdown soon" : "countdown"}
      dateTime={question.expiresAt}
      title={new Date(question.expiresAt).toLocaleString()}
    >
      {left > 0 ? `${remaining(left)} left` : "running out…"}
    </time>
  );
}
