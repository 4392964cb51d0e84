/** Several questions at once. Each is answered by itself, with what it was shown with, and has an outcome of its own. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Refusal } from "../../door";
import { Arguments } from "../../parts/arguments";
import { Dialog } from "../../parts/dialog";
import { say } from "../../parts/said";
import { answer } from "./answers";
import { type Decision, type Fate, told } from "./fate";
import { ApproveButton, useArming } from "./meant";
import { listed, type Question, titleOf } from "./question";
import { RejectForm } from "./reject";
import { Partial, useWholes } from "./whole";

/** How often an answer is tried that came too soon after others, and how long after. */
const MOST_TRIES = 60;
const TURN_MS = 1_000;

interface Props {
  /** As they are when the dialog opens: what comes later is not among them. */
  readonly questions: readonly Question[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function ApproveSeveral({ questions: asked, onClose, onDone }: Props): VNode {
  const wholes = useWholes(asked);
  const { questions } = wholes;
  const arming = useArming(`several ${wholes.areWhole}`);
  const [isTooSoon, setIsTooSoon] = useState(false);
  const approve = () => {
    onDone();
    void answerAll(questions, "approve_once");
  };
  return (
    <Dialog title={`Approve ${counted(questions)} at once?`} onClose={onClose}>
      <p>Each of these is done once you approve. Nothing else is.</p>
      <Those questions={questions} />
      <div class="row">
        {wholes.areWhole ? (
          <ApproveButton
            {...{ arming, isPrimary: true, onMeant: approve }}
            onTooSoon={() => setIsTooSoon(true)}
          >
            Approve {counted(questions)}
          </ApproveButton>
        ) : (
          <Partial of={wholes} />
        )}
        <button type="button" onClick={onClose}>
          Do not answer yet
        </button>
      </div>
      <p class="too-soon" role="status">
        {isTooSoon && "That came too soon to be meant. Look at them, then press again."}
      </p>
    </Dialog>
  );
}

export function RejectSeveral({ questions, onClose, onDone }: Props): VNode {
  return (
    <Dialog title={`Reject ${counted(questions)}?`} onClose={onClose}>
      <Those questions={questions} />
      <RejectForm
        of={questions.map(({ id }) => id).join(" ")}
        label={`Reject ${counted(questions)}`}
        onLeft={onClose}
        onReject={(feedback) => {
          onDone();
          void answerAll(questions, "reject", feedback);
        }}
      />
    </Dialog>
  );
}

function Those({ questions }: { questions: readonly Question[] }): VNode {
  return (
    <ul class="those">
      {questions.map((question) => (
        <li key={question.id}>
          <details>
            <summary>
              <span dir="auto">{titleOf(question)}</span>
              <span class="ask-about">
                {visible(question.tool)}
                {question.subjects.length > 0 && ` for ${visible(listed(question.subjects))}`}
              </span>
            </summary>
            <Arguments args={question.args} />
          </details>
        </li>
      ))}
    </ul>
  );
}

/** One after the other. What becomes of one does not touch the rest. */
async function answerAll(questions: readonly Question[], decision: Decision, feedback = ""): Promise<void> {
  let count = 0;
  for (const question of questions) {
    const fate = await patientAnswer(question, decision, feedback);
    if (fate.step === "taken") count++;
    else if (questions.length === 1) return say(told(fate).text);
  }
  const word = decision === "reject" ? "rejected" : "approved";
  const rest = questions.length - count;
  say(`${count} ${word}.${rest > 0 ? ` ${rest} could not be answered: see there why.` : ""}`);
}

/** A server takes only so many requests in a while. The rest of many answers waits for its turn. */
async function patientAnswer(question: Question, decision: Decision, feedback: string): Promise<Fate> {
  let fate = await answer(question, decision, feedback);
  for (let tries = 0; isTooMany(fate) && tries < MOST_TRIES; tries++) {
    await new Promise((go) => setTimeout(go, TURN_MS));
    fate = await answer(question, decision, feedback);
  }
  return fate;
}

function isTooMany(fate: Fate): boolean {
  return fate.step === "refused" && fate.problem instanceof Refusal && fate.problem.status === 429;
}

function counted(questions: readonly Question[]): string {
  return questions.length === 1 ? "one question" : `${questions.length} questions`;
}
