import type { ActionView, RunView } from "@pollux/protocol";
import { describe, expect, it, vi } from "vitest";
import { Refusal } from "../src/door";
import { fateIn, isClosing, isOpen, isUnderWay, told } from "../src/pages/approvals/fate";

// The widget, whose words for invisible characters these use, wants to be an element.
vi.hoisted(() => Object.assign(globalThis, { HTMLElement: class {} }));

const action = (more: Partial<ActionView> = {}): ActionView => ({
  ...{ id: "act_1", tool: "demo_mail", status: "completed", state: "completed", requiresApproval: true },
  ...{ errorCode: null, message: null, approvalId: "apr_1" },
  ...more,
});
const run = (actions: ActionView[], approvals: { id: string }[] = []): RunView =>
  ({ runId: "run_1", actions, approvals }) as unknown as RunView;
const words = (code: string, status: string, more: Partial<ActionView> = {}) =>
  told({ step: "closed", code, outcome: { status, by: "bob", action: action(more) } }).text;

describe("what became of a question", () => {
  it("is open while it waits in its run", () => {
    expect(fateIn(run([action({ state: "awaiting_confirmation" })], [{ id: "apr_1" }]), "apr_1")).toBeNull();
  });

  it.each([
    [action(), "Already approved, and done."],
    [action({ state: "executing" }), "Already approved. It is being done…"],
    [action({ state: "failed", message: "no such room" }), "Already approved, but it failed: no such room"],
    [action({ state: "rejected", errorCode: "rejected" }), "Already rejected. Nothing was done."],
    [action({ state: "rejected", errorCode: "expired" }), /ran out before anybody answered/],
    [action({ state: "rejected", errorCode: "superseded" }), /Other arguments took its place/],
    [action({ state: "failed", errorCode: "cancelled" }), /its run was stopped/],
    [action({ approvalId: "apr_2" }), /no such question any more/],
  ])("is told by its run: %#", (found, expected) => {
    const fate = fateIn(run([found]), "apr_1");
    expect(fate && told(fate).text).toMatch(expected);
  });

  it("is told by the refusal of an answer", () => {
    expect(words("already_resolved", "approved")).toBe("Already approved by bob, and done.");
    expect(words("already_resolved", "rejected")).toBe("Already rejected by bob. Nothing was done.");
    expect(words("superseded", "superseded")).toContain("by bob");
  });

  it("never says that nothing happened where nobody knows", () => {
    const lost = action({ state: "failed", errorCode: "outcome_unknown" });
    const { text, tone } = told({ step: "taken", decision: "approve_once", runId: "run_1", action: lost });
    expect([text, tone]).toEqual(["Approved and begun, but nobody knows whether it happened.", "bad"]);
  });

  it("spells out what cannot be seen in a tool's words", () => {
    const failed = action({ state: "failed", message: "a\u202eb" });
    expect(told({ step: "taken", decision: "approve_once", runId: "run_1", action: failed }).text).toContain(
      "\\u202e",
    );
  });

  it("stays open after a refusal that closes nothing", () => {
    const refused = { step: "refused", problem: new Refusal(0, "unreachable", "") } as const;
    expect(isOpen(refused)).toBe(true);
    expect(told(refused).text).toContain("it counts once");
    expect(isClosing(new Refusal(409, "args_changed", ""))).toBe(false);
    expect(isClosing(new Refusal(409, "expired", ""))).toBe(true);
  });

  it("is under way until what was approved has ended", () => {
    const taken = { step: "taken", decision: "approve_once", runId: "run_1" } as const;
    expect(isUnderWay({ ...taken, action: action({ state: "executing" }) })).toBe(true);
    expect(isUnderWay({ ...taken, action: action() })).toBe(false);
  });
});
