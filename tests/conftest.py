"""How hard properties are tried, everywhere: no clock decides, and soak tries many more."""

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", max_examples=150, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("soak", max_examples=10_000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("POLLUX_HYPOTHESIS_PROFILE", "default"))
