"""What becomes of a run while tools, pages and children work for it. Read with `test_machine_table.py`."""

from tests.core.states import rows

TOOLS: dict[str, dict[str, str]] = {
    "executing": rows(
        now="executing: run 1.0 #1 begun",
        fits={
            "ActionNoted": "executing: run 1.0 #1 begun",
            "ToolObserved": "executing: run 1.0 #1 begun",
            "ActionDecided, asked for": "executing: run 1.0 #1 begun, run 1.0-1 #1",
            "RunClaimed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "CancelRequested": "executing: nothing",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | edited); CallRefused; ActionStarted; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "interrupted, repeatable": rows(
        now="executing: run 1.0 #2",
        fits={
            "RunClaimed": "executing: run 1.0 #2",
            "ActionStarted": "executing: run 1.0 #2 begun",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "ActionFailed, before its start": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionNoted; ToolObserved; ActionHandedOver; ActionReconciled (*); ApprovalResolved (*); "
            "TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "interrupted, keyed": rows(
        now="executing: run 1.0 #2",
        fits={
            "RunClaimed": "executing: run 1.0 #2",
            "ActionStarted": "executing: run 1.0 #2 begun",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "ActionFailed, before its start": "planning: nothing, then RunFailed outcome_unknown",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionNoted; ToolObserved; ActionHandedOver; ActionReconciled (*); ApprovalResolved (*); "
            "TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "interrupted, checkable": rows(
        now="executing: look 1.0 #1",
        fits={
            "RunClaimed": "executing: look 1.0 #1",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "ActionFailed, before its start": "planning: nothing, then RunFailed outcome_unknown",
            "ActionReconciled, done": "planning: model 2.1",
            "ActionReconciled, not_done": "executing: run 1.0 #2",
            "ActionReconciled, unknown": "planning: nothing, then RunFailed outcome_unknown",
            "CancelRequested": "executing: look 1.0 #1",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ApprovalResolved (*); "
            "TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "interrupted, once, beside another": rows(
        now="awaiting_confirmation: nothing, wakes at 300",
        fits={
            "RunClaimed": "awaiting_confirmation: nothing, wakes at 300",
            "ActionDecided, edited": "awaiting_confirmation: nothing, wakes at 301",
            "ActionCompleted": "awaiting_confirmation: nothing, wakes at 300",
            "ActionFailed": "awaiting_confirmation: nothing, wakes at 300",
            "ActionSettled, done": "awaiting_confirmation: nothing, wakes at 300",
            "ActionSettled, not_done": "awaiting_confirmation: nothing, wakes at 300",
            "ApprovalResolved, approved": "planning: run 1.1 #1",
            "ApprovalResolved, rejected": "planning: nothing, then RunFailed outcome_unknown",
            "TimeReached": "planning: nothing, then RunFailed outcome_unknown",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; "
            "ActionFailed (before its start); ActionReconciled (*); TimeReached (too early); RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        claimed="RunClaimed (stale)",
    ),
    "looked up, not done": rows(
        now="executing: run 1.0 #2",
        fits={
            "RunClaimed": "executing: run 1.0 #2",
            "ActionStarted": "executing: run 1.0 #2 begun",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "ActionFailed, before its start": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunRestored": "executing: look 1.0 #1",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionNoted; ToolObserved; ActionHandedOver; ActionReconciled (*); ApprovalResolved (*); "
            "TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "page call open": rows(
        now="awaiting_confirmation: nothing, wakes at 60",
        fits={
            "RunClaimed": "awaiting_confirmation: nothing, wakes at 60",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "TimeReached": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (too early); RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "child starting": rows(
        now="executing: run 1.0 #1 begun",
        fits={
            "ActionNoted": "executing: run 1.0 #1 begun",
            "ToolObserved": "executing: run 1.0 #1 begun",
            "ActionDecided, asked for": "executing: run 1.0 #1 begun, run 1.0-1 #1",
            "RunClaimed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionHandedOver": "executing: nothing",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "CancelRequested": "executing: nothing",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | edited); CallRefused; ActionStarted; ActionFailed (before its start); ActionReconciled (*); "
            "ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "child handed over": rows(
        now="executing: nothing",
        fits={
            "RunClaimed": "executing: nothing",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "executing, and asks": rows(
        now="executing: run 1.0 #1 begun, wakes at 300",
        fits={
            "ActionNoted": "executing: run 1.0 #1 begun, wakes at 300",
            "ToolObserved": "executing: run 1.0 #1 begun, wakes at 300",
            "RunClaimed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionDecided, asked for": "executing: run 1.0 #1 begun, run 1.0-2 #1, wakes at 300",
            "ActionCompleted": "planning: model 2.1",
            "ActionFailed": "planning: model 2.1",
            "ApprovalResolved, approved": "executing: run 1.0 #1 begun, run 1.0-1 #1",
            "ApprovalResolved, rejected": "executing: run 1.0 #1 begun",
            "TimeReached": "executing: run 1.0 #1 begun",
            "CancelRequested": "executing: nothing",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | edited); CallRefused; ActionStarted; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); TimeReached (too early); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "executing, asked one in flight": rows(
        now="executing: run 1.0 #1 begun, run 1.0-1 #1 begun",
        fits={
            "ActionNoted": "executing: run 1.0 #1 begun, run 1.0-1 #1 begun",
            "ToolObserved": "executing: run 1.0 #1 begun, run 1.0-1 #1 begun",
            "RunClaimed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionDecided, asked for": "executing: run 1.0 #1 begun, run 1.0-1 #1 begun, run 1.0-2 #1",
            "ActionCompleted": "executing: run 1.0-1 #1 begun",
            "ActionFailed": "executing: run 1.0-1 #1 begun",
            "CancelRequested": "executing: nothing",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | edited); CallRefused; ActionStarted; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "one executing, one waiting": rows(
        now="executing: run 1.0 #1 begun, wakes at 300",
        fits={
            "ActionNoted": "executing: run 1.0 #1 begun, wakes at 300",
            "ToolObserved": "executing: run 1.0 #1 begun, wakes at 300",
            "ActionDecided, asked for": "executing: run 1.0 #1 begun, run 1.0-1 #1, wakes at 300",
            "RunClaimed": "awaiting_confirmation: nothing, wakes at 300",
            "ActionDecided, edited": "executing: run 1.0 #1 begun, wakes at 301",
            "ActionCompleted": "awaiting_confirmation: nothing, wakes at 300",
            "ActionFailed": "awaiting_confirmation: nothing, wakes at 300",
            "ApprovalResolved, approved": "executing: run 1.0 #1 begun, run 1.1 #1",
            "ApprovalResolved, rejected": "executing: run 1.0 #1 begun",
            "TimeReached": "executing: run 1.0 #1 begun",
            "CancelRequested": "executing: nothing",
            "RunRestored": "awaiting_confirmation: nothing, wakes at 300",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny); CallRefused; ActionStarted; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); TimeReached (too early); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
}
