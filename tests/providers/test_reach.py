"""Which addresses are on this machine."""

import pytest

from pollux.providers.reach import is_loopback


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://127.8.8.8/v1", "http://localhost", "http://[::1]:9/x"])
def test_this_machine_is_known(url: str):
    assert is_loopback(url)


@pytest.mark.parametrize("url", ["http://127.evil.example", "https://localhost.example", "http://10.0.0.1", "http://"])
def test_a_name_that_only_looks_like_it_is_not_this_machine(url: str):
    assert not is_loopback(url)
