"""What the shop does: for its own pages as they ask, and for a model where a `.jay-action` file describes it."""

from typing import Any, Literal

from pollux.core.tools import ToolContext
from pollux.shop import catalogue
from pollux.shop.ledger import Address, Line, Order, Refused
from pollux.shop.place import books
from pollux.tools.actions import ActionError, action, query

Delivery = Literal["Standard", "Express", "Collect in the shop"]


@query("searchProducts")
def search_products(
    query: str = "", kind: str = "", max_price: float | None = None, limit: int = 40
) -> list[dict[str, Any]]:
    """Products by words, kind and price; cheapest first."""
    left = books().stock()
    found = catalogue.search(query, kind=kind, up_to=max_price)[:limit]
    return [
        {"id": each.id, "name": each.name, "kind": each.kind, "colour": each.colour, "price": each.price,
         "stock": left[each.id]}
        for each in found
    ]  # fmt: skip


@query("getCart")
def get_cart(context: ToolContext) -> dict[str, Any]:
    """What the visitor's cart holds."""
    return _told(books().cart(context.user))


@query("listOrders")
def list_orders(context: ToolContext) -> list[dict[str, Any]]:
    """What the visitor has ordered, the newest first."""
    return [_receipt(order) for order in books().orders(context.user)]


@action("addToCart", preview=lambda args: f"{args['quantity']} of {args['product_id']}", parallel=False)
def add_to_cart(product_id: str, context: ToolContext, quantity: int = 1) -> dict[str, Any]:
    """Put a product into the visitor's cart."""
    try:
        return _told(books().put(context.user, product_id, quantity, more=True))
    except Refused as problem:
        raise ActionError(problem.code, str(problem)) from None


@action("placeOrder", repeat="keyed", preview=lambda args: _asked(args))
def place_order(
    name: str,
    street: str,
    town: str,
    postcode: str,
    total: float,
    context: ToolContext,
    delivery: Delivery = "Standard",
    gift: bool = False,
) -> dict[str, Any]:
    """Order what is in the visitor's cart, on invoice."""
    address = Address(name, street, town, postcode, delivery, gift)
    return _ordered(context, address, total, paid="on invoice", key=context.key)


# No file describes what follows: the shop's pages call it, and a model never hears of it.


@action("setQuantity")
def set_quantity(product_id: str, quantity: int, context: ToolContext) -> dict[str, Any]:
    """So many of a product in the cart; none takes it out."""
    try:
        return _told(books().put(context.user, product_id, quantity, more=False))
    except Refused as problem:
        raise ActionError(problem.code, str(problem)) from None


@action("payOrder")
def pay_order(
    name: str,
    street: str,
    town: str,
    postcode: str,
    total: float,
    card: str,
    attempt: str,
    context: ToolContext,
    delivery: Delivery = "Standard",
    gift: bool = False,
) -> dict[str, Any]:
    """Order what is in the cart and pay by card. The number is looked at and forgotten; nothing is charged."""
    digits = "".join(card.split())
    if not (digits.isascii() and digits.isdigit() and 12 <= len(digits) <= 19):
        raise ActionError("BAD_CARD", "expected a card number of 12 to 19 digits")
    if len(attempt) < 8:
        raise ActionError("BAD_ATTEMPT", "expected a mark of at least 8 characters for this attempt")
    address = Address(name, street, town, postcode, delivery, gift)
    return _ordered(context, address, total, paid=f"by card, ending in {digits[-4:]}", key=attempt)


def _ordered(context: ToolContext, address: Address, total: float, *, paid: str, key: str) -> dict[str, Any]:
    blank = [part for part in ("name", "street", "town", "postcode") if not getattr(address, part).strip()]
    if blank:
        raise ActionError("NO_ADDRESS", f"expected a whole address, found no {', '.join(blank)}")
    try:
        order = books().order(context.user, address, total=round(total * 100), paid=paid, key=key)
    except Refused as problem:
        raise ActionError(problem.code, str(problem)) from None
    return _receipt(order)


def _asked(args: dict[str, Any]) -> str:
    """What a person reads before it is ordered."""
    gift = ", as a gift" if args.get("gift") else ""
    where = ", ".join(str(args[part]) for part in ("name", "street", "town", "postcode"))
    return f"order the cart for £{float(args['total']):.2f}, on invoice, to {where} ({args['delivery']}{gift})"


def _told(lines: tuple[Line, ...]) -> dict[str, Any]:
    return {
        "items": [
            {"productId": line.product.id, "name": line.product.name, "quantity": line.quantity,
             "price": line.pence / 100}
            for line in lines
        ],
        "count": sum(line.quantity for line in lines),
        "total": sum(line.quantity * line.pence for line in lines) / 100,
    }  # fmt: skip


def _receipt(order: Order) -> dict[str, Any]:
    address = order.address
    return {
        "number": order.number,
        "at": order.at,
        "items": _told(order.lines)["items"],
        "to": f"{address.name}, {address.street}, {address.town} {address.postcode}",
        "delivery": address.delivery,
        "gift": address.gift,
        "paid": order.paid,
        "total": order.pence / 100,
    }
