/** A question before something is done: what exactly, for how long, and Deny nearest to hand.

Approving takes a deliberate act of a person (press.ts), who has had the question in full view for a moment (sight.ts). A
key or a click that was meant for something else approves nothing, nor do clicks that a script makes up. */

import type { Decision, Json } from "@pollux/client";
import type { Question } from "@pollux/protocol";
import { Component, createRef, type VNode } from "preact";
import { exact, remaining, rows, visible } from "../exact";
import { doneTo, filled, type Strings } from "../strings";
import { Icon } from "./icons";
import { Press, type Pressed } from "./press";
import { Scroll } from "./scroll";
import { type Sight, Watch } from "./sight";

/** How long nothing can be approved after the question came up, or after something lay over it. */
const ARMING_MS = 700;
const NEVER = Number.POSITIVE_INFINITY;
/** As often as this it comes before what covers it by itself; then the visitor has to say so. */
const MOST_RAISES = 5;

interface Props {
  readonly question: Question;
  readonly strings: Strings;
  /** What the page calls the control that it is about, where it is about one. */
  readonly nameOf: (question: Question) => string;
  /** Settles when the answer is taken, or could not be. */
  readonly onAnswer: (question: Question, decision: Decision) => Promise<void>;
  /** Show it above what covers it. */
  readonly onRaise: (isWanted: boolean) => void;
}

interface State {
  readonly isArmed: boolean;
  readonly isCovered: boolean;
  /** Whether a key was pressed that may have been meant for something else. */
  readonly isTooSoon: boolean;
  readonly isAnswered: boolean;
  readonly left: number;
  /** The name that is shown. */
  readonly control: string;
}

export class Approval extends Component<Props, State> {
  override state: State = {
    ...{ isArmed: false, isCovered: false, isTooSoon: false, isAnswered: false },
    left: timeLeft(this.props.question),
    control: controlOf(this.props),
  };
  readonly #card = createRef<HTMLDivElement>();
  readonly #approve = new Press(
    (press) => this.#pressed(press),
    () => this.state.isArmed && this.setState({ isTooSoon: true }),
  );
  #watch: Watch | null = null;
  /** Since when nothing lies over it. */
  #openAt = NEVER;
  /** What is said of it keeps its place: were the button to move, it might be covered again. */
  #wasCovered = false;
  #raises = 0;
  #arming = 0;
  #clock = 0;

  override componentDidMount(): void {
    this.#arm();
    const card = this.#card.current;
    const button = card?.querySelector(".approve");
    if (card && button) {
      const texts = [...card.querySelectorAll(".about, .preview, .arguments > .scroll, .reason")];
      this.#watch = new Watch(button, texts, this.#sees);
    }
    this.#clock = window.setInterval(() => {
      this.setState({ left: timeLeft(this.props.question) });
      this.#isAsShown();
    }, 1000);
  }

  override componentWillUnmount(): void {
    this.#watch?.stop();
    clearTimeout(this.#arming);
    clearInterval(this.#clock);
  }

  override render({ question, strings }: Props, state: State): VNode {
    const { isArmed, isCovered, isTooSoon, isAnswered, left, control } = state;
    const isOver = isAnswered || left <= 0;
    const args = argumentsOf(question);
    const isReady = !isOver && isArmed && args !== null;
    const title = `question-${question.id}`;
    const [about, preview] = [aboutOf(question, control, strings), visible(String(question.preview ?? ""))];
    const shown = question.onPage && args ? withoutReferences(args) : args;
    const said = isAnswered
      ? strings.sending
      : left <= 0
        ? strings.expired
        : filled(strings.expires, remaining(left));
    return (
      // biome-ignore lint/a11y/useSemanticElements: no field set, there is no field in it.
      <div ref={this.#card} class="approval" role="group" aria-labelledby={title}>
        <p id={title} class="approval-title">
          <Icon name="lock" />
          {strings.question}
        </p>
        <div class={this.#wasCovered && !isCovered ? "cover over" : "cover"}>
          <p class="covered" role="status">
            {this.#wasCovered ? strings.covered : ""}
          </p>
          {this.#wasCovered && (
            <button type="button" class="raise" onClick={this.#raise}>
              {strings.raise}
            </button>
          )}
        </div>
        <p class="about" dir="auto">
          {about}
        </p>
        <Scroll label={strings.details}>
          {preview && !preview.startsWith(about) && !(control && question.onPage) && (
            <p class="preview" dir="auto">
              {preview}
            </p>
          )}
          {shown ? (
            <Arguments args={shown} question={question} strings={strings} />
          ) : (
            <p class="reason">{strings.unreadable}</p>
          )}
          {question.reason && (
            <p class="reason" dir="auto">
              {strings.reason}: {visible(String(question.reason))}
            </p>
          )}
        </Scroll>
        <p class="time" role="timer" aria-live="off">
          {said}
        </p>
        <p class="soon" role="status">
          {isTooSoon && !isOver ? strings.tooSoon : ""}
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
          <button type="button" class="approve" aria-disabled={!isReady} {...this.#approve.on}>
            {strings.approve}
          </button>
        </div>
      </div>
    );
  }

  #pressed({ at }: Pressed): void {
    if (!this.state.isArmed || at - this.#openAt < ARMING_MS || !argumentsOf(this.props.question)) return;
    if (!this.#isAsShown()) return;
    if (this.#watch?.isClear()) return void this.#answer("approve_once");
    // Half of it is out of view.
    this.#card.current?.querySelector(".approve")?.scrollIntoView({ block: "nearest" });
    this.setState({ isTooSoon: true });
  }

  #sees = (sight: Sight): void => {
    const isCovered = sight === "covered";
    this.#wasCovered ||= isCovered;
    if (isCovered) this.#disarm();
    else if (this.#openAt === NEVER) this.#arm();
    this.setState({ isCovered });
    if (isCovered && this.#raises++ < MOST_RAISES) this.props.onRaise(false);
  };

  /** Whether the page still calls it so. Another name is another question: it has to be read. */
  #isAsShown(): boolean {
    const control = controlOf(this.props);
    if (control === this.state.control) return true;
    const isOpen = this.#openAt !== NEVER;
    this.#disarm();
    if (isOpen) this.#arm();
    this.setState({ control });
    return false;
  }

  #raise = (): void => {
    this.props.onRaise(true);
    // This button will be out of sight.
    this.#card.current?.querySelector<HTMLElement>(".deny")?.focus();
  };

  #arm(): void {
    this.#openAt = performance.now();
    this.#arming = window.setTimeout(() => {
      this.#raises = 0;
      this.setState({ isArmed: true });
    }, ARMING_MS);
  }

  #disarm(): void {
    clearTimeout(this.#arming);
    this.#openAt = NEVER;
    this.setState({ isArmed: false, isTooSoon: false });
  }

  async #answer(decision: Decision): Promise<void> {
    if (this.state.isAnswered || timeLeft(this.props.question) <= 0) return;
    this.setState({ isAnswered: true });
    await this.props.onAnswer(this.props.question, decision);
    // Still here: it could not be taken.
    this.setState({ isAnswered: false });
  }
}

function Arguments(props: {
  args: { [name: string]: Json };
  question: Question;
  strings: Strings;
}): VNode | null {
  const { args, question, strings } = props;
  if (Object.keys(args).length === 0)
    return question.onPage ? null : <p class="reason">{strings.noArguments}</p>;
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
      {!question.onPage && (
        <details>
          <summary>{strings.exact}</summary>
          <Scroll label={strings.exact}>
            <pre dir="ltr">
              {visible(question.tool)} {exact(args)}
            </pre>
          </Scroll>
        </details>
      )}
    </div>
  );
}

/** What is asked about, in a line that is always in view: the tool, and whom or what it would reach. */
function aboutOf({ tool, subjects, onPage, preview }: Question, control: string, strings: Strings): string {
  // Of the page's own controls the visitor knows the words that stand there, not what a tool calls them.
  if (onPage && control) return visible(doneTo(control, tool, strings));
  if (onPage && preview) return visible(String(preview));
  const whom = Array.isArray(subjects) ? subjects.join(", ") : "";
  return visible(whom ? `${tool} ${filled(strings.about, whom)}` : String(tool));
}

/** By these a call says which control it is about: the control's own words stand for them. */
const REFERENCES = new Set(["ref", "coordinate", "refName"]);

function withoutReferences(args: { [name: string]: Json }): { [name: string]: Json } {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !REFERENCES.has(name)));
}

function controlOf({ question, nameOf }: Props): string {
  return question.onPage ? nameOf(question) : "";
}

/** Milliseconds. A question that does not say when it ends has ended. */
function timeLeft(question: Question): number {
  return Date.parse(question.expiresAt) - Date.now() || 0;
}

/** What exactly would be done; null where that cannot be told, so that nobody can agree to it. */
function argumentsOf({ args }: Question): { [name: string]: Json } | null {
  const isTold = typeof args === "object" && args !== null && !Array.isArray(args);
  return isTold ? (args as { [name: string]: Json }) : null;
}
