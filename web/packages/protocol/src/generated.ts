// Made from schema/ by generate.mjs, and not to be changed by hand.

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

/**
 * Everything that a page and the server say to one another.
 */
export interface PageProtocol {
  PageLine?: PageLine;
  SessionBody?: SessionBody;
  SessionAnswer?: SessionAnswer;
  SendBody?: SendBody;
  SubmitBody?: SubmitBody;
  ErrorAnswer?: ErrorAnswer;
  PendingPage?: PendingPage;
  ResolveBody?: ResolveBody;
  Resolved?: Resolved;
  RunView?: RunView;
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
 * The last line where no run can be told: this process stops, or the store is in trouble.
 */
export interface ErrorLine {
  type: "error";
  error: string;
  code: string;
  runId?: string;
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
}
/**
 * Who comes. With `userToken`, a JWT that the site signed, its subject is who.
 */
export interface SessionBody {
  profile?: string | null;
  userToken?: string | null;
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
 * What came of the calls that the page was given.
 */
export interface SubmitBody {
  results?: unknown[];
  history?: unknown[];
  toolDefinitions?: unknown[];
  pageState?: unknown;
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
export interface PendingPage {
  ok: true;
  items: PendingView[];
  next: string | null;
}
/**
 * A question in the list of those that wait.
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
  runId: string;
  actionId: string;
  threadId: string;
  prompt: string;
  createdAt: string;
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
 * A run as its caller sees it. `status` is one of three words; `state` is exact.
 */
export interface RunView {
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
  errorCode: string | null;
  connectUrl: string | null;
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
