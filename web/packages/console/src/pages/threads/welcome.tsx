/** Before anything was said: what this is, and what to try first. */

import type { VNode } from "preact";

interface Props {
  readonly isNewcomer: boolean;
  readonly onTry: (prompt: string) => void;
}

const PROMPTS: readonly (readonly [title: string, prompt: string])[] = [
  ["Ask what it can do", "What can you do?"],
  ["Send a mail, which asks you first", "Send an email to bob@example.com saying the report is ready"],
  [
    "Write to two people, and check the recipients first",
    "Send an email to ada@example.com and to carl@example.com saying lunch is at noon",
  ],
];

export function Welcome({ isNewcomer, onTry }: Props): VNode {
  return (
    <div class="welcome">
      <h2>{isNewcomer ? "Welcome to Pollux" : "A new conversation"}</h2>
      <p class="lead">
        Say what you want done. What reaches other people waits for your approval, with exactly what would be
        sent; what was begun survives a restart.
      </p>
      <ul>
        {PROMPTS.map(([title, prompt]) => (
          <li key={prompt}>
            <button type="button" onClick={() => onTry(prompt)}>
              <b>{title}</b>
              <span>{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
