"""The shop's books: carts apart, one order for one key, and no more than there is."""

import threading
from pathlib import Path

import pytest

from pollux.shop.ledger import Address, Ledger, Refused

ADA, BOB = "visitor:ada", "visitor:bob"
HOME = Address("Ada Lovelace", "12 St James's Square", "London", "SW1Y 4JH")


@pytest.fixture
def books(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "shop.db")


def test_each_visitor_has_a_cart_of_their_own(books: Ledger):
    books.put(ADA, "mug-blue", 2, more=True)
    books.put(ADA, "mug-blue", 1, more=True)
    assert [(line.product.name, line.quantity) for line in books.cart(ADA)] == [("Blue mug", 3)]
    assert books.cart(BOB) == ()


def test_none_of_a_product_takes_it_out(books: Ledger):
    books.put(ADA, "mug-blue", 2, more=True)
    assert books.put(ADA, "mug-blue", 0, more=False) == ()


@pytest.mark.parametrize(
    ("product", "quantity", "code"),
    [("nothing", 1, "NO_SUCH_PRODUCT"), ("tea-rooibos", 1, "SOLD_OUT"), ("mug-speckled", 7, "SOLD_OUT")],
)
def test_what_there_is_not_is_refused(books: Ledger, product: str, quantity: int, code: str):
    with pytest.raises(Refused) as refused:
        books.put(ADA, product, quantity, more=True)
    assert refused.value.code == code


def test_an_order_empties_the_cart_and_the_shelf(books: Ledger):
    books.put(ADA, "mug-blue", 2, more=True)
    order = books.order(ADA, HOME, total=1900, paid="on invoice", key="a1")
    assert (order.number, order.pence, order.address) == (1, 1900, HOME)
    assert (books.cart(ADA), books.stock()["mug-blue"]) == ((), 18)
    assert books.orders(ADA) == [order] and books.orders(BOB) == []


def test_the_same_key_finds_the_same_order(books: Ledger):
    books.put(ADA, "mug-blue", 2, more=True)
    first = books.order(ADA, HOME, total=1900, paid="on invoice", key="a1")
    books.put(ADA, "mug-red", 1, more=True)
    assert books.order(ADA, HOME, total=950, paid="on invoice", key="a1") == first
    assert len(books.orders(ADA)) == 1 and len(books.cart(ADA)) == 1


def test_one_visitor_s_key_is_not_another_s(books: Ledger):
    for visitor in (ADA, BOB):
        books.put(visitor, "mug-blue", 1, more=True)
        books.order(visitor, HOME, total=950, paid="on invoice", key="a1")
    assert [len(books.orders(visitor)) for visitor in (ADA, BOB)] == [1, 1]


def test_a_cart_that_costs_something_else_by_now_is_not_ordered(books: Ledger):
    books.put(ADA, "mug-blue", 3, more=True)
    with pytest.raises(Refused, match=r"28\.50, found 19\.00"):
        books.order(ADA, HOME, total=1900, paid="on invoice", key="a1")
    assert books.orders(ADA) == [] and len(books.cart(ADA)) == 1


def test_delivery_and_wrapping_are_part_of_the_total(books: Ledger):
    books.put(ADA, "mug-blue", 1, more=True)
    express = Address("Ada", "1 Road", "Leeds", "LS1 1AA", "Express", gift=True)
    assert books.order(ADA, express, total=950 + 495 + 250, paid="on invoice", key="a1").pence == 1695


def test_an_empty_cart_is_not_ordered(books: Ledger):
    with pytest.raises(Refused, match="empty"):
        books.order(ADA, HOME, total=0, paid="on invoice", key="a1")


def test_ten_at_once_with_one_key_make_one_order(books: Ledger):
    books.put(ADA, "mug-blue", 2, more=True)
    made: list[int] = []

    def order() -> None:
        made.append(books.order(ADA, HOME, total=1900, paid="on invoice", key="a1").number)

    threads = [threading.Thread(target=order) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert made == [1] * 10 and len(books.orders(ADA)) == 1


def test_the_books_are_there_when_they_are_opened_again(tmp_path: Path):
    Ledger(tmp_path / "shop.db").put(ADA, "mug-blue", 2, more=True)
    assert len(Ledger(tmp_path / "shop.db").cart(ADA)) == 1
