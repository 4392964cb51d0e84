/** A question before something is done: what exactly, for how long, and Deny nearest to hand.

Approving takes a deliberate act of a person. It is not possible in the first moments, when a key or a click may have
been meant for something else; not by a key that is held down; and not by clicks that a script makes up. */

import type { Decision, Json } from "@pollux/client";
import type { Question } from "@pollux/protocol";
import { Component, type VNode } from "preact";
import { exact, remaining, rows, visible } from "../exact";
import { filled, type Strings } from "../strings";
import { Icon } from "./icons";
import { Scroll } from "./scroll";

/** How long nothing can be approved after the question came up. */
const ARMING_MS = 700;

interface Props {
  readonly question: Question;
  readonly strings: Strings;
  /** Settles when the answer is taken, or could not be. */
  readonly onAnswer: (question: Question, decision: Decision) => Promise<void>;
}

interface State {
  readonly isArmed: boolean;
  readonly isAnswered: boolean;
  readonly left: number;
}

export class Approval extends Component<Props, State> {
  override state: State = { isArmed: false, isAnswered: false, left: timeLeft(this.props.question) };
  #arming = 0;
  #clock = 0;

  override componentDidMount(): void {
    this.#arming = window.setTimeout(() => this.setState({ isArmed: true }), ARMING_MS);
    this.#clock = window.setInterval(() => this.setState({ left: timeLeft(this.props.question) }), 1000);
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#arming);
    clearInterval(this.#clock);
  }

  override render({ question, strings }: Props, { isArmed, isAnswered, left }: State): VNode {
    const isOver = isAnswered || left <= 0;
    const title = `question-${question.id}`;
    const said = isAnswered
      ? strings.sending
      : left <= 0
        ? strings.expired
        : filled(strings.expires, remaining(left));
    const subjects = subjectsOf(question);
    return (
      // biome-ignore lint/a11y/useSemanticElements: no field set, there is no field in it.
      <div class="approval" role="group" aria-labelledby={title}>
        <p id={title} class="approval-title">
          <Icon name="lock" />
          {strings.question}
        </p>
        <p class="preview" dir="auto">
          {visible(question.preview || question.tool)}
        </p>
        <Arguments args={question.args as { [name: string]: Json }} tool={question.tool} strings={strings} />
        {question.reason && (
          <p class="reason" dir="auto">
            {strings.reason}: {visible(question.reason)}
          </p>
        )}
        <p class="time" role="timer" aria-live="off">
          {said}
        </p>
        <div class="choices">
          {/* Not disabled: that would lose the focus of who has just pressed it. */}
          <button
            type="button"
            class="deny"
            aria-disabled={isOver}
            onClick={() => void this.#answer("reject")}
          >
            {strings.deny}
          </button>
          <button
            type="button"
            class="approve"
            aria-disabled={isOver || !isArmed}
            onKeyDown={refuseRepeats}
            onClick={(event) => this.#approve(event, "approve_once")}
          >
            {strings.approve}
          </button>
          {subjects.length > 0 && (
            <button
              type="button"
              class="always"
              aria-disabled={isOver || !isArmed}
              onKeyDown={refuseRepeats}
              onClick={(event) => this.#approve(event, "approve_and_always_allow_recipient")}
            >
              {filled(strings.always, visible(subjects.join(", ")))}
            </button>
          )}
        </div>
      </div>
    );
  }

  #approve(event: Event, decision: Decision): void {
    if (event.isTrusted && this.state.isArmed) void this.#answer(decision);
  }

  async #answer(decision: Decision): Promise<void> {
    if (this.state.isAnswered || timeLeft(this.props.question) <= 0) return;
    this.setState({ isAnswered: true });
    await this.props.onAnswer(this.props.question, decision);
    // Still here: it could not be taken.
    this.setState({ isAnswered: false });
  }
}

function Arguments(props: { args: { [name: string]: Json }; tool: string; strings: Strings }): VNode {
  const { args, tool, strings } = props;
  if (Object.keys(args).length === 0) return <p class="reason">{strings.noArguments}</p>;
  return (
    <div class="arguments">
      <Scroll label={strings.table}>
        <table>
          <thead class="unseen">
            <tr>
              <th scope="col">{strings.name}</th>
              <th scope="col">{strings.value}</th>
            </tr>
          </thead>
          <tbody>
            {rows(args).map(([name, text]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td dir="auto">{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <details>
        <summary>{strings.exact}</summary>
        <Scroll label={strings.exact}>
          <pre dir="ltr">
            {visible(tool)} {exact(args)}
          </pre>
        </Scroll>
      </details>
    </div>
  );
}

function refuseRepeats(event: KeyboardEvent): void {
  if (event.repeat) event.preventDefault();
}

function timeLeft(question: Question): number {
  return Date.parse(question.expiresAt) - Date.now();
}

/** Whom it may be allowed for once and for all, where the server offers that. */
function subjectsOf(question: Question & { readonly subjects?: readonly string[] }): readonly string[] {
  return question.subjects ?? [];
}
