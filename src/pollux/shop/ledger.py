"""What visitors have in their carts and what they ordered, in one SQLite file.

An order is written in the transaction that empties the cart, under the key of whoever asked for it. The same key again
finds that order: however often it is tried, there is one.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from pollux.core.frozen import frozen
from pollux.shop.catalogue import PRODUCTS, Product

MOST: Final = 99
"""Of one product in one cart."""
DELIVERY: Final = {"Standard": 0, "Express": 495, "Collect in the shop": 0}
"""What it costs, in pence."""
GIFT: Final = 250
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS cart (visitor TEXT, product TEXT, quantity INTEGER, PRIMARY KEY (visitor, product));
CREATE TABLE IF NOT EXISTS orders (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, visitor TEXT, name TEXT, street TEXT, town TEXT,
    postcode TEXT, delivery TEXT, gift INTEGER, pence INTEGER, paid TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE IF NOT EXISTS lines (number INTEGER, product TEXT, quantity INTEGER, pence INTEGER);
"""


class Refused(Exception):
    """Why the shop does not do it: a code, and words for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@frozen
class Line:
    """So many of one product, at a price each."""

    product: Product
    quantity: int
    pence: int


@frozen
class Address:
    """Where an order goes, and how."""

    name: str
    street: str
    town: str
    postcode: str
    delivery: str = "Standard"
    gift: bool = False

    @property
    def pence(self) -> int:
        """What that costs."""
        return DELIVERY[self.delivery] + (GIFT if self.gift else 0)


@frozen
class Order:
    """What was ordered, and how it is paid."""

    number: int
    address: Address
    lines: tuple[Line, ...]
    pence: int
    paid: str
    at: str


class Ledger:
    """The shop's books. Every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)

    def cart(self, visitor: str) -> tuple[Line, ...]:
        """What a visitor has put there, in the order of the shelf."""
        with self._transaction() as rows:
            return _cart(rows, visitor)

    def put(self, visitor: str, product: str, quantity: int, *, more: bool) -> tuple[Line, ...]:
        """So many of a product in the cart, or so many more. None takes it out. Raises Refused."""
        if product not in PRODUCTS:
            raise Refused("NO_SUCH_PRODUCT", f"there is no product {product[:40]!r}; search for one first")
        with self._transaction() as rows:
            there = {line.product.id: line.quantity for line in _cart(rows, visitor)}.get(product, 0)
            wanted = quantity + there if more else quantity
            left = stock(rows, PRODUCTS[product])
            if wanted > min(left, MOST):
                raise Refused("SOLD_OUT", f"expected at most {min(left, MOST)} of {PRODUCTS[product].name}")
            rows.execute("DELETE FROM cart WHERE visitor = ? AND product = ?", (visitor, product))
            if wanted > 0:
                rows.execute("INSERT INTO cart VALUES (?, ?, ?)", (visitor, product, wanted))
            return _cart(rows, visitor)

    def order(self, visitor: str, address: Address, *, total: int, paid: str, key: str) -> Order:
        """Order what is in the cart for this total, once for each key. Raises Refused."""
        with self._transaction() as rows:
            if known := rows.execute("SELECT number FROM orders WHERE key = ?", (f"{visitor} {key}",)).fetchone():
                return _order(rows, known[0])
            lines = _cart(rows, visitor)
            pence = sum(line.quantity * line.pence for line in lines) + address.pence
            if not lines:
                raise Refused("EMPTY_CART", "the cart is empty; there is nothing to order")
            if pence != total:
                raise Refused("OTHER_TOTAL", f"expected the total {pence / 100:.2f}, found {total / 100:.2f}")
            for line in lines:
                if line.quantity > stock(rows, line.product):
                    raise Refused("SOLD_OUT", f"there is not enough of {line.product.name} any more")
            number = rows.execute(
                "INSERT INTO orders (key, visitor, name, street, town, postcode, delivery, gift, pence, paid)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (f"{visitor} {key}", visitor, address.name, address.street, address.town, address.postcode,
                 address.delivery, address.gift, pence, paid),
            ).lastrowid  # fmt: skip
            assert number is not None
            kept = [(number, line.product.id, line.quantity, line.pence) for line in lines]
            rows.executemany("INSERT INTO lines VALUES (?, ?, ?, ?)", kept)
            rows.execute("DELETE FROM cart WHERE visitor = ?", (visitor,))
            return _order(rows, number)

    def orders(self, visitor: str) -> list[Order]:
        """What a visitor has ordered, the newest first."""
        with self._transaction() as rows:
            found = rows.execute("SELECT number FROM orders WHERE visitor = ? ORDER BY number DESC", (visitor,))
            return [_order(rows, number) for (number,) in found.fetchall()]

    def stock(self) -> dict[str, int]:
        """How many of each product are left."""
        with self._transaction() as rows:
            return {product.id: stock(rows, product) for product in PRODUCTS.values()}

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as connection:
            # At once: whoever reads the cart to order it must not find that another has done so meanwhile.
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection


def stock(rows: sqlite3.Connection, product: Product) -> int:
    """How many are left: those on the shelf without those that were ordered."""
    sold = rows.execute("SELECT COALESCE(SUM(quantity), 0) FROM lines WHERE product = ?", (product.id,)).fetchone()
    return max(0, product.stock - sold[0])


def _cart(rows: sqlite3.Connection, visitor: str) -> tuple[Line, ...]:
    held = dict(rows.execute("SELECT product, quantity FROM cart WHERE visitor = ?", (visitor,)).fetchall())
    return tuple(Line(each, held[each.id], each.pence) for each in PRODUCTS.values() if each.id in held)


def _order(rows: sqlite3.Connection, number: int) -> Order:
    name, street, town, postcode, delivery, gift, pence, paid, at = rows.execute(
        "SELECT name, street, town, postcode, delivery, gift, pence, paid, at FROM orders WHERE number = ?", (number,)
    ).fetchone()
    found = rows.execute("SELECT product, quantity, pence FROM lines WHERE number = ?", (number,)).fetchall()
    lines = tuple(Line(PRODUCTS[product], quantity, each) for product, quantity, each in found)
    return Order(number, Address(name, street, town, postcode, delivery, bool(gift)), lines, pence, paid, at)
