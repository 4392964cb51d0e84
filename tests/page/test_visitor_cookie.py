"""The visitor's cookie: where browsers know us by https, no neighbour below the same domain can set it."""

from starlette.datastructures import Headers

from pollux.page.cookie import cookie_of, token_in


def test_under_https_the_cookie_is_bound_to_the_host():
    cookie = cookie_of("t", secure=True)
    assert cookie.startswith("__Host-pollux_visitor=t; Path=/;") and cookie.endswith("Secure")
    assert "Domain" not in cookie
    assert cookie_of("t", secure=False).startswith("pollux_visitor=t;")


def test_under_https_a_cookie_that_a_neighbour_can_set_counts_for_nothing():
    headers = Headers({"cookie": "pollux_visitor=planted; __Host-pollux_visitor=own; pollux_visitor=planted"})
    assert token_in(headers, secure=True) == "own"
    assert token_in(Headers({"cookie": "pollux_visitor=planted"}), secure=True) == ""
    assert token_in(headers, secure=False) == "planted"
