/** One question in the inbox: a line that opens into all of it. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon";
import { useFates, useLatest } from "./answers";
import { type Mode, QuestionCard } from "./card";
import { Countdown } from "./countdown";
import { type Fate, isOpen, isUnderWay, told } from "./fate";
import { agentOf, listed, type Question, titleOf } from "./question";

interface Props {
  readonly question: Question;
  readonly isOpened: boolean;
  readonly isSelected: boolean;
  readonly onOpen: (isOpened: boolean) => void;
  readonly onSelect: (isSelected: boolean) => void;
  readonly onAnswered: (fate: Fate, question: Question) => void;
}

export function Row({ question: asked, isOpened, isSelected, onOpen, onSelect, onAnswered }: Props): VNode {
  const question = useLatest(asked);
  const fate = useFates().get(question.id);
  const [mode, setMode] = useState<Mode>("choices");
  const canAnswer = isOpen(fate);
  const name = `question-${question.id}`;
  const title = titleOf(question);
  return (
    <li class={`ask${isOpened ? " open" : ""}${canAnswer ? "" : " over"}`}>
      <div class="ask-head">
        <input
          type="checkbox"
          aria-label={`Select: ${title}`}
          checked={isSelected && canAnswer}
          disabled={!canAnswer}
          onChange={({ currentTarget }) => onSelect(currentTarget.checked)}
        />
        <h2>
          <button
            type="button"
            class="plain"
            aria-expanded={isOpened}
            aria-controls={name}
            data-question={asked.id}
            onClick={() => onOpen(!isOpened)}
          >
            <Icon name={isOpened ? "down" : "right"} />
            <span>
              <span class="ask-title" dir="auto">
                {title}
              </span>
              <span class="ask-about">{aboutOf(question)}</span>
            </span>
          </button>
        </h2>
        {canAnswer ? <Countdown question={question} /> : fate && <FateBadge fate={fate} />}
      </div>
      <div id={name} class="ask-body" hidden={!isOpened}>
        {isOpened && (
          <QuestionCard
            {...{ question, onAnswered, mode }}
            onMode={setMode}
            isTitled={false}
            hasKeys={true}
          />
        )}
      </div>
    </li>
  );
}

const TONES = { info: "still", good: "good", warn: "warn", bad: "bad" } as const;

function FateBadge({ fate }: { fate: Fate }): VNode {
  const { tone, short } = told(fate);
  return <span class={`badge ${isUnderWay(fate) ? "busy" : TONES[tone]}`}>{short}</span>;
}

function aboutOf(question: Question): string {
  const whom = question.subjects.length > 0 ? ` for ${visible(listed(question.subjects))}` : "";
  const agent = agentOf(question);
  return `${agent ? `${agent}, ` : ""}${visible(question.tool)}${whom}`;
}
