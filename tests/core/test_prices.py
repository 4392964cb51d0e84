"""What calls cost: exactly, by the right row, or not at all."""

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.core.messages import NO_USAGE, Usage
from pollux.core.prices import PRICES, Price, cost, price_of
from pollux.core.profile import DEFAULT_MODEL

NOW = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
TOKENS = st.integers(min_value=0, max_value=10**9)
AMOUNTS = st.decimals(min_value=0, max_value=1000, places=4)


def test_a_call_costs_its_input_and_its_output():
    assert cost(Usage(input=1_000_000, output=100_000), Price(2, 8)) == Decimal("2.8")


def test_thinking_is_part_of_the_output_and_not_charged_twice():
    assert cost(Usage(output=1_000_000, thoughts=900_000), Price(2, 8)) == 8


def test_what_the_provider_had_kept_costs_its_own_price():
    assert cost(Usage(input=1_000_000, cached=400_000), Price(1, 9, "0.1")) == Decimal("0.64")


def test_without_a_price_for_kept_input_it_costs_as_any_other():
    assert cost(Usage(input=1_000_000, cached=400_000), Price(1, 9)) == 1


def test_more_kept_input_than_input_is_counted_once():
    assert cost(Usage(input=1_000_000, cached=2_000_000), Price(1, 9, "0.1")) == Decimal("0.1")


def test_a_long_call_costs_the_higher_price_throughout():
    price = Price(1, 10, above=(200_000, Price(2, 15)))
    assert cost(Usage(input=200_000, output=100_000), price) == Decimal("1.2")
    assert cost(Usage(input=200_001, output=100_000), price) == Decimal("1.900002")


def test_nothing_costs_nothing():
    assert cost(NO_USAGE, Price(1, 9)) == 0


@given(TOKENS, TOKENS, AMOUNTS, AMOUNTS)
def test_a_cost_is_exact(given: int, made: int, price_in: Decimal, price_out: Decimal):
    exact = (given * Fraction(price_in) + made * Fraction(price_out)) / 1_000_000
    assert Fraction(cost(Usage(input=given, output=made), Price(price_in, price_out))) == exact


def test_a_price_written_as_a_float_is_meant_as_it_is_written():
    assert Price(0.3, 2.5, 0.03) == Price("0.3", "2.5", "0.03")
    assert Price(0.3, 2.5).input == Decimal("0.3")


@pytest.mark.parametrize("amount", [-1, "a lot", "", float("nan"), float("inf"), "-0.01"])
def test_what_is_no_amount_is_refused(amount: float | str):
    for wrong in (lambda: Price(amount, 1), lambda: Price(1, amount), lambda: Price(1, 1, amount)):
        with pytest.raises(ValidationError, match="dollars for a million tokens"):
            wrong()


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash-lite-06-17", "gemini-2.5-flash-lite"),
        ("gemini-3-flash-preview-12-2025", "gemini-3-flash-preview"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("ollama/llama3.2:3b", "ollama/"),
    ],
)
def test_a_model_goes_by_its_own_row_or_its_undated_name_s(model: str, row: str):
    assert price_of(model, at=0) == PRICES[row]


@pytest.mark.parametrize(
    "model",
    [
        "",
        "gemini-2.5-flash-image",
        "gemini-2.5-flash-preview-09-2025",
        "gemini-2.5",
        "gemini-flash-latest",
        "gpt-5-codex",
        "gpt-4o-audio-preview",
        "o3-pro",
        "claude-opus-5-1",
        "openai:https://hub.example/v1/gpt-4o",
        "ollama",
        "gpt-4o-٢٠٢٤",
    ],
)
def test_an_unknown_model_has_no_price(model: str):
    assert price_of(model, at=NOW) is None


def test_a_price_changes_on_its_day():
    cheap, dear = Price(1, 2), Price(2, 4)
    table = {"m": Price(1, 2, since=(date(2027, 1, 1), dear))}
    before = price_of("m", table, at=datetime(2026, 12, 31, 23, 59, tzinfo=UTC).timestamp())
    assert before is not None
    assert (before.input, before.output) == (cheap.input, cheap.output)
    assert price_of("m", table, at=datetime(2027, 1, 1, tzinfo=UTC).timestamp()) == dear


def test_a_table_may_be_replaced_and_the_longest_folder_counts():
    table = {"hub/": Price(1, 1), "hub/big/": Price(5, 5), "hub/big/one": Price(9, 9)}
    assert price_of("hub/small", table, at=NOW) == Price(1, 1)
    assert price_of("hub/big/two", table, at=NOW) == Price(5, 5)
    assert price_of("hub/big/one", table, at=NOW) == Price(9, 9)
    assert price_of("gpt-4o", table, at=NOW) is None
    assert price_of("gpt-4o", {}, at=NOW) is None


def test_the_default_model_has_a_price_and_a_local_one_is_free():
    price, free = price_of(DEFAULT_MODEL, at=NOW), price_of("ollama/qwen3", at=NOW)
    assert price is not None
    assert free is not None
    assert cost(Usage(input=1_000_000, output=1_000_000, cached=500_000), price) == Decimal("4.1625")
    assert cost(Usage(input=1_000_000, output=1_000_000), free) == 0


@pytest.mark.parametrize("name", [name for name in PRICES if name != "ollama/"])
def test_a_row_of_the_table_looks_like_a_price(name: str):
    price = PRICES[name]
    rows = [price, *(other for _, other in filter(None, (price.above, price.since)))]
    for row in rows:
        assert 0 < row.input < row.output
        assert row.cached is None or 0 < row.cached < row.input
    assert all(other.input > price.input for other in rows[1:])


def test_the_table_itself_cannot_be_changed():
    with pytest.raises(TypeError):
        PRICES["gpt-4o"] = Price(0, 0)  # pyright: ignore[reportIndexIssue]
