/** One question in full: what exactly would be done, why it is asked, and the answers. Once it is answered, what came of
it. The inbox shows it, and conversations in which it came up. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { present } from "../../clock";
import { useRegularly } from "../../loading";
import { Arguments, Pre } from "../../parts/arguments";
import { say } from "../../parts/said";
import { answer, lookUp, useFates } from "./answers";
import { Countdown } from "./countdown";
import { EditForm } from "./edit";
import { type Decision, type Fate, isOpen, told } from "./fate";
import { useAnswerKeys } from "./keys";
import { ApproveButton, useArming } from "./meant";
import { Outcome } from "./outcome";
import { agentOf, listed, type Question, timeLeft, titleOf, wholePreview } from "./question";
import { RejectForm } from "./reject";
import { Source } from "./source";
import { Partial, useWholes } from "./whole";

/** What a person is about to do with a card: choose, change the arguments, or say no. */
export type Mode = "choices" | "edit" | "reject";

interface Props {
  /** `runId` lets it see what becomes of the question elsewhere, too. */
  readonly question: Question;
  /** Told of each answer: taken, refused, closed by others, or replaced by a question about other arguments. */
  readonly onAnswered?: (fate: Fate, question: Question) => void;
  /** Whether what would be done stands above it. */
  readonly isTitled?: boolean;
  /** Whether keys answer it: it is the one question that is open on the page. */
  readonly hasKeys?: boolean;
  /** Where among others it stands, if they go away once answered: what moves under a pointer is as good as new. */
  readonly at?: string;
  readonly mode?: Mode;
  readonly onMode?: (mode: Mode) => void;
}

const SOON_MS = 2_000;

export function QuestionCard({
  question: asked,
  onAnswered,
  isTitled = true,
  hasKeys = false,
  at = "",
  ...held
}: Props): VNode {
  const wholes = useWholes([asked]);
  const question = wholes.questions[0] as Question;
  const fate = useFates().get(question.id);
  const [ownMode, setOwnMode] = useState<Mode>("choices");
  const { mode = ownMode, onMode: setMode = setOwnMode } = held;
  const [isTooSoon, setIsTooSoon] = useState(false);
  const arming = useArming(`${question.id} ${question.argsHash} ${at} ${wholes.areWhole}`);
  const card = useRef<HTMLDivElement>(null);
  const isAsked = isOpen(fate);
  const canEdit = agentOf(question) === null && wholes.areWhole;
  useLookUp(question, isAsked);
  useEffect(() => setIsTooSoon(false), [question.id, arming.isArmed]);

  const isHalf = useAnswerKeys({
    isOn: hasKeys && isAsked && mode === "choices" && wholes.areWhole,
    isElsewhere: () => isAtAnother(card.current),
    arming,
    onApprove: () => void choose("approve_once"),
    onReject: () => setMode("reject"),
    onEdit: () => canEdit && setMode("edit"),
    onTooSoon: () => setIsTooSoon(true),
  });
  const leave = () => {
    setMode("choices");
    card.current?.focus();
  };
  const choose = async (decision: Decision, feedback = "") => {
    setMode("choices");
    // What was focused goes away with the answer.
    card.current?.focus();
    const came = await answer(question, decision, feedback);
    say(told(came).text);
    onAnswered?.(came, question);
  };
  const escaped = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || mode === "choices" || event.isComposing) return;
    event.stopPropagation();
    leave();
  };
  const edited = (came: Fate) => {
    leave();
    say(
      came.step === "replaced" && came.by
        ? "Changed. It waits for you with the new arguments."
        : told(came).text,
    );
    onAnswered?.(came, question);
  };
  const whole = wholePreview(question);
  return (
    // biome-ignore lint/a11y/useSemanticElements: no field set, it has no fields most of the time.
    <div
      ref={card}
      class="question"
      role="group"
      tabIndex={-1}
      aria-label={titleOf(question)}
      onKeyDown={escaped}
    >
      {isTitled && (
        <div class="row ends">
          <h3 dir="auto">{titleOf(question)}</h3>
          {isAsked && <Countdown question={question} />}
        </div>
      )}
      {whole && <Pre text={whole} label="What would be done" />}
      {mode === "edit" && isAsked ? (
        <EditForm key={question.id} question={question} onEdited={edited} onLeft={leave} />
      ) : (
        <Arguments args={question.args} />
      )}
      <Source question={question} />
      {fate && <Outcome fate={fate} />}
      {isAsked && mode === "reject" && (
        <RejectForm
          key={question.id}
          of={question.id}
          onReject={(feedback) => void choose("reject", feedback)}
          onLeft={leave}
        />
      )}
      {isAsked && mode === "choices" && (
        <div class="choices">
          {wholes.areWhole ? (
            <ApproveButton
              {...{ arming, isPrimary: true, onTooSoon: () => setIsTooSoon(true) }}
              onMeant={() => void choose("approve_once")}
            >
              Approve once
            </ApproveButton>
          ) : (
            <Partial of={wholes} />
          )}
          {wholes.areWhole && question.scopes.some((scope) => scope === "document" || scope === "always") && (
            <ApproveButton
              {...{ arming, onTooSoon: () => setIsTooSoon(true) }}
              onMeant={() => void choose("approve_and_always_allow_recipient")}
            >
              Always for {visible(listed(question.subjects))}
              {question.scopes.includes("document") && " in this document"}
            </ApproveButton>
          )}
          {canEdit && (
            <button type="button" onClick={() => setMode("edit")}>
              Edit
            </button>
          )}
          <button type="button" class="danger" onClick={() => setMode("reject")}>
            Reject
          </button>
          <span class="too-soon" role="status">
            {isHalf && "Press a once more to approve, or another key to leave it."}
            {isTooSoon && !isHalf && "That came too soon to be meant. Look at it, then press again."}
          </span>
        </div>
      )}
    </div>
  );
}

/** Whether the focus is at a question of the list that is not the one of this card. */
function isAtAnother(card: HTMLElement | null): boolean {
  const at = document.activeElement?.closest(".ask");
  return Boolean(at && !at.contains(card));
}

/** Once its time is up, ask the server what became of it: its clock counts, not the one here. */
function useLookUp(question: Question, isAsked: boolean): void {
  useRegularly(
    () => {
      if (timeLeft(question, present()) === 0) void lookUp(question);
    },
    isAsked ? SOON_MS : 0,
  );
}
