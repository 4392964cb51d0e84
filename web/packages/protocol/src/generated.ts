// Made from schema/ by generate.mjs, and not to be changed by hand.

export type RunLine =
  StatusLine | DeltaLine | ThoughtLine | ToolCallLine | RestartLine | ResultLine | ErrorLine;
export type PageLine =
  | BegunLine
  | DeltaLine
  | ThoughtLine
  | ToolCallLine
  | RestartLine
  | ErrorLine
  | Response
  | ToolCalls
  | ApprovalRequired;
export type JournalLine =
  | DeltaLine
  | ThoughtLine
  | OutputLine
  | RestartLine
  | ErrorLine
  | {
      type: "RunStarted";
      seq: number;
      data: RunStarted;
    }
  | {
      type: "RunClaimed";
      seq: number;
      data: RunClaimed;
    }
  | {
      type: "PageShown";
      seq: number;
      data: PageShown;
    }
  | {
      type: "ModelCalled";
      seq: number;
      data: ModelCalled;
    }
  | {
      type: "ModelReplied";
      seq: number;
      data: ModelReplied;
      cost: number | null;
    }
  | {
      type: "ModelFailed";
      seq: number;
      data: ModelFailed;
    }
  | {
      type: "ActionDecided";
      seq: number;
      data: ActionDecided;
    }
  | {
      type: "CallRefused";
      seq: number;
      data: CallRefused;
    }
  | {
      type: "ActionStarted";
      seq: number;
      data: ActionStarted;
    }
  | {
      type: "ActionNoted";
      seq: number;
      data: ActionNoted;
    }
  | {
      type: "ToolObserved";
      seq: number;
      data: ToolObserved;
    }
  | {
      type: "ActionHandedOver";
      seq: number;
      data: ActionHandedOver;
      childRunId: string;
    }
  | {
      type: "ActionCompleted";
      seq: number;
      data: ActionCompleted;
    }
  | {
      type: "ActionFailed";
      seq: number;
      data: ActionFailed;
    }
  | {
      type: "ActionReconciled";
      seq: number;
      data: ActionReconciled;
    }
  | {
      type: "ActionSettled";
      seq: number;
      data: ActionSettled;
    }
  | {
      type: "ApprovalResolved";
      seq: number;
      data: ApprovalResolved;
    }
  | {
      type: "HistoryCompressed";
      seq: number;
      data: HistoryCompressed;
      cost: number | null;
    }
  | {
      type: "TimeReached";
      seq: number;
      data: TimeReached;
    }
  | {
      type: "CancelRequested";
      seq: number;
      data: CancelRequested;
    }
  | {
      type: "RunRestored";
      seq: number;
      data: RunRestored;
    }
  | {
      type: "RunCompleted";
      seq: number;
      data: RunCompleted;
    }
  | {
      type: "RunFailed";
      seq: number;
      data: RunFailed;
    }
  | {
      type: "RunCancelled";
      seq: number;
      data: RunCancelled;
    };
export type RunbookLine =
  | RunbookStartedLine
  | RunbookFinishedLine
  | BlockStartedLine
  | BlockOutputLine
  | BlockFinishedLine
  | BlockApprovalRequiredLine
  | BlockApprovalResponseLine
  | AgentToolApprovalRequiredLine
  | AgentToolApprovalResponseLine
  | AgentToolObservedLine
  | AgentStateChangedLine
  | ErrorLine;

/**
 * Everything that a browser and the server say to one another.
 */
export interface Protocol {
  RunLine?: RunLine;
  PageLine?: PageLine;
  JournalLine?: JournalLine;
  RunbookLine?: RunbookLine;
  AcpAgentView?: AcpAgentView;
  ActionView?: ActionView;
  AgentProgress?: AgentProgress;
  AgentView?: AgentView;
  ApprovalRequired?: ApprovalRequired;
  ApprovalView?: ApprovalView;
  AttachmentBody?: AttachmentBody;
  AttachmentView?: AttachmentView;
  AuditHead?: AuditHead;
  AuditHealth?: AuditHealth;
  AuditPage?: AuditPage;
  AuditVerified?: AuditVerified;
  AuditView?: AuditView;
  BlockBody?: BlockBody;
  BlockProgress?: BlockProgress;
  BlockView?: BlockView;
  CallView?: CallView;
  CapabilitiesView?: CapabilitiesView;
  ConnectView?: ConnectView;
  Connected?: Connected;
  DayView?: DayView;
  Disconnected?: Disconnected;
  DocumentBody?: DocumentBody;
  DocumentView?: DocumentView;
  Done?: Done;
  EditBody?: EditBody;
  Edited?: Edited;
  ErrorAnswer?: ErrorAnswer;
  ErrorDetail?: ErrorDetail;
  GoogleHealth?: GoogleHealth;
  GoogleStatus?: GoogleStatus;
  GrantPage?: GrantPage;
  GrantView?: GrantView;
  Health?: Health;
  HealthView?: HealthView;
  InternalAgentView?: InternalAgentView;
  KnownAgent?: KnownAgent;
  LeftOut?: LeftOut;
  LeftOutTool?: LeftOutTool;
  MessagePage?: MessagePage;
  MessageView?: MessageView;
  ModelUsage?: ModelUsage;
  NoticeView?: NoticeView;
  OutcomeView?: OutcomeView;
  PendingAnswer?: PendingAnswer;
  PendingCall?: PendingCall;
  PendingPage?: PendingPage;
  PendingTool?: PendingTool;
  PendingView?: PendingView;
  ProgramView?: ProgramView;
  Question?: Question;
  RenameBody?: RenameBody;
  ResolveBody?: ResolveBody;
  Resolved?: Resolved;
  Response?: Response;
  ResultView?: ResultView;
  ResumeBody?: ResumeBody;
  RunBody?: RunBody;
  RunPage?: RunPage;
  RunRowView?: RunRowView;
  RunView?: RunView;
  RunbookItem?: RunbookItem;
  RunbookModels?: RunbookModels;
  RunbookPage?: RunbookPage;
  RunbookQuestion?: RunbookQuestion;
  RunbookRunItem?: RunbookRunItem;
  RunbookRunPage?: RunbookRunPage;
  RunbookRunView?: RunbookRunView;
  RunbookSettings?: RunbookSettings;
  RunbookStartBody?: RunbookStartBody;
  SendBody?: SendBody;
  SessionAnswer?: SessionAnswer;
  SessionBody?: SessionBody;
  SessionItem?: SessionItem;
  SessionList?: SessionList;
  SessionView?: SessionView;
  SettleBody?: SettleBody;
  SignInBody?: SignInBody;
  StoreHealth?: StoreHealth;
  SubmitBody?: SubmitBody;
  ThreadAnswer?: ThreadAnswer;
  ThreadPage?: ThreadPage;
  ThreadView?: ThreadView;
  TokenUsage?: TokenUsage;
  ToolApprovalAnswer?: ToolApprovalAnswer;
  ToolApprovalBody?: ToolApprovalBody;
  ToolCalls?: ToolCalls;
  UnknownPage?: UnknownPage;
  UnknownView?: UnknownView;
  UsageDays?: UsageDays;
  UsageView?: UsageView;
}
/**
 * The first line: the run has begun, and this is how to find it again.
 */
export interface StatusLine {
  type: "status";
  status: "planning";
  threadId: string;
  runId: string;
}
/**
 * Some more text of the answer. In a journal's stream it tells where in its turn it belongs.
 */
export interface DeltaLine {
  type: "delta";
  delta: string;
  turn?: number;
  offset?: number;
}
/**
 * Some more of the thinking that the model shows.
 */
export interface ThoughtLine {
  type: "thought_delta";
  delta: string;
  turn?: number;
  offset?: number;
}
/**
 * An action was taken on, and the policy has judged it.
 */
export interface ToolCallLine {
  type: "tool_call";
  id: string;
  toolName: string;
  preview: string;
}
/**
 * The answer begins anew: drop what was shown of this turn.
 */
export interface RestartLine {
  type: "turn_restarted";
  turn: number;
}
/**
 * The last line: the run as the sync route tells it, also when it failed.
 */
export interface ResultLine {
  type: "result";
  result: RunView;
}
/**
 * A run as its caller sees it. `status` is one of three words; `state` is exact.
 */
export interface RunView {
  finishReason?: "length";
  incomplete?: true;
  cut?: true;
  ok: true;
  runId: string;
  threadId: string;
  status: "awaiting_confirmation" | "completed" | "failed";
  state: "awaiting_confirmation" | "cancelled" | "completed" | "executing" | "failed" | "planning" | "queued";
  summary: string;
  actions: ActionView[];
  approvals: ApprovalView[];
  usage: UsageView;
  profile: string;
  model: string;
  createdAt: string;
  updatedAt: string;
  cost: number | null;
  endedAt: string | null;
  errorCode: string | null;
  connectUrl: string | null;
  refused: string;
}
/**
 * What was taken on, and what became of it.
 */
export interface ActionView {
  id: string;
  tool: string;
  status: "awaiting_confirmation" | "completed" | "failed";
  state: "awaiting_confirmation" | "completed" | "executing" | "failed" | "planned" | "rejected";
  requiresApproval: boolean;
  errorCode: string | null;
  message: string | null;
  approvalId: string | null;
}
/**
 * A question that waits: exactly the arguments that would run.
 */
export interface ApprovalView {
  id: string;
  tool: string;
  reason: string;
  preview: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: string;
  subjects: string[];
  provenance: string[];
  scopes: ("always" | "document" | "session" | "tool")[];
}
/**
 * Tokens.
 */
export interface UsageView {
  input: number;
  output: number;
  thoughts: number;
  cached: number;
  total: number;
}
/**
 * The last line where no run can be told: this process stops, or the store is in trouble.
 */
export interface ErrorLine {
  type: "error";
  error: string;
  code: string;
  runId?: string;
}
/**
 * The first line of a stream: the agent is at it, and this is its run.
 */
export interface BegunLine {
  type: "status";
  status: "planning";
  runId: string;
}
/**
 * The agent's answer. `code` says why, where it stopped before it was done.
 */
export interface Response {
  type: "response";
  message: string;
  history: unknown[];
  runId: string;
  code?: string;
  leftOut?: LeftOut;
  finishReason?: "length";
  incomplete?: true;
  cut?: true;
}
/**
 * What of the page's tools could not be offered, for whoever builds the page: how many, and the first of them.
 */
export interface LeftOut {
  count: number;
  tools: LeftOutTool[];
}
/**
 * A tool of the page that the model does not hear of, and why.
 */
export interface LeftOutTool {
  name: string;
  why: string;
}
/**
 * Calls for the page. Results go to submit-tool-results, with this history.
 */
export interface ToolCalls {
  type: "tool-calls";
  calls: PendingCall[];
  history: unknown[];
  runId: string;
  leftOut?: LeftOut;
}
/**
 * A call for the page to execute, once.
 */
export interface PendingCall {
  id: string;
  name: string;
  args: {
    [k: string]: unknown;
  };
  expiresIn: number;
  category: "page-automation";
}
/**
 * Questions for the user. When they are answered, submit-tool-results goes on, with this history.
 */
export interface ApprovalRequired {
  type: "approval-required";
  approvals: Question[];
  calls: PendingCall[];
  history: unknown[];
  runId: string;
  leftOut?: LeftOut;
}
/**
 * What a person has to answer before the server acts.
 */
export interface Question {
  id: string;
  tool: string;
  reason: string;
  preview: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: string;
  expiresIn: number;
  subjects: string[];
  scopes: ("always" | "document" | "session" | "tool")[];
  onPage?: boolean;
}
/**
 * Something that a tool shows while it works. It is not kept: what counts is in the result.
 */
export interface OutputLine {
  type: "tool_output";
  actionId: string;
  stream: string;
  text: string;
}
/**
 * A prompt was accepted into a thread.
 */
export interface RunStarted {
  run_id: string;
  thread_id: string;
  user: string;
  door: string;
  origin: string;
  profile: string;
  model: string;
  prompt: Message;
  limits: Limits;
  at: number;
  on_reject: "answer" | "fail";
  interactive: boolean;
  deadline: number | null;
  parent: Parent | null;
  head: number;
  compressed?: Compressed | null;
  context_tokens: number;
  instructions: string;
  rules: Rule[];
  document: Document | null;
  sources: string[];
  request: string;
  page: Page | null;
  keep_seconds: number | null;
  restored: boolean;
}
/**
 * One turn of a thread. A `notice` is shown to people and never sent to a model.
 */
export interface Message {
  role: "assistant" | "notice" | "tool" | "user";
  parts: (Text | Thought | Blob | FileRef | ToolCall | ToolResult)[];
  pinned: boolean;
  sources: string[];
  cut: boolean;
}
/**
 * Plain text.
 */
export interface Text {
  text: string;
  type: "text";
}
/**
 * What the model showed of its thinking. Never sent to another provider.
 */
export interface Thought {
  text: string;
  type: "thought";
}
/**
 * An image or file carried inline.
 */
export interface Blob {
  mime: string;
  name: string | null;
  type: "blob";
  size: number;
}
/**
 * A file that the provider can fetch for itself.
 */
export interface FileRef {
  mime: string;
  uri: string;
  type: "file";
}
/**
 * What the model asked for. `minted` means the provider gave no id and this one is ours.
 */
export interface ToolCall {
  id: string;
  name: string;
  args: {
    [k: string]: unknown;
  };
  minted: boolean;
  facts: CallFacts | null;
  type: "tool_call";
}
/**
 * What our own code knows of a call beside its arguments. No model, page, agent or document can write it.
 */
export interface CallFacts {
  rendered_from: string[];
  placed_by: string[];
  capabilities: string[];
  accepted: never[][] | null;
  made_from: never[][];
  places: string[];
}
/**
 * The answer to one call, as the model sees it.
 */
export interface ToolResult {
  call_id: string;
  name: string;
  result: unknown;
  is_error: boolean;
  type: "tool_result";
}
/**
 * What a run may spend. Checked before each model call; None means no limit of that kind.
 */
export interface Limits {
  model_calls: number;
  tokens: number | null;
  seconds: number | null;
  approval_seconds: number;
  page_seconds: number;
  compress_at: number | null;
  answer_bytes: number;
  answer_seconds: number;
  idle_seconds: number;
  tries: number;
  retry_seconds: number;
}
/**
 * The action of another run that this run answers.
 */
export interface Parent {
  run_id: string;
  action_id: string;
  root: string;
}
/**
 * A summary standing for the thread's messages up to and including number `upto`.
 */
export interface Compressed {
  upto: number;
  summary: Message;
  tokens: number;
}
/**
 * One line of a policy. Patterns are shell wildcards; conditions in `where` look at the parsed arguments.
 */
export interface Rule {
  decision: "allow" | "deny" | "require_approval";
  tool: string;
  args: string | null;
  subjects: string[] | null;
  provenance: string[] | null;
  door: string;
  profile: string;
  user: string;
  interactive: boolean | null;
  tier: "admin" | "default" | "extension" | "user" | "workspace";
  priority: number;
  reason: string;
  name: string;
  grantable: boolean;
  where: Condition[];
  interface: string[] | null;
  interface_not: string[];
  asker: string[] | null;
  capabilities: string[] | null;
  document: ("trusted" | "untrusted") | null;
  rendered_from: string[] | null;
  placed_by: string[] | null;
}
/**
 * One condition: `path` leads to values of the arguments, `operator` compares each of them with `value`.
 */
export interface Condition {
  path: string;
  operator:
    | "above"
    | "address"
    | "at_least"
    | "at_most"
    | "below"
    | "equals"
    | "file"
    | "glob"
    | "host"
    | "matches"
    | "one_of"
    | "prefix";
  value: unknown;
}
/**
 * The runbook that a run follows: a hash of its text and its place, and whether a person accepted it as it is.
 */
export interface Document {
  digest: string;
  is_trusted: boolean;
}
/**
 * What the model is told of a page, and the tools that the page brings. They run there, not here.
 */
export interface Page {
  told: string;
  tools: ToolSpec[];
  private: string[];
  consequential: string[];
  sending: string[];
  names: never[][];
}
/**
 * What model and policy may know of a tool.
 */
export interface ToolSpec {
  name: string;
  description: string;
  input_schema: {
    [k: string]: unknown;
  };
  side_effect: boolean;
  default_approval: ("not_required" | "required") | null;
  repeat: ("checkable" | "keyed" | "once" | "repeatable") | null;
  parallel: boolean;
  where: "child" | "here" | "page";
  timeout: number | null;
  schema_hash: string;
}
/**
 * A driver took the run. What an older driver had in flight is interrupted from now on.
 */
export interface RunClaimed {
  epoch: number;
  driver: string;
  at: number;
}
/**
 * The page in which the agent works shows something else, or offers other tools.
 */
export interface PageShown {
  page: Page;
  at: number;
}
/**
 * A model call is about to be made. Committed before it is, so that a crash loop cannot spend without end.
 */
export interface ModelCalled {
  epoch: number;
  turn: number;
  attempt: number;
  at: number;
}
/**
 * The model finished an answer.
 */
export interface ModelReplied {
  epoch: number;
  turn: number;
  attempt: number;
  message: Message;
  stop: "bad_call" | "blocked" | "empty" | "end" | "length" | "other" | "tool_calls" | "truncated";
  usage: Usage;
  at: number;
  reason: string;
  detail: string;
}
/**
 * Tokens of one or several model calls. `thoughts` is part of `output`; `cached` is part of `input`.
 */
export interface Usage {
  input: number;
  output: number;
  thoughts: number;
  cached: number;
}
/**
 * A model call failed. With `retry_at` it will be tried again then, without it the run fails.
 */
export interface ModelFailed {
  epoch: number;
  turn: number;
  attempt: number;
  kind:
    | (
        | "auth"
        | "bad_request"
        | "block"
        | "connection"
        | "not_found"
        | "overloaded"
        | "protocol"
        | "rate_limit"
        | "server"
        | "timeout"
      )
    | ("instructions" | "internal" | "interrupted");
  message: string;
  at: number;
  retry_at: number | null;
}
/**
 * The policy answered for a call, or a person edited its arguments and the policy answered again.
 */
export interface ActionDecided {
  epoch: number;
  action: Action;
  at: number;
  supersedes: string | null;
}
/**
 * What we took responsibility for: one call, its canonical arguments, its decision and its fate.
 */
export interface Action {
  id: string;
  call: ToolCall;
  turn: number;
  tool: string;
  args: {
    [k: string]: unknown;
  };
  args_hash: string;
  schema_hash: string;
  decided_at: number;
  side_effect: boolean;
  repeat: "checkable" | "keyed" | "once" | "repeatable";
  parallel: boolean;
  where: "child" | "here" | "page";
  decision: Decision | null;
  subjects: string[];
  provenance: string[];
  preview: string;
  approval: Approval | null;
  started: Start | null;
  handed_over: boolean;
  interrupted: boolean;
  unhappened: boolean;
  note: unknown;
  outcome: Outcome | null;
  edited_by: string;
  asker: string;
  asked: number;
  observed: number;
  definition: string;
}
/**
 * The policy's answer. `rule` names what spoke, for the person who wonders why.
 */
export interface Decision {
  mode: "allow" | "deny" | "require_approval";
  reason: string;
  rule: string;
  grants: string[];
  granted_by: string[];
}
/**
 * A durable question to a person. It is about one hash of arguments, one schema, and has one answer.
 */
export interface Approval {
  id: string;
  args_hash: string;
  schema_hash: string;
  reason: string;
  preview: string;
  requested_at: number;
  expires_at: number;
  resolution: Resolution | null;
  scopes: ("always" | "document" | "session" | "tool")[];
}
/**
 * A person's answer to an approval, or what closed it instead.
 */
export interface Resolution {
  status: "approved" | "expired" | "pending" | "rejected" | "superseded" | "withdrawn";
  at: number;
  by: string;
  feedback: string;
  scope: ("always" | "document" | "session" | "tool") | null;
}
/**
 * An attempt that was announced before it was made. `deadline` is for those who answer from outside.
 */
export interface Start {
  epoch: number;
  attempt: number;
  at: number;
  deadline: number | null;
}
/**
 * How an action ended. `result` is what the model reads, also for a failure.
 */
export interface Outcome {
  status: "completed" | "failed" | "rejected";
  result: unknown;
  at: number;
  code: string;
  message: string;
  connect_url: string;
}
/**
 * A call that nothing can answer: an unknown tool, arguments that do not fit, or an account not connected.
 */
export interface CallRefused {
  epoch: number;
  call_id: string;
  code: "auth_error" | "invalid_args" | "unknown_tool";
  message: string;
  at: number;
  connect_url: string;
}
/**
 * An attempt is about to be made. Committed before it is: after a crash we know that it may have happened.
 */
export interface ActionStarted {
  epoch: number;
  action_id: string;
  attempt: number;
  at: number;
  deadline: number | null;
}
/**
 * A tool wrote down how far it came, before it went on: whoever takes the action up again reads it first.
 */
export interface ActionNoted {
  epoch: number;
  action_id: string;
  attempt: number;
  note: unknown;
  at: number;
}
/**
 * A foreign agent did something by itself, without asking. It is written down, and was never gated.
 */
export interface ToolObserved {
  epoch: number;
  action_id: string;
  tool: string;
  title: string;
  status: string;
  at: number;
}
/**
 * A child run was set going; its end will answer the action.
 */
export interface ActionHandedOver {
  epoch: number;
  action_id: string;
  attempt: number;
  at: number;
}
/**
 * An attempt succeeded. A page's or child's answer has the epoch in which it was asked.
 */
export interface ActionCompleted {
  epoch: number;
  action_id: string;
  attempt: number;
  result: unknown;
  at: number;
  sources: string[];
}
/**
 * An attempt failed, or the policy changed its mind before one was made (attempt 0).
 */
export interface ActionFailed {
  epoch: number;
  action_id: string;
  attempt: number;
  code: string;
  message: string;
  at: number;
  connect_url: string;
  sources: string[];
}
/**
 * A look at the world told whether an interrupted attempt had happened.
 */
export interface ActionReconciled {
  epoch: number;
  action_id: string;
  outcome: "done" | "not_done" | "unknown";
  at: number;
  result: unknown;
  detail: string;
}
/**
 * A person found out what became of an action whose outcome was unknown.
 */
export interface ActionSettled {
  action_id: string;
  outcome: "done" | "not_done";
  by: string;
  at: number;
}
/**
 * A person answered. `scope` means: and do not ask again for these recipients.
 */
export interface ApprovalResolved {
  approval_id: string;
  decision: "approved" | "rejected";
  by: string;
  at: number;
  feedback: string;
  scope: ("always" | "document" | "session" | "tool") | null;
}
/**
 * A summary was made for the older part of the thread, or refused.
 */
export interface HistoryCompressed {
  epoch: number;
  turn: number;
  status: "compressed" | "failed" | "refused_empty" | "refused_larger";
  tokens_before: number;
  tokens_after: number;
  at: number;
  compressed?: Compressed | null;
  usage: Usage;
}
/**
 * The clock reached the run's `wake_at`: whatever was due by then has happened.
 */
export interface TimeReached {
  at: number;
}
/**
 * Somebody wants the run to stop.
 */
export interface CancelRequested {
  by: string;
  at: number;
  reason: "parent" | "superseded" | "timeout" | "user";
}
/**
 * The store was put back from a backup: what was owed then may have been done since. A person knows of it.
 */
export interface RunRestored {
  by: string;
  at: number;
}
/**
 * The run ended with an answer.
 */
export interface RunCompleted {
  at: number;
}
/**
 * The run ended without one.
 */
export interface RunFailed {
  code: string;
  message: string;
  at: number;
  connect_url: string;
}
/**
 * The run was stopped, and nothing of it is in flight any more.
 */
export interface RunCancelled {
  at: number;
}
export interface RunbookStartedLine {
  type: "runbookStarted";
  data: RunbookStarted;
}
export interface RunbookStarted {
  within?: string;
  runId: string;
  name: string;
}
/**
 * The last line, unless it is of a runbook inside another one.
 */
export interface RunbookFinishedLine {
  type: "runbookFinished";
  data: RunbookFinished;
}
export interface RunbookFinished {
  within?: string;
  runId: string;
  status: "cancelled" | "completed" | "failed";
  code: string;
  error: string;
  summary: string;
}
export interface BlockStartedLine {
  type: "blockStarted";
  data: BlockStarted;
}
/**
 * `startedAt` is in seconds since 1970.
 */
export interface BlockStarted {
  within?: string;
  blockId: string;
  name: string;
  blockType: string;
  startedAt: number;
  lifecycle: Lifecycle;
}
export interface Lifecycle {
  type: "cancelled" | "error" | "finished" | "paused" | "started";
  exitCode?: number | null;
  success?: boolean;
  message?: string;
}
/**
 * What a block shows while it works; who comes late is told the end of it. What counts is in `blockFinished`.
 */
export interface BlockOutputLine {
  type: "blockOutput";
  data: BlockOutput;
}
export interface BlockOutput {
  within?: string;
  blockId: string;
  stdout?: string;
  stderr?: string;
}
export interface BlockFinishedLine {
  type: "blockFinished";
  data: BlockFinished;
}
export interface BlockFinished {
  within?: string;
  blockId: string;
  name: string;
  blockType: string;
  success: boolean;
  code: string;
  error: string;
  seconds: number;
  lifecycle: Lifecycle;
  object: {
    [k: string]: unknown;
  };
}
export interface BlockApprovalRequiredLine {
  type: "blockApprovalRequired";
  data: BlockApprovalRequired;
}
export interface BlockApprovalRequired {
  within?: string;
  blockId: string;
  runId: string;
  approvalId: string;
  preview: string;
  reason: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: number;
  name: string;
  lifecycle: Lifecycle;
}
export interface BlockApprovalResponseLine {
  type: "blockApprovalResponse";
  data: BlockApprovalResponse;
}
/**
 * What became of a question. Where `by` is empty, nobody answered it in time.
 */
export interface BlockApprovalResponse {
  within?: string;
  blockId: string;
  approvalId: string;
  approved: boolean;
  remember: boolean;
  by: string;
}
export interface AgentToolApprovalRequiredLine {
  type: "agentToolApprovalRequired";
  data: AgentToolApprovalRequired;
}
export interface AgentToolApprovalRequired {
  within?: string;
  blockId: string;
  runId: string;
  approvalId: string;
  preview: string;
  reason: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: number;
  runbookId: string;
  toolCallId: string;
  toolName: string;
  description: string;
}
export interface AgentToolApprovalResponseLine {
  type: "agentToolApprovalResponse";
  data: AgentToolApprovalResponse;
}
/**
 * The same of an agent's question.
 */
export interface AgentToolApprovalResponse {
  within?: string;
  blockId: string;
  approvalId: string;
  toolCallId: string;
  approved: boolean;
  remember: boolean;
  by: string;
}
export interface AgentToolObservedLine {
  type: "agentToolObserved";
  data: AgentToolObserved;
}
/**
 * Something that an agent did without asking.
 */
export interface AgentToolObserved {
  within?: string;
  blockId: string;
  toolName: string;
  title: string;
  status: string;
}
export interface AgentStateChangedLine {
  type: "agentStateChanged";
  data: AgentStateChanged;
}
export interface AgentStateChanged {
  within?: string;
  blockId: string;
  state: AgentState;
}
export interface AgentState {
  status:
    | "cancelled"
    | "completed"
    | "executingTool"
    | "failed"
    | "idle"
    | "initializing"
    | "pendingToolApproval"
    | "streaming"
    | "timedOut"
    | "waiting";
  tokenUsage: TokenUsage | null;
  pendingToolCall: PendingTool | null;
}
export interface TokenUsage {
  inputTokens: number | null;
  outputTokens: number | null;
}
export interface PendingTool {
  id: string;
  name: string;
  description: string;
  summary: string;
}
/**
 * A program that speaks the Agent Client Protocol, or a name of the registry.
 */
export interface AcpAgentView {
  type: "acp";
  command: string;
  args: string[];
  env: {
    [k: string]: unknown;
  };
}
/**
 * How an agent block is getting on. `pendingToolCall` is what waits for a person's leave.
 */
export interface AgentProgress {
  status:
    | "cancelled"
    | "completed"
    | "executingTool"
    | "failed"
    | "idle"
    | "initializing"
    | "pendingToolApproval"
    | "streaming"
    | "timedOut"
    | "waiting";
  tokenUsage: TokenUsage | null;
  pendingToolCall: PendingTool | null;
  inputTokens: number | null;
  outputTokens: number | null;
}
/**
 * What an agent block is told. Prompts and directory are templates.
 */
export interface AgentView {
  source: InternalAgentView | AcpAgentView;
  prompt: string;
  systemPrompt: string | null;
  capabilities: CapabilitiesView;
  timeoutSeconds: number | null;
  workingDirectory: string | null;
}
/**
 * Our own agent. Without a model, the one of its profile or of the settings.
 */
export interface InternalAgentView {
  type: "internal";
  model: string | null;
  maker: string | null;
  uri: string | null;
  profile?: string;
}
export interface CapabilitiesView {
  readFiles: boolean;
  writeFiles: boolean;
  executeCommands: boolean;
  alwaysAllowTools: boolean;
}
/**
 * A file that comes with a prompt, in base64: an image, a PDF or a text, of at most 5 MiB.
 */
export interface AttachmentBody {
  name: string;
  mimeType: string;
  data: string;
}
/**
 * A file that came with a message. Without a size, only the provider has it.
 */
export interface AttachmentView {
  id: string;
  name: string | null;
  mimeType: string;
  size: number | null;
}
/**
 * How far the chain goes. It is one for all users: for anybody but the operator of the server both are null.
 */
export interface AuditHead {
  ok: true;
  head: string | null;
  entries: number | null;
}
/**
 * How far the chain goes. It is one for all users: for anybody but the operator of the server both are null.
 */
export interface AuditHealth {
  entries: number | null;
  head: string | null;
}
export interface AuditPage {
  ok: true;
  items: AuditView[];
  next: string | null;
}
/**
 * One entry of the audit, with the nine fields of each action. Times have all of their digits.
 */
export interface AuditView {
  seq: number;
  at: string;
  kind: string;
  user: string;
  runId: string;
  threadId: string;
  actionId: string;
  modelName: string;
  toolName: string;
  inputHash: string;
  policyDecision: string;
  approvalId: string;
  executionStatus: string;
  errorCode: string;
  message: string;
  by: string;
  startedAt: string | null;
  endedAt: string | null;
  previous: string;
  hash: string;
}
/**
 * `entries` and `head` are for the operator of the server; for others both are null.
 */
export interface AuditVerified {
  ok: true;
  valid: boolean;
  entries: number | null;
  head: string | null;
  problems: string[];
}
/**
 * Properties of one block, in place of those of the same names. The others stay, and so does every other line.
 */
export interface BlockBody {
  props: {
    [k: string]: unknown;
  };
  digest: string;
}
/**
 * How far a block has come. `outputs` are the names that templates find in its output.
 */
export interface BlockProgress {
  id: string;
  type: string;
  name: string;
  state: "done" | "failed" | "next" | "pending" | "running" | "skipped" | "waiting";
  outputs: string[];
  code: string;
  error: string;
  seconds: number | null;
  startedAt: string | null;
  agent: AgentProgress | null;
}
/**
 * A block of a document. `runs` says whether it does anything here.
 */
export interface BlockView {
  id: string;
  type: string;
  name: string;
  props: {
    [k: string]: unknown;
  };
  content: string;
  line: number;
  depth: number;
  runs: boolean;
  agent: AgentView | null;
}
export interface CallView {
  id: string;
  tool: string;
  args: {
    [k: string]: unknown;
  };
}
/**
 * Where a browser has to go, and until when.
 */
export interface ConnectView {
  ok: true;
  url: string;
  expiresAt: string;
}
/**
 * An account, just connected. `missing` are the tools that the user did not agree to.
 */
export interface Connected {
  ok: true;
  connected: true;
  email: string | null;
  tools: string[];
  missing: string[];
}
/**
 * A day in UTC. A run counts on the day on which it began.
 */
export interface DayView {
  day: string;
  models: ModelUsage[];
}
/**
 * Of one day and model. Of runs that an older version wrote only the total is known; their model is empty.
 */
export interface ModelUsage {
  model: string;
  runs: number;
  input: number;
  output: number;
  thoughts: number;
  cached: number;
  total: number;
  cost: number | null;
}
/**
 * An account, given back. It is forgotten here in any case; `atGoogle` says whether Google knows.
 */
export interface Disconnected {
  ok: true;
  wasConnected: boolean;
  atGoogle: boolean;
  message: string;
}
/**
 * A document in place of the one that has this digest.
 */
export interface DocumentBody {
  source: string;
  digest: string;
}
/**
 * A document as it stands. One that cannot be read has an `error`, and no blocks.
 */
export interface DocumentView {
  ok: true;
  path: string;
  source: string;
  form: "atrb" | "json";
  digest: string;
  trusted: boolean;
  editable: boolean;
  id: string;
  name: string;
  version: number;
  blocks: BlockView[];
  warnings: NoticeView[];
  error: string;
  programs: ProgramView[];
  programsDigest: string;
}
/**
 * What is odd about a document. With a hazard in it, it is not run.
 */
export interface NoticeView {
  text: string;
  block: string;
  line: number;
  isHazard: boolean;
}
/**
 * A word of an agent's command that means a file, and which file that is.
 */
export interface ProgramView {
  word: string;
  file: string;
}
/**
 * It is so now.
 */
export interface Done {
  ok: true;
}
/**
 * Other arguments for an action that waits.
 */
export interface EditBody {
  args: {
    [k: string]: unknown;
  };
}
/**
 * The question about the new arguments.
 */
export interface Edited {
  ok: true;
  approval: ApprovalView | null;
  action: ActionView;
  superseded: string;
}
export interface ErrorAnswer {
  ok: boolean;
  error: ErrorDetail;
}
/**
 * `code` is stable. Some errors say more: which run it is about, what waits, what became of it, where to go.
 */
export interface ErrorDetail {
  code: string;
  message: string;
  correlationId: string;
  runId?: string;
  approvals?: ApprovalView[];
  outcome?: OutcomeView;
  connectUrl?: string;
}
/**
 * What became of an approval that cannot be answered any more.
 */
export interface OutcomeView {
  status: string;
  action: ActionView;
  by?: string;
  at?: string;
}
export interface GoogleHealth {
  configured: boolean;
  connected: boolean;
}
/**
 * What is known of a user's Google account. `configured`: whether accounts can be connected here at all.
 */
export interface GoogleStatus {
  ok: true;
  configured: boolean;
  connected: boolean;
  email: string | null;
  scopes: string[];
  tools: string[];
  problem: string | null;
}
export interface GrantPage {
  ok: true;
  items: GrantView[];
  next: string | null;
}
/**
 * What was always allowed.
 */
export interface GrantView {
  id: string;
  tool: string;
  subject: string;
  scope: "always" | "document" | "session" | "tool";
  grantedAt: string;
  threadId: string | null;
  approvalId: string | null;
  document: string;
  by: string;
}
export interface Health {
  ok: true;
  status: string;
  version: string;
}
/**
 * How this server is, and what waits for whoever asks. `pending` and `unknown` are counted up to 100.
 */
export interface HealthView {
  ok: true;
  version: string;
  store: StoreHealth;
  model: string;
  provider: string;
  missingKey: string;
  profiles: string[];
  pending: number;
  unknown: number;
  audit: AuditHealth;
  workers: number | null;
  google: GoogleHealth;
  runbooks: boolean;
  uptimeSeconds: number;
  draining: boolean;
}
export interface StoreHealth {
  kind: string;
  writable: boolean;
}
/**
 * An agent that blocks may name. `isInstalled` says whether its program is found here.
 */
export interface KnownAgent {
  name: string;
  command: string;
  args: string[];
  description: string;
  isInstalled: boolean;
}
/**
 * Messages in the order they were said; `next` leads to earlier ones.
 */
export interface MessagePage {
  ok: true;
  items: MessageView[];
  next: string | null;
}
/**
 * A message by its number. A `notice` is the assistant's own request for approval: models never read it.
 */
export interface MessageView {
  number: number;
  kind: "assistant" | "notice" | "tool" | "user";
  role: "assistant" | "tool" | "user";
  text: string;
  calls: CallView[];
  results: ResultView[];
  attachments: AttachmentView[];
  cut?: true;
}
export interface ResultView {
  id: string;
  tool: string;
  result: unknown;
  isError: boolean;
}
/**
 * One question, whole.
 */
export interface PendingAnswer {
  ok: true;
  approval: PendingView;
}
/**
 * A question that waits, with where it comes from.
 */
export interface PendingView {
  id: string;
  tool: string;
  reason: string;
  preview: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: string;
  subjects: string[];
  provenance: string[];
  scopes: ("always" | "document" | "session" | "tool")[];
  runId: string;
  actionId: string;
  threadId: string;
  prompt: string;
  createdAt: string;
  truncated: boolean;
}
export interface PendingPage {
  ok: true;
  items: PendingView[];
  next: string | null;
}
/**
 * Another title.
 */
export interface RenameBody {
  title: string;
}
/**
 * A person's answer. `argsHash` says which arguments they were shown.
 */
export interface ResolveBody {
  approvalId: string;
  decision: "approve_and_always_allow_recipient" | "approve_once" | "reject";
  feedback?: string;
  argsHash?: string | null;
}
/**
 * An answer was taken.
 */
export interface Resolved {
  ok: true;
  approvalId: string;
  decision: string;
  status: "approved" | "rejected";
  run: RunView;
}
/**
 * How to go on after a block that did not succeed: with that block again, or without it.
 */
export interface ResumeBody {
  retry?: string | null;
  skip?: string | null;
  variables?: {
    [k: string]: unknown;
  };
}
/**
 * A prompt, and to which thread it belongs. Without a thread a new one is opened.
 */
export interface RunBody {
  prompt: string;
  threadId?: string | null;
  profile?: string;
  supersede?: boolean;
  /**
   * @maxItems 8
   */
  attachments?:
    | []
    | [AttachmentBody]
    | [AttachmentBody, AttachmentBody]
    | [AttachmentBody, AttachmentBody, AttachmentBody]
    | [AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody]
    | [AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody]
    | [AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody, AttachmentBody]
    | [
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody
      ]
    | [
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody,
        AttachmentBody
      ];
}
export interface RunPage {
  ok: true;
  items: RunRowView[];
  next: string | null;
}
export interface RunRowView {
  runId: string;
  threadId: string;
  profile: string;
  state: "awaiting_confirmation" | "cancelled" | "completed" | "executing" | "failed" | "planning" | "queued";
  createdAt: string;
  updatedAt: string;
  prompt: string;
  model: string;
  tokens: number;
  cost: number | null;
  errorCode: string | null;
  parentRunId: string | null;
  refused: string;
}
/**
 * A document of the folder. One that cannot be read has an `error`.
 */
export interface RunbookItem {
  path: string;
  id: string;
  name: string;
  digest: string;
  trusted: boolean;
  blocks: number;
  warnings: string[];
  error: string;
}
/**
 * The models that the settings' service offers, by the names that blocks take. Empty where it tells none.
 */
export interface RunbookModels {
  ok: true;
  items: string[];
}
/**
 * Documents by path; `next` leads to those after them.
 */
export interface RunbookPage {
  ok: true;
  items: RunbookItem[];
  next: string | null;
}
/**
 * What a person has to answer: exactly the arguments that would run. `blockId` is the block of this document.
 *
 *     Where it is `truncated`, texts end with … or are left out: `GET /api/agent/approvals/{id}` has the question whole.
 */
export interface RunbookQuestion {
  id: string;
  runId: string;
  blockId: string;
  byAgent: boolean;
  tool: string;
  reason: string;
  preview: string;
  args: {
    [k: string]: unknown;
  };
  argsHash: string;
  expiresAt: string;
  subjects: string[];
  scopes: ("always" | "document" | "session" | "tool")[];
  truncated: boolean;
}
/**
 * A run in a list. `path` is the document's, as the list of documents tells it.
 */
export interface RunbookRunItem {
  runId: string;
  threadId: string;
  name: string;
  path: string;
  state: "awaiting_confirmation" | "cancelled" | "completed" | "executing" | "failed" | "planning" | "queued";
  createdAt: string;
  updatedAt: string;
}
/**
 * Runs of runbooks, newest first.
 */
export interface RunbookRunPage {
  ok: true;
  items: RunbookRunItem[];
  next: string | null;
}
/**
 * A run of a document. `code` and `error` say why it did not complete.
 */
export interface RunbookRunView {
  ok: true;
  runId: string;
  threadId: string;
  runbookId: string;
  name: string;
  path: string;
  digest: string;
  trusted: boolean;
  state: "awaiting_confirmation" | "cancelled" | "completed" | "executing" | "failed" | "planning" | "queued";
  code: string;
  error: string;
  summary: string;
  blocks: BlockProgress[];
  approvals: RunbookQuestion[];
  createdAt: string;
}
/**
 * Whom blocks may ask, and what new ones begin with.
 */
export interface RunbookSettings {
  ok: true;
  agents: KnownAgent[];
  defaultTimeout: number;
  defaultCapabilities: CapabilitiesView;
  model: string | null;
  editable: boolean;
}
/**
 * Which document to run. With `trust`, it is accepted as it stands, now and as long as it stays the same.
 */
export interface RunbookStartBody {
  path: string;
  variables?: {
    [k: string]: unknown;
  };
  digest?: string | null;
  programsDigest?: string | null;
  trust?: boolean;
  model?: string | null;
}
/**
 * What the user says, with all that was said, what the page offers and what it shows.
 */
export interface SendBody {
  message: string;
  requestId?: string;
  history?: unknown[];
  toolDefinitions?: unknown[];
  pageState?: unknown;
}
/**
 * A visitor's token, for this page and this agent.
 */
export interface SessionAnswer {
  token: string;
  expiresAt: string;
  ok: true;
}
/**
 * Who comes. With `userToken`, a JWT that the site signed, its subject is who.
 */
export interface SessionBody {
  profile?: string | null;
  userToken?: string | null;
}
/**
 * A browser in which somebody is signed in. `current` is the one that asks.
 */
export interface SessionItem {
  id: string;
  madeBy: "jwt" | "link" | "token";
  createdAt: string;
  expiresAt: string;
  current: boolean;
}
/**
 * All of one user's.
 */
export interface SessionList {
  items: SessionItem[];
  ok: true;
}
/**
 * Who is signed in. `csrf` goes into the header X-Pollux-CSRF of whatever changes something.
 */
export interface SessionView {
  ok: true;
  user: string;
  expiresAt: string | null;
  csrf: string | null;
}
/**
 * What became of an action whose outcome was unknown.
 */
export interface SettleBody {
  outcome: "done" | "not_done";
}
/**
 * A token, to be exchanged for a browser's session.
 */
export interface SignInBody {
  token: string;
}
/**
 * What came of the calls that the page was given.
 */
export interface SubmitBody {
  results?: unknown[];
  history?: unknown[];
  toolDefinitions?: unknown[];
  pageState?: unknown;
}
export interface ThreadAnswer {
  ok: true;
  thread: ThreadView;
}
export interface ThreadView {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  messages: number;
  openRun: string | null;
}
export interface ThreadPage {
  ok: true;
  items: ThreadView[];
  next: string | null;
}
/**
 * An answer was taken.
 */
export interface ToolApprovalAnswer {
  ok: true;
  approvalId: string;
  approved: boolean;
  remember: boolean;
  status: "approved" | "rejected";
  run: RunbookRunView;
}
/**
 * A person's answer to a question of a runbook or its agents. With `remember`, for the rest of the session.
 *
 *     For one of our own agents that means the tool, whatever its arguments, where the question offers `tool`; else what
 *     the question names. `scope` chooses another one of the question's `scopes`.
 */
export interface ToolApprovalBody {
  approvalId: string;
  approved: boolean;
  remember?: boolean;
  scope?: ("always" | "document" | "session" | "tool") | null;
  feedback?: string;
  argsHash?: string | null;
}
export interface UnknownPage {
  ok: true;
  items: UnknownView[];
  next: string | null;
}
/**
 * An action of which nobody knows whether it happened, with where it comes from.
 */
export interface UnknownView {
  id: string;
  runId: string;
  threadId: string;
  tool: string;
  args: {
    [k: string]: unknown;
  };
  preview: string;
  subjects: string[];
  startedAt: string | null;
  endedAt: string;
  message: string;
  prompt: string;
  profile: string;
  runState:
    "awaiting_confirmation" | "cancelled" | "completed" | "executing" | "failed" | "planning" | "queued";
}
/**
 * Every day that was asked for, the oldest first.
 */
export interface UsageDays {
  ok: true;
  days: DayView[];
  currency: "USD";
}
