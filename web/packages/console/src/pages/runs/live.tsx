/** What is under way: the model's words as they come, and what tools at work show. None of it is in the journal yet. */

import type { VNode } from "preact";
import { Pre } from "../../parts/arguments";
import type { Journal } from "./journal";
import type { Story } from "./story";

const LONGEST = 8_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours and cursor moves of a terminal begin with one.
const TERMINAL = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g;

export function Live({ journal, story }: { journal: Journal; story: Story }): VNode | null {
  if (story.ended !== null) return null;
  const isWriting = story.isThinking || journal.text !== "" || journal.thoughts !== "";
  return (
    <>
      {isWriting && (
        <li class="event live">
          <span class="sign busy" />
          <div class="told">
            <h3>{journal.text ? "The model writes…" : "The model thinks…"}</h3>
            {(journal.text || journal.thoughts) && (
              <p class="quote" dir="auto">
                {(journal.text || journal.thoughts).slice(-LONGEST)}
              </p>
            )}
          </div>
        </li>
      )}
      {[...story.atWork].map(([id, tool]) => {
        const output = journal.output.get(id);
        return (
          <li key={id} class="event live">
            <span class="sign busy" />
            <div class="told">
              <h3>{tool} is at work…</h3>
              {output && <Pre text={output.replace(TERMINAL, "")} label={`What ${tool} shows`} />}
            </div>
          </li>
        );
      })}
    </>
  );
}
