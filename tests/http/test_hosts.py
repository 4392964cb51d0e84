"""Under which names a server may be reached."""

from pathlib import Path

import pytest
from tests.http.site import settings_in

from pollux.asgi.listening import is_loopback
from pollux.serve import hosts_of

LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}


def test_on_loopback_its_own_names_and_those_it_is_given(tmp_path: Path):
    assert hosts_of(settings_in(tmp_path)) == LOOPBACK
    assert hosts_of(settings_in(tmp_path, host="127.0.0.2")) == LOOPBACK | {"127.0.0.2"}
    given = {"POLLUX_ALLOWED_HOSTS": "agents.example", "POLLUX_PUBLIC_URL": "https://Agents.example:8443/x"}
    assert hosts_of(settings_in(tmp_path, given)) == LOOPBACK | {"agents.example"}


def test_behind_a_proxy_the_public_address_is_enough(tmp_path: Path):
    given = {"POLLUX_PUBLIC_URL": "https://agents.example"}
    assert hosts_of(settings_in(tmp_path, given)) == LOOPBACK | {"agents.example"}


def test_on_a_public_address_any_name_unless_some_are_named(tmp_path: Path):
    assert hosts_of(settings_in(tmp_path, host="0.0.0.0")) is None
    named = settings_in(tmp_path, {"POLLUX_ALLOWED_HOSTS": "agents.example"}, host="0.0.0.0")
    assert hosts_of(named) == {"agents.example"}


@pytest.mark.parametrize(
    ("host", "is_ours"), [("127.0.0.1", True), ("::1", True), ("LOCALHOST", True), ("0.0.0.0", False)]
)
def test_only_this_machine_is_loopback(host: str, is_ours: bool):
    assert is_loopback(host) == is_ours
