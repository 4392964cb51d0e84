"""What a profile may use, under what the configuration allows."""

from dataclasses import replace

from pollux.core.profile import Limits, bounded


def test_a_bound_tightens_and_never_loosens():
    limits = Limits(model_calls=3, tokens=None, seconds=60.0)
    assert bounded(limits, {}) is limits
    assert bounded(limits, {"model_calls": 9, "seconds": 90}) is limits
    assert bounded(limits, {"model_calls": 2, "tokens": 7, "seconds": 1.5}) == replace(
        limits, model_calls=2, tokens=7, seconds=1.5
    )
