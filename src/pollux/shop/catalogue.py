"""What the shop sells."""

from collections.abc import Iterable
from typing import Final

from pollux.core.frozen import frozen


@frozen
class Product:
    """One thing on the shelf. Money is counted in pence."""

    id: str
    name: str
    kind: str
    colour: str
    pence: int
    stock: int
    words: str = ""
    """What else it may be looked for by."""

    @property
    def price(self) -> float:
        """In pounds, as it is told."""
        return self.pence / 100


def _products() -> Iterable[Product]:
    for colour, pence, stock in (
        ("Blue", 950, 20), ("Red", 950, 12), ("Green", 950, 9), ("Yellow", 950, 7), ("White", 800, 40),
        ("Black", 800, 25), ("Speckled", 1250, 6), ("Travel", 1800, 15),
    ):  # fmt: skip
        yield Product(f"mug-{colour.lower()}", f"{colour} mug", "Mugs", colour, pence, stock, "cup coffee")
    for name, colour, pence, stock in (
        ("Stoneware", "White", 2400, 8), ("Cast iron", "Black", 4500, 5), ("Glass", "Clear", 2150, 10),
        ("Brown Betty", "Brown", 2800, 6), ("Travel", "Green", 3300, 4),
    ):  # fmt: skip
        slug = name.lower().replace(" ", "-")
        yield Product(f"pot-{slug}", f"{name} tea pot", "Tea pots", colour, pence, stock, "teapot kettle")
    for name, colour, pence, stock in (
        ("Dinner", "White", 1100, 30), ("Side", "White", 750, 30), ("Soup", "Blue", 950, 18),
        ("Cake", "Yellow", 1900, 7), ("Serving", "Speckled", 2600, 5),
    ):  # fmt: skip
        yield Product(f"plate-{name.lower()}", f"{name} plate", "Plates", colour, pence, stock, "dish")
    for name, colour, pence, stock in (
        ("Cereal", "White", 850, 24), ("Rice", "Blue", 700, 24), ("Salad", "Green", 2250, 6),
    ):  # fmt: skip
        yield Product(f"bowl-{name.lower()}", f"{name} bowl", "Bowls", colour, pence, stock, "dish")
    for name, colour, pence, stock in (
        ("Earl Grey", "Black", 650, 50), ("Assam", "Brown", 600, 50), ("Peppermint", "Green", 550, 50),
        ("Rooibos", "Red", 575, 0),
    ):  # fmt: skip
        slug = name.lower().replace(" ", "-")
        yield Product(f"tea-{slug}", f"{name} tea", "Tea", colour, pence, stock, "leaves caddy")


PRODUCTS: Final = {product.id: product for product in _products()}
KINDS: Final = tuple(dict.fromkeys(product.kind for product in PRODUCTS.values()))


def search(query: str = "", *, kind: str = "", up_to: float | None = None) -> list[Product]:
    """Those that fit every word, kind and price; cheapest first."""
    words = [_singular(word) for word in query.lower().split()]
    found = [
        product
        for product in PRODUCTS.values()
        if (not kind or product.kind == kind)
        and (up_to is None or product.pence <= round(up_to * 100))
        and all(any(word in known for known in _known_by(product)) for word in words)
    ]
    return sorted(found, key=lambda product: product.pence)


def _known_by(product: Product) -> list[str]:
    return f"{product.name} {product.kind} {product.colour} {product.words}".lower().split()


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
