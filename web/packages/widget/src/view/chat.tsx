/** The whole chat, as a function of what is known. What it does is in the element. */

import type { Activity, ChatState, Decision } from "@pollux/client";
import type { Question } from "@pollux/protocol";
import type { RefObject, VNode } from "preact";
import { type Strings, worded } from "../strings";
import { Approval } from "./approval";
import { Composer } from "./composer";
import { Icon } from "./icons";
import { Log } from "./log";

export interface ChatProps {
  readonly chat: ChatState;
  readonly strings: Strings;
  readonly draft: string;
  readonly isOpen: boolean;
  readonly isExpanded: boolean;
  /** Whether it can be closed, because it floats above the page. */
  readonly isFloating: boolean;
  readonly canSend: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly onInput: (draft: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly onRetry: () => void;
  readonly onClear: () => void;
  readonly onExpand: () => void;
  readonly onOpen: () => void;
  readonly onClose: () => void;
  /** What the page calls the control that a question is about; empty where that is not known. */
  readonly nameOf: (question: Question) => string;
  readonly onAnswer: (question: Question, decision: Decision) => Promise<void>;
  /** Show it above what covers it: by itself, or because somebody wants it. */
  readonly onRaise: (isWanted: boolean) => void;
}

export function Chat(props: ChatProps): VNode {
  return props.isOpen ? <Panel {...props} /> : <Launcher {...props} />;
}

function Launcher({ chat, strings, onOpen }: ChatProps): VNode {
  const isAsked = chat.approvals.length > 0;
  return (
    <button
      type="button"
      class={isAsked ? "launcher asked" : "launcher"}
      aria-label={isAsked ? strings.openWaiting : strings.open}
      aria-expanded="false"
      onClick={onOpen}
    >
      <Icon name="chat" />
    </button>
  );
}

function Panel(props: ChatProps): VNode {
  const { chat, strings, isExpanded } = props;
  return (
    <section class={isExpanded ? "panel full" : "panel compact"} aria-label={strings.title}>
      <Head {...props} />
      <Log
        // Both modes begin at the end.
        key={String(isExpanded)}
        messages={isExpanded ? chat.messages : lastTurn(chat)}
        activity={chat.activity}
        isBusy={chat.isLoading}
        strings={strings}
      />
      {chat.approvals.length > 0 && (
        <div class="approvals">
          {chat.approvals.map((question) => (
            <Approval
              key={question.id}
              question={question}
              strings={strings}
              nameOf={props.nameOf}
              onAnswer={props.onAnswer}
              onRaise={props.onRaise}
            />
          ))}
        </div>
      )}
      <Trouble {...props} />
      <Status {...props} />
      <Composer {...props} />
    </section>
  );
}

function Head({ chat, strings, isExpanded, isFloating, onClear, onExpand, onClose }: ChatProps): VNode {
  const expand = isExpanded ? strings.collapse : strings.expand;
  return (
    <div class="head">
      <span class="title">{strings.title}</span>
      {chat.messages.length > 0 && (
        <button type="button" class="icon" aria-label={strings.clear} title={strings.clear} onClick={onClear}>
          <Icon name="clear" />
        </button>
      )}
      <button
        type="button"
        class="icon"
        aria-label={expand}
        title={expand}
        aria-expanded={isExpanded}
        onClick={onExpand}
      >
        <Icon name={isExpanded ? "collapse" : "expand"} />
      </button>
      {isFloating && (
        <button type="button" class="icon" aria-label={strings.close} title={strings.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}

function Trouble({ chat, strings, onRetry }: ChatProps): VNode {
  return (
    <div role="alert">
      {chat.error && (
        <div class="trouble">
          <span dir="auto">{worded(strings, chat.error.code, chat.error.message)}</span>
          {chat.error.canRetry && (
            <button type="button" class="quiet" onClick={onRetry}>
              {strings.retry}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** What is going on, in one line that is read out, and the way to stop it. */
function Status({ chat, strings, onStop }: ChatProps): VNode {
  const step = chat.activity.findLast(({ status }) => status === "running");
  const isAsked = chat.approvals.length > 0;
  const isBusy = chat.isLoading || isAsked;
  const said = isAsked ? strings.waiting : chat.isLoading ? wordsOf(step) || strings.thinking : "";
  return (
    <div class={isBusy ? "status busy" : "status"}>
      {isBusy && !isAsked && <span class="spinner" />}
      <span role="status" dir="auto">
        {said}
      </span>
      {isBusy && (
        <button type="button" class="quiet stop" onClick={onStop}>
          {strings.stop}
        </button>
      )}
    </div>
  );
}

/** The last question, and what came of it. */
function lastTurn(chat: ChatState): ChatState["messages"] {
  const start = chat.messages.findLastIndex(({ role }) => role === "user");
  return start < 0 ? chat.messages.slice(-1) : chat.messages.slice(start);
}

/** What is under way: the control by its name, where it has one. */
function wordsOf(step: Activity | undefined): string {
  return step?.subject ? `“${step.subject}”…` : (step?.text ?? "");
}
