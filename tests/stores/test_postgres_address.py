"""Addresses of a database that are none: refused before anybody is asked, and no password is shown."""

import pytest
from tests.stores.postgres_worker import KEY

from pollux.core.errors import ValidationError
from pollux.core.redact import Secret
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.store import PostgresStore


@pytest.mark.parametrize("url", ["postgresql://u:hunter2@[bad/db", "host", "postgresql://u:hunter2@h/db?nonsense=1"])
def test_an_address_that_is_none_is_refused_without_its_password(url: str):
    with pytest.raises(ValidationError, match="postgresql://user") as refusal:
        PostgresStore(Secret(url), key=KEY)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("password", ["pw/secret", "pw@secret", "pw@se/cret"])
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(password: str):
    with pytest.raises(ValidationError) as refused:
        Address(f"postgresql://pollux:{password}@127.0.0.1:5432/pollux")
    assert "cret" not in str(refused.value)
