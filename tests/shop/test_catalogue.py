"""What the shop sells, and how it is found."""

import pytest

from pollux.shop.catalogue import KINDS, PRODUCTS, search


def test_there_is_enough_to_choose_from():
    assert len(PRODUCTS) >= 24 and len(KINDS) >= 5
    assert len({product.name for product in PRODUCTS.values()}) == len(PRODUCTS)
    assert all(product.pence > 0 and product.stock >= 0 for product in PRODUCTS.values())


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("blue mug", ["Blue mug"]),
        ("Blue MUGS", ["Blue mug"]),
        ("teapot betty", ["Brown Betty tea pot"]),
        ("submarine", []),
    ],
)
def test_every_word_counts_in_whatever_form(words: str, names: list[str]):
    assert [product.name for product in search(words)] == names


def test_a_kind_and_a_price_narrow_it_down_cheapest_first():
    found = search("", kind="Tea pots", up_to=30)
    assert [product.price for product in found] == [21.5, 24.0, 28.0]
