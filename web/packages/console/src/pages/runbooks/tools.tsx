/** What an agent did: with leave, refused, and without asking. The last is only what it said of itself. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import type { Place } from "./board";

interface Used {
  readonly name: string;
  readonly approved: boolean;
  readonly resultSummary: string | null;
}

type Told = readonly [what: string, about: string];

const MOST = 100;

export function ToolCalls({ place }: { place: Place }): VNode | null {
  const given = place.finished?.object.toolCallsExecuted;
  const used = Array.isArray(given) ? (given as readonly Used[]) : [];
  const unasked = new Set(place.observed.map(({ title }) => title));
  const lists: (readonly [title: string, told: readonly Told[]])[] = [
    ["Asked about", [...place.asked.values()].map(({ what, fate }) => [what, fate])],
    [
      "Did",
      used.filter(({ approved }) => approved).map(({ name, resultSummary }) => [name, resultSummary ?? ""]),
    ],
    [
      "Not allowed",
      used
        .filter(({ name, approved }) => !approved && !unasked.has(name))
        .map(({ name, resultSummary }) => [name, resultSummary ?? ""]),
    ],
    [
      "Did without asking, as it says",
      place.observed.map(({ tool, title, status }) => [
        title || tool,
        [tool, status].filter(Boolean).join(", "),
      ]),
    ],
  ];
  const shown = lists.filter(([, told]) => told.length > 0);
  if (shown.length === 0) return null;
  return (
    <div class="tool-calls">
      {shown.map(([title, told]) => (
        <section key={title}>
          <h4>{title}</h4>
          <ul>
            {told.slice(0, MOST).map(([what, about], index) => (
              <li key={index}>
                <span>{visible(what)}</span>
                <span class="faint">{visible(about)}</span>
              </li>
            ))}
          </ul>
          {told.length > MOST && <p class="faint">And {told.length - MOST} more.</p>}
        </section>
      ))}
    </div>
  );
}
