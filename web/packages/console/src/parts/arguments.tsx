/** Exactly what a tool would get, or got: a row for each value, and the whole as it is. Nothing invisible in either. */

import type { Json } from "@pollux/client";
import { exact, rows } from "@pollux/widget";
import type { VNode } from "preact";

type Named = { readonly [name: string]: unknown };

export function Arguments({ args }: { args: Named }): VNode {
  const value = args as { [name: string]: Json };
  if (Object.keys(value).length === 0) return <p class="faint">It takes no arguments.</p>;
  return (
    <div class="arguments">
      <table>
        <caption class="unseen">Arguments</caption>
        <tbody>
          {rows(value).map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td dir="auto">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <details>
        <summary>Exactly as it would run</summary>
        <Pre text={exact(value)} label="Arguments as JSON" />
      </details>
    </div>
  );
}

/** Any value as JSON. */
export function JsonView({ value, label }: { value: unknown; label: string }): VNode {
  return <Pre text={typeof value === "string" ? value : exact(value as Json)} label={label} />;
}

/** Text as it is, in a box that can be scrolled with the keyboard. */
export function Pre({ text, label }: { text: string; label: string }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
    <section class="pre" tabIndex={0} aria-label={label}>
      <pre dir="ltr">{text}</pre>
    </section>
  );
}
