"""What becomes of a run while the model or the gate is next. Read with `test_machine_table.py`."""

from tests.core.states import rows

MODEL: dict[str, dict[str, str]] = {
    "fresh": rows(
        now="queued: model 1.1",
        fits={
            "RunClaimed": "planning: model 1.1",
            "CancelRequested": "queued: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed "
            "(*); ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "claimed": rows(
        now="planning: model 1.1",
        fits={
            "RunClaimed": "planning: model 1.1",
            "ModelCalled": "planning: model 1.1 begun",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); CallRefused; "
            "ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed (*); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "asked": rows(
        now="planning: model 1.1 begun, wakes at 900",
        fits={
            "RunClaimed": "planning: model 1.2, wakes at 900",
            "ModelReplied, text": "planning: nothing, wakes at 900, then RunCompleted",
            "ModelReplied, calls": "planning: authorize x, authorize y, wakes at 900",
            "ModelFailed": "planning: nothing, wakes at 900, then RunFailed model_error",
            "ModelFailed, retry": "planning: nothing, wakes at 20",
            "TimeReached": "planning: nothing, then RunFailed timeout",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; HistoryCompressed (*); ActionDecided (*); CallRefused; ActionStarted; "
            "ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed (*); ActionReconciled (*); "
            "ApprovalResolved (*); TimeReached (too early); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "retry wait": rows(
        now="planning: nothing, wakes at 20",
        fits={
            "RunClaimed": "planning: nothing, wakes at 20",
            "TimeReached": "planning: model 1.2",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed "
            "(*); ActionReconciled (*); ApprovalResolved (*); TimeReached (too early); RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "summary due": rows(
        now="planning: compress 1",
        fits={
            "RunClaimed": "planning: compress 1",
            "HistoryCompressed": "planning: model 1.1",
            "HistoryCompressed, refused": "planning: model 1.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); ActionDecided (*); CallRefused; "
            "ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed (*); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "one call undecided": rows(
        now="planning: authorize a",
        fits={
            "RunClaimed": "planning: authorize a",
            "ActionDecided, allow": "planning: run 1.0 #1",
            "ActionDecided, ask": "awaiting_confirmation: nothing, wakes at 301",
            "ActionDecided, deny": "planning: model 2.1",
            "CallRefused": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (edited "
            "| asked for); ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed "
            "(*); ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "allowed": rows(
        now="planning: run 1.0 #1",
        fits={
            "RunClaimed": "planning: run 1.0 #1",
            "ActionStarted": "executing: run 1.0 #1 begun",
            "ActionFailed, before its start": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed (-); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "awaiting approval": rows(
        now="awaiting_confirmation: nothing, wakes at 300",
        fits={
            "RunClaimed": "awaiting_confirmation: nothing, wakes at 300",
            "ActionDecided, edited": "awaiting_confirmation: nothing, wakes at 301",
            "ApprovalResolved, approved": "planning: run 1.0 #1",
            "ApprovalResolved, rejected": "planning: model 2.1",
            "TimeReached": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; "
            "ActionCompleted; ActionFailed (*); ActionReconciled (*); TimeReached (too early); RunCompleted; "
            "RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "approved, not started": rows(
        now="planning: run 1.0 #1",
        fits={
            "RunClaimed": "planning: run 1.0 #1",
            "ActionStarted": "executing: run 1.0 #1 begun",
            "ActionFailed, before its start": "planning: model 2.1",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunRestored": "planning: nothing, then RunFailed outcome_unknown",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | asked for); CallRefused; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; "
            "ActionFailed (-); ActionReconciled (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionDecided (edited); ActionSettled (*); ApprovalResolved (*)",
    ),
}
