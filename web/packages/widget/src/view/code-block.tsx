/** Code, with its language and a button that copies it. */

import { Component, createRef, type VNode } from "preact";
import type { Strings } from "../strings";
import { Scroll } from "./scroll";

interface Props {
  readonly text: string;
  readonly language: string;
  readonly strings: Strings;
}

interface State {
  readonly said: "copy" | "copied" | "copyFailed";
}

/** How long a button says what it has done. */
const SAID_MS = 2000;

export class CodeBlock extends Component<Props, State> {
  override state: State = { said: "copy" };
  readonly #code = createRef<HTMLElement>();
  #timer = 0;

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  override render({ text, language, strings }: Props, { said }: State): VNode {
    const name = /^[\w+#.-]{1,20}/.exec(language)?.[0] ?? "";
    return (
      <div class="code">
        <div class="code-head">
          <span>{name}</span>
          <button type="button" class="quiet" onClick={this.#copy}>
            {strings[said]}
          </button>
        </div>
        <Scroll label={name ? `${strings.code} ${name}` : strings.code}>
          <pre>
            <code ref={this.#code}>{text}</code>
          </pre>
        </Scroll>
      </div>
    );
  }

  #copy = async (): Promise<void> => {
    let said: State["said"] = "copied";
    try {
      await navigator.clipboard.writeText(this.props.text);
    } catch {
      // Not allowed here: select it, so that the visitor's own keys copy it.
      said = "copyFailed";
      if (this.#code.current) getSelection()?.selectAllChildren(this.#code.current);
    }
    this.setState({ said });
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.setState({ said: "copy" }), SAID_MS);
  };
}
