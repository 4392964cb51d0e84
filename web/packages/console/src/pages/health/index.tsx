/** How the server is, in a few lines that each say what to do. */

import type { HealthView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { present } from "../../clock";
import { useLoaded } from "../../loading";
import { Clock, useNow } from "../../parts/moment";
import { Notice, Shown } from "../../parts/notice";
import { say } from "../../parts/said";
import { type Check, checksOf, type Level, worst } from "./checks";

const EVERY_MS = 5_000;
/** Two readings that did not come, and a little more. */
const LATE_MS = 3 * EVERY_MS;

export function Health(): VNode {
  const health = useLoaded<HealthView>("/api/health", {}, { every: EVERY_MS });
  const now = useNow(1_000);
  const read = useRef(0);
  const opened = useRef(present());
  useEffect(() => {
    if (health.value) read.current = present();
  }, [health.value]);
  // A server that hangs refuses nothing: it is only ever late.
  const isLate = now - (read.current || opened.current) > LATE_MS && document.visibilityState === "visible";
  const isGone = health.value !== null && (health.problem !== null || isLate);
  useSaid(isGone);
  return (
    <>
      <h1>Health</h1>
      {isGone ? (
        <Notice tone="bad">
          <span>
            <b>The server does not answer.</b> It is asked again every five seconds. What stands here is of{" "}
            <Clock at={new Date(read.current).toISOString()} />.
          </span>
        </Notice>
      ) : (
        health.value === null &&
        isLate && <Notice tone="bad">The server does not answer. It is asked again.</Notice>
      )}
      {isGone && health.value ? (
        <div class="old">
          <Report health={health.value} isOld />
        </div>
      ) : (
        <Shown of={health}>{(value) => <Report health={value} />}</Shown>
      )}
    </>
  );
}

/** Said once when it goes, and once when it comes back. */
function useSaid(isGone: boolean): void {
  const before = useRef(false);
  useEffect(() => {
    if (before.current && !isGone) say("The server answers again.");
    before.current = isGone;
  }, [isGone]);
}

const SUMMARY: Readonly<Record<Level, string>> = {
  good: "Everything is well.",
  warn: "It works. Something wants to be looked at.",
  bad: "Something is wrong.",
};

function Report({ health, isOld = false }: { health: HealthView; isOld?: boolean }): VNode {
  const checks = checksOf(health);
  const level = worst(checks);
  return (
    <>
      {!isOld && <p class={`verdict ${level}`}>{SUMMARY[level]}</p>}
      <ul class="checks">
        {checks.map((check) => (
          <Line key={check.name} check={check} />
        ))}
      </ul>
    </>
  );
}

const WORDS: Readonly<Record<Level, string>> = { good: "well", warn: "look at it", bad: "wrong" };

function Line({ check }: { check: Check }): VNode {
  return (
    <li class="check-line">
      <h2>{check.name}</h2>
      <span class={`badge ${check.level}`}>{WORDS[check.level]}</span>
      <p class="found">{coded(check.found)}</p>
      {check.todo && <p class="todo">{coded(check.todo)}</p>}
      {check.link && (
        <p>
          <a href={check.link.href}>{check.link.label}</a>
        </p>
      )}
    </li>
  );
}

/** Words in which what stands between backticks is to be typed. */
function coded(text: string): (string | VNode)[] {
  return text.split("`").map((part, index) => (index % 2 ? <code key={part}>{part}</code> : part));
}
