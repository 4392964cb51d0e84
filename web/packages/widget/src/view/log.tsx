/** What was said and done. Stays at the end while it grows, unless the reader has scrolled away from there. */

import type { Activity, ChatMessage } from "@pollux/client";
import { Component, createRef, type VNode } from "preact";
import type { Strings } from "../strings";
import { Icon } from "./icons";
import { Message } from "./message";
import { Steps } from "./steps";

interface Props {
  readonly messages: readonly ChatMessage[];
  readonly activity: readonly Activity[];
  readonly isBusy: boolean;
  readonly strings: Strings;
}

interface State {
  readonly isAway: boolean;
}

/** Nearer than this to the end counts as the end, in pixels. */
const NEAR = 40;

export class Log extends Component<Props, State> {
  override state: State = { isAway: false };
  readonly #list = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.#toEnd();
  }

  override componentDidUpdate(before: Props): void {
    const last = this.props.messages.at(-1);
    const isOwn = last?.role === "user" && last.id !== before.messages.at(-1)?.id;
    if (!this.state.isAway || isOwn) this.#toEnd();
  }

  override render({ messages, activity, isBusy, strings }: Props, { isAway }: State): VNode {
    return (
      <div class="log-frame">
        <div
          ref={this.#list}
          class="log"
          role="log"
          aria-live="polite"
          // Read when it is whole, not word by word.
          aria-busy={isBusy}
          aria-label={strings.conversation}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
          tabIndex={0}
          onScroll={this.#scrolled}
        >
          {messages.length === 0 && <p class="greeting">{strings.greeting}</p>}
          {messages.map((message) => (
            <Message key={message.id} message={message} strings={strings} />
          ))}
          <Steps activity={activity} strings={strings} />
        </div>
        {isAway && (
          <button type="button" class="latest" aria-label={strings.latest} onClick={this.#toEnd}>
            <Icon name="down" />
          </button>
        )}
      </div>
    );
  }

  #toEnd = (): void => {
    const list = this.#list.current;
    if (list) list.scrollTop = list.scrollHeight;
  };

  #scrolled = (): void => {
    const list = this.#list.current;
    if (!list) return;
    const isAway = list.scrollHeight - list.scrollTop - list.clientHeight > NEAR;
    if (isAway !== this.state.isAway) this.setState({ isAway });
  };
}
