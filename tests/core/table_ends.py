"""What becomes of a run that is about to end, or has ended. Read with `test_machine_table.py`."""

from tests.core.states import rows

ENDS: dict[str, dict[str, str]] = {
    "closing": rows(
        now="planning: nothing, then RunCompleted",
        fits={
            "RunClaimed": "planning: nothing, then RunCompleted",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunCompleted": "completed: nothing",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed "
            "(*); ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
    ),
    "closing, outcome unknown": rows(
        now="planning: nothing, then RunFailed outcome_unknown",
        fits={
            "RunClaimed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionCompleted": "planning: nothing, then RunFailed outcome_unknown",
            "ActionFailed": "planning: nothing, then RunFailed outcome_unknown",
            "ActionSettled, done": "planning: nothing, then RunFailed outcome_unknown",
            "ActionSettled, not_done": "planning: nothing, then RunFailed outcome_unknown",
            "CancelRequested": "planning: nothing, then RunCancelled",
            "RunFailed": "failed: nothing",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionFailed (before its start); "
            "ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
    ),
    "cancelling, one in flight": rows(
        now="executing: nothing",
        fits={
            "RunClaimed": "planning: nothing, then RunCancelled",
            "ActionCompleted": "planning: nothing, then RunCancelled",
            "ActionFailed": "planning: nothing, then RunCancelled",
            # What an agent did while it was being stopped, it did.
            "ToolObserved": "executing: nothing",
            "RunRestored": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (allow | "
            "ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ActionHandedOver; ActionFailed (before "
            "its start); ActionReconciled (*); TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        withdrawn="ActionDecided (edited); ApprovalResolved (*)",
        already_resolved="ActionSettled (*)",
        run_ended="CancelRequested",
    ),
    "cancelling, one to look up": rows(
        now="executing: look 1.0 #1",
        fits={
            "RunClaimed": "executing: look 1.0 #1",
            "ActionCompleted": "planning: nothing, then RunCancelled",
            "ActionFailed": "planning: nothing, then RunCancelled",
            "ActionFailed, before its start": "planning: nothing, then RunCancelled",
            "ActionReconciled, done": "planning: nothing, then RunCancelled",
            "ActionReconciled, not_done": "planning: nothing, then RunCancelled",
            "ActionReconciled, unknown": "planning: nothing, then RunCancelled",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ApprovalResolved (*); "
            "TimeReached (*); RunCompleted; RunFailed; RunCancelled"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
        run_ended="CancelRequested",
    ),
    "cancelled, not yet ended": rows(
        now="planning: nothing, then RunCancelled",
        fits={
            "RunClaimed": "planning: nothing, then RunCancelled",
            "RunCancelled": "cancelled: nothing",
        },
        misfit=(
            "RunStarted; ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); ActionDecided (*); "
            "CallRefused; ActionStarted; ActionNoted; ToolObserved; ActionHandedOver; ActionCompleted; ActionFailed "
            "(*); ActionReconciled (*); ApprovalResolved (*); TimeReached (*); RunCompleted; RunFailed"
        ),
        claimed="RunClaimed (stale)",
        already_resolved="ActionSettled (*)",
        run_ended="CancelRequested",
    ),
    "completed": rows(
        now="completed: nothing",
        run_ended=(
            "RunStarted; RunClaimed (*); ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); "
            "ActionDecided (allow | ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; "
            "ActionHandedOver; ActionReconciled (*); TimeReached (*); CancelRequested; RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        misfit="ActionCompleted; ActionFailed (*)",
        already_resolved="ActionDecided (edited); ActionSettled (*); ApprovalResolved (*)",
    ),
    "failed": rows(
        now="failed: nothing",
        run_ended=(
            "RunStarted; RunClaimed (*); ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); "
            "ActionDecided (allow | ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; "
            "ActionHandedOver; ActionReconciled (*); TimeReached (*); CancelRequested; RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        misfit="ActionCompleted; ActionFailed (*); ActionDecided (edited); ApprovalResolved (*)",
        already_resolved="ActionSettled (*)",
    ),
    "cancelled": rows(
        now="cancelled: nothing",
        run_ended=(
            "RunStarted; RunClaimed (*); ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); "
            "ActionDecided (allow | ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; "
            "ActionHandedOver; ActionReconciled (*); TimeReached (*); CancelRequested; RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        misfit="ActionCompleted; ActionFailed (*)",
        already_resolved="ActionSettled (*)",
        withdrawn="ActionDecided (edited); ApprovalResolved (*)",
    ),
    "ended, outcome unknown": rows(
        now="failed: nothing",
        fits={
            "ActionCompleted": "failed: nothing",
            "ActionFailed": "failed: nothing",
            "ActionSettled, done": "failed: nothing",
            "ActionSettled, not_done": "failed: nothing",
        },
        run_ended=(
            "RunStarted; RunClaimed (*); ModelCalled; ModelReplied (*); ModelFailed (*); HistoryCompressed (*); "
            "ActionDecided (allow | ask | deny | asked for); CallRefused; ActionStarted; ActionNoted; ToolObserved; "
            "ActionHandedOver; ActionReconciled (*); TimeReached (*); CancelRequested; RunCompleted; RunFailed; "
            "RunCancelled"
        ),
        misfit="ActionFailed (before its start); ActionDecided (edited); ApprovalResolved (*)",
    ),
}
