"""What was used, summed up by user, day and model as it is written: a question reads days, however many runs there are.

Databases keep the sums by triggers on the rows of runs, in the transaction of whatever changes a row: so they are right
also beside processes of an older version, which know nothing of them. Costs are whole trillionths of a dollar: what is
added and taken away again leaves nothing behind.
"""

from typing import Final

from pollux.engine.glance import DayUsage, Glance
from pollux.engine.ports import RunRow

DAY: Final = 86_400
DOLLAR: Final = 10**12

_TOLD: Final = "{row}told = {row}version"
_NAME: Final = f"CASE WHEN {_TOLD} THEN {{row}}model ELSE '' END"
_AMOUNTS: Final = {
    "runs": "1",
    **{name: f"CASE WHEN {_TOLD} THEN {{row}}{name} ELSE 0 END" for name in ("input", "output", "thoughts", "cached")},
    "total": "{row}tokens",
    # A run that used nothing cost nothing; one call without a price makes the sum unknown.
    "priced": f"CASE WHEN {_TOLD} AND {{row}}cost IS NOT NULL THEN 1 ELSE 0 END",
    "unpriced": ("CASE WHEN {row}tokens > 0 AND ({row}told <> {row}version OR {row}cost IS NULL) THEN 1 ELSE 0 END"),
    "cost": f"CASE WHEN {_TOLD} THEN CAST(round(coalesce({{row}}cost, 0) * {DOLLAR}) AS bigint) ELSE 0 END",
}

COLUMNS: Final = tuple(_AMOUNTS)
TOLD: Final = "model, input, output, thoughts, cached, cost, tokens, version, told"
"""The columns of a run's row that its part of the sums depends on."""


def name(row: str = "") -> str:
    """The model of a row, as SQL. Where its glance was left behind, only the number and the total are known."""
    return _NAME.format(row=row)


def amounts(row: str = "") -> list[str]:
    """What a row adds to the sums of its day and model, as SQL."""
    return [amount.format(row=row) for amount in _AMOUNTS.values()]


_BOTH: Final = tuple(zip(COLUMNS, amounts("OLD."), amounts("NEW."), strict=True))
LESS: Final = ", ".join(f"{column} = {column} - {old}" for column, old, _ in _BOTH)
CHANGED: Final = ", ".join(f"{column} = {column} + {new} - {old}" for column, old, new in _BOTH)
IS_CHANGED: Final = f"({' OR '.join(f'{old} <> {new}' for column, old, new in _BOTH if column != 'runs')})"
IS_ANOTHER: Final = f"{name('OLD.')} <> {name('NEW.')}"
"""In a trigger: whether the row counts for another model than before."""


def more(table: str) -> str:
    """In an upsert: what the sums in this table become."""
    return ", ".join(f"{column} = {table}.{column} + excluded.{column}" for column in COLUMNS)


def asked(table: str, mark: str, user: str) -> str:
    """What selects the columns of `DayUsage`, as SQL. Its values: the user, and the first day."""
    sums = ", ".join(f"CAST(sum({column}) AS bigint)" for column in COLUMNS[:-3])
    return f"""
        SELECT day, model, {sums},
            CASE WHEN sum(unpriced) = 0 AND sum(priced) > 0 THEN CAST(sum(cost) AS double precision) / {DOLLAR} END
        FROM {table} WHERE {user} = {mark} AND day >= {mark} GROUP BY day, model HAVING sum(runs) > 0
        ORDER BY day, model
    """


def day_of(moment: float) -> int:
    """Days since 1970."""
    return int(moment // DAY)


class Sums:
    """The same for a store without a database."""

    def __init__(self) -> None:
        self._by_run: dict[str, tuple[tuple[str, int, str], tuple[int, ...]]] = {}
        self._by_day: dict[str, dict[tuple[int, str], list[int]]] = {}

    def note(self, row: RunRow, told: Glance) -> None:
        """A run's row and what it tells, in place of what it told before."""
        if before := self._by_run.get(row.run_id):
            self._add(*before, sign=-1)
        key = (row.user, day_of(row.created_at), told.model)
        is_priced = told.cost is not None
        cost = round((told.cost or 0) * DOLLAR)
        counts = (told.input, told.output, told.thoughts, told.cached, row.tokens)
        amounts = (1, *counts, int(is_priced), int(row.tokens > 0 and not is_priced), cost)
        self._by_run[row.run_id] = key, amounts
        self._add(key, amounts)

    def since(self, user: str, moment: float) -> list[DayUsage]:
        """What a user's runs used from the day of that moment on, by day and model."""
        kept = self._by_day.get(user, {})
        return [_told(*key, *kept[key]) for key in sorted(kept) if key[0] >= day_of(moment)]

    def _add(self, key: tuple[str, int, str], amounts: tuple[int, ...], *, sign: int = 1) -> None:
        user, day, model = key
        sums = self._by_day.setdefault(user, {}).setdefault((day, model), [0] * len(amounts))
        for place, amount in enumerate(amounts):
            sums[place] += sign * amount


def _told(day: int, model: str, *sums: int) -> DayUsage:
    *counts, priced, unpriced, cost = sums
    return DayUsage(day, model, *counts, cost=cost / DOLLAR if priced and not unpriced else None)
