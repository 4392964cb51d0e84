/** What a block has put out: while it works as it comes, and then as later blocks find it. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { JsonView } from "../../parts/arguments";
import { Facts } from "../../parts/facts";
import { Markdown } from "../../parts/markdown";
import { span } from "../../parts/moment";
import type { Place } from "./board";
import { plain, type Tail, tailOf } from "./plain-text";
import { Rows } from "./rows";
import { seen } from "./seen";

type Given = { readonly [name: string]: unknown };

export function Output({ place, type, name }: { place: Place; type: string; name: string }): VNode | null {
  const given = place.finished?.object ?? null;
  if (!given) {
    const label = `Output of ${name}`;
    return place.output.text ? <Terminal of={place.output} label={label} isLive /> : null;
  }
  return (
    <>
      {place.finished?.error && <p class="bad">{visible(place.finished.error)}</p>}
      <Result given={given} place={place} type={type} name={name} />
    </>
  );
}

function Result({ given, place, type, name }: { given: Given; place: Place; type: string; name: string }) {
  const label = `Output of ${name}`;
  const text = (key: string) => (typeof given[key] === "string" ? (given[key] as string) : "");
  switch (type) {
    case "agent":
      return text("text") ? <Answer text={text("text")} /> : <Terminal of={place.output} label={label} />;
    case "script":
      return <Terminal of={tailOf(text("combined"))} label={label} />;
    case "terminal":
    case "run":
      return <Terminal of={tailOf(text("output"))} label={label} />;
    case "http":
      return <Exchange given={given} label={label} />;
    case "sqlite":
    case "postgres":
      return <Rows given={given} label={label} />;
    case "sub-runbook":
      return <Terminal of={place.output.text ? place.output : tailOf(text("text"))} label={label} />;
    default:
      return Object.keys(given).length > 0 ? <JsonView value={given} label={label} /> : null;
  }
}

const LONGEST_ANSWER = 100_000;

function Answer({ text }: { text: string }): VNode {
  return (
    <div class="agent-answer">
      <Markdown text={text.slice(0, LONGEST_ANSWER)} />
      {text.length > LONGEST_ANSWER && <p class="faint">The rest is not shown.</p>}
    </div>
  );
}

/** Text as a terminal would have it. It stays at its end while it grows, unless somebody scrolled up. */
function Terminal({ of: tail, label, isLive = false }: { of: Tail; label: string; isLive?: boolean }) {
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isLive && isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [tail.text, isLive]);
  if (!tail.text) return null;
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current ?? document.body;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
    <section class="pre terminal-text" ref={box} tabIndex={0} aria-label={label} onScroll={onScroll}>
      {tail.isCut && <p class="faint">Only the end is shown.</p>}
      <pre dir="ltr">{seen(plain(tail.text))}</pre>
    </section>
  );
}

function Exchange({ given, label }: { given: Given; label: string }): VNode {
  const seconds = typeof given.duration_seconds === "number" ? given.duration_seconds : 0;
  const body = given.body_json ?? given.body;
  const isText = typeof body === "string";
  return (
    <>
      <Facts
        of={[
          ["Answer", `${given.status ?? "none"} ${given.status_text ?? ""}`],
          ["Took", span(seconds * 1000)],
        ]}
      />
      {isText ? (
        <Terminal of={tailOf(body)} label={label} />
      ) : (
        body !== null && body !== undefined && <Bounded value={body} label={label} />
      )}
    </>
  );
}

/** JSON, of which a very long one is shown as the text that it is. */
function Bounded({ value, label }: { value: unknown; label: string }): VNode {
  const text = JSON.stringify(value);
  return text.length > LONGEST_ANSWER ? (
    <Terminal of={tailOf(text)} label={label} />
  ) : (
    <JsonView value={value} label={label} />
  );
}
