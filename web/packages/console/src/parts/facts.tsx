/** What there is to know of one thing, by name. */

import type { ComponentChildren, VNode } from "preact";

type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values. Those without a value are left out. */
export function Facts({ of: facts }: { of: readonly Fact[] }): VNode {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A long id, short enough to read; whole for those who point at it. */
export function Id({ of: id }: { of: string }): VNode {
  return (
    <code class="id" title={id}>
      {id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-5)}` : id}
    </code>
  );
}
