"""What tokens cost: a table that may be replaced, and exact sums. An unknown model has no price: nothing is guessed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from pollux.core.errors import ValidationError
from pollux.core.ids import Instant
from pollux.core.messages import Usage

Dollars = Decimal | int | float | str


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """US dollars for a million tokens. `cached` is for input that the provider had kept; without it, that costs as any.

    Raises ValidationError for what is no amount.
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None
    above: "tuple[int, Price] | None"
    """A call with more input tokens than this costs the other price, all of it."""
    since: "tuple[date, Price] | None"
    """From this day on (UTC) the other price holds."""

    def __init__(
        self,
        input: Dollars,
        output: Dollars,
        cached: Dollars | None = None,
        *,
        above: "tuple[int, Price] | None" = None,
        since: "tuple[date, Price] | None" = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "input", _amount("input", input))
        set_(self, "output", _amount("output", output))
        set_(self, "cached", None if cached is None else _amount("cached", cached))
        set_(self, "above", above)
        set_(self, "since", since)


def price_of(model: str, prices: Mapping[str, Price] | None = None, *, at: Instant) -> Price | None:
    """The price of a model at this time, or None where the table has none.

    A name also stands for its dated versions (`gpt-4o` for `gpt-4o-2024-08-06`), and a name that ends in a slash for
    everything below it. Previews, latest and smaller models are others: they have often cost something else.
    """
    price = _row(model, PRICES if prices is None else prices)
    while price is not None and price.since is not None and datetime.fromtimestamp(at, UTC).date() >= price.since[0]:
        price = price.since[1]
    return price


def cost(usage: Usage, price: Price) -> Decimal:
    """What one model call cost, exactly.

    For several calls add up the costs, not the tokens: a run of many short calls is not a long call.
    """
    if price.above is not None and usage.input > price.above[0]:
        return cost(usage, price.above[1])
    cached = min(usage.cached, usage.input)
    kept = price.input if price.cached is None else price.cached
    return ((usage.input - cached) * price.input + cached * kept + usage.output * price.output).scaleb(-6)


def _amount(name: str, value: Dollars) -> Decimal:
    try:
        # By its text: a float of 0.3 is meant as 0.3, not as the nearest binary fraction.
        amount = Decimal(str(value))
    except ArithmeticError:
        amount = Decimal("nan")
    if not amount.is_finite() or amount < 0:
        raise ValidationError(f"expected the price of {name} as dollars for a million tokens, found {value!r}")
    return amount


# 20250514, 2024-08-06, 09-2025, 05-20, 0613, 001. One digit is another model: claude-opus-4-1 is not claude-opus-4.
_VERSION = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{4}|\d{3})\Z", re.ASCII)


def _row(model: str, prices: Mapping[str, Price]) -> Price | None:
    price = prices.get(model) or prices.get(_VERSION.sub("", model))
    if price is None:
        folders = [name for name in prices if name.endswith("/") and model.startswith(name)]
        price = prices[max(folders, key=len)] if folders else None
    return price


_GEMINI: Final = {
    # https://ai.google.dev/gemini-api/docs/pricing (paid tier, standard), as of 2026-10-07. Audio, which costs more
    # with the 2.5 models, is not told apart.
    "gemini-3.8-flash": Price("0.75", "3.75", "0.075", since=(date(2027, 1, 1), Price("1.50", "7.50", "0.15"))),
    "gemini-3.5-flash": Price("1.50", "9.00", "0.15"),
    "gemini-3.1-pro-preview": Price("2.00", "12.00", "0.20", above=(200_000, Price("4.00", "18.00", "0.40"))),
    "gemini-3.1-flash-lite": Price("0.25", "1.50", "0.025"),
    "gemini-3-flash-preview": Price("0.50", "3.00", "0.05"),
    "gemini-2.5-pro": Price("1.25", "10.00", "0.125", above=(200_000, Price("2.50", "15.00", "0.25"))),
    "gemini-2.5-flash": Price("0.30", "2.50", "0.03"),
    "gemini-2.5-flash-lite": Price("0.10", "0.40", "0.01"),
}

_CLAUDE: Final = {
    # https://platform.claude.com/docs/en/about-claude/pricing, as of 2026-10-10. What a request asks to be written to
    # the cache costs more than other input, and is not told apart.
    "claude-fable-5-1": Price("10", "50", "0.25"),
    "claude-fable-5": Price("10", "50", "1"),
    "claude-opus-5-5": Price("4", "20", "0.20"),
    "claude-opus-5": Price("5", "25", "0.50"),
    "claude-opus-4-8": Price("5", "25", "0.50"),
    "claude-opus-4-7": Price("5", "25", "0.50"),
    "claude-opus-4-6": Price("5", "25", "0.50"),
    "claude-opus-4-5": Price("5", "25", "0.50"),
    "claude-sonnet-5": Price("2", "10", "0.20"),
    "claude-sonnet-4-6": Price("3", "15", "0.30"),
    "claude-sonnet-4-5": Price("3", "15", "0.30"),
    "claude-haiku-5-5": Price("0.10", "0.50", "0.01", above=(100_000, Price("0.50", "2.50", "0.05"))),
    "claude-haiku-4-5": Price("1", "5", "0.10"),
}

_OPENAI: Final = {
    # https://developers.openai.com/api/docs/pricing (standard tier), as of 2026-11-05. The newest families are left
    # out: what they write to their cache costs extra, and the replies that we count from do not say how much it was.
    "gpt-5.5": Price("5.00", "30.00", "0.50", above=(272_000, Price("10.00", "45.00", "1.00"))),
    "gpt-5.4": Price("2.50", "15.00", "0.25", above=(272_000, Price("5.00", "22.50", "0.50"))),
    "gpt-5.4-mini": Price("0.75", "4.50", "0.075"),
    "gpt-5.4-nano": Price("0.20", "1.25", "0.02"),
    "gpt-5.2": Price("1.75", "14.00", "0.175"),
    "gpt-5.1": Price("1.25", "10.00", "0.125"),
    "gpt-5": Price("1.25", "10.00", "0.125"),
    "gpt-5-mini": Price("0.25", "2.00", "0.025"),
    "gpt-5-nano": Price("0.05", "0.40", "0.005"),
    "gpt-4.1": Price("2.00", "8.00", "0.50"),
    "gpt-4.1-mini": Price("0.40", "1.60", "0.10"),
    "gpt-4.1-nano": Price("0.10", "0.40", "0.025"),
    "gpt-4o": Price("2.50", "10.00", "1.25"),
    "gpt-4o-2024-05-13": Price("5.00", "15.00"),
    "gpt-4o-mini": Price("0.15", "0.60", "0.075"),
    "o3": Price("2.00", "8.00", "0.50"),
    "o4-mini": Price("1.10", "4.40", "0.275"),
}

PRICES: Final[Mapping[str, Price]] = MappingProxyType({**_GEMINI, **_CLAUDE, **_OPENAI, "ollama/": Price(0, 0)})
"""List prices by model. To change some: `{**PRICES, "my-model": Price(1, 2)}`."""
