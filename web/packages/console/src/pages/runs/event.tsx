/** One event on the line of time. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { count, money } from "../../parts/amounts";
import { Arguments, JsonView, Pre } from "../../parts/arguments";
import { Facts } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import { span } from "../../parts/moment";
import type { Entry, Fold } from "./entry";

/** Longer than this, it waits behind a word. */
const LONGEST_QUOTE = 400;
const LONGEST_FOLD = 100_000;
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export function Event({ entry, began }: { entry: Entry; began: number }): VNode {
  const { at, icon, tone, title, note, quote = "", folds = [], links = [] } = entry;
  const isLong = quote.length > LONGEST_QUOTE;
  const all: readonly Fold[] = isLong ? [{ as: "text", label: "All of it", value: quote }, ...folds] : folds;
  return (
    <li class={`event ${tone}`}>
      <When at={at} began={began} />
      <span class="sign">
        <Icon name={icon} />
      </span>
      <div class="told">
        <h3>{title}</h3>
        {quote && (
          <p class="quote" dir="auto">
            {isLong ? `${quote.slice(0, LONGEST_QUOTE)}…` : quote}
          </p>
        )}
        {note && <p>{note}</p>}
        <Figures entry={entry} />
        {all.map((fold) => (
          <Folded key={fold.label} fold={fold} />
        ))}
        {links.length > 0 && (
          <p class="row">
            {links.map(({ label, href }) => (
              <a key={href} href={href}>
                {label}
              </a>
            ))}
          </p>
        )}
      </div>
    </li>
  );
}

/** The clock, and how long after the beginning. */
function When({ at, began }: { at: number; began: number }): VNode {
  const moment = new Date(at);
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString()}>
      {clock.format(at)}
      <small>.{String(moment.getMilliseconds()).padStart(3, "0")}</small>
      <small class="after">+{span(Math.max(0, at - began))}</small>
    </time>
  );
}

function Figures({ entry: { took, usage, cost, facts = [] } }: { entry: Entry }): VNode | null {
  const figures: (readonly [string, string])[] = [...facts];
  if (took !== undefined) figures.push(["Took", span(took)]);
  if (usage && usage.input + usage.output > 0) {
    const parts = [usage.thoughts && `${count(usage.thoughts)} thinking`].filter(Boolean).join(", ");
    figures.push([
      "Tokens in",
      `${count(usage.input)}${usage.cached ? ` (${count(usage.cached)} cached)` : ""}`,
    ]);
    figures.push(["Tokens out", `${count(usage.output)}${parts && ` (${parts})`}`]);
    figures.push(["Cost", money(cost)]);
  }
  return figures.some(([, value]) => value) ? <Facts of={figures} /> : null;
}

/** What is long is made when somebody opens it. */
function Folded({ fold }: { fold: Fold }): VNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{fold.label}</summary>
      {isOpen && <Within fold={fold} />}
    </details>
  );
}

function Within({ fold }: { fold: Fold }): VNode {
  if (fold.as === "arguments") return <Arguments args={fold.value} />;
  if (fold.as === "json") return <JsonView value={fold.value} label={fold.label} />;
  const text = String(fold.value);
  const shown = text.length > LONGEST_FOLD ? `${text.slice(0, LONGEST_FOLD)}\n… and more` : text;
  return <Pre text={shown} label={fold.label} />;
}
