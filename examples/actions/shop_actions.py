"""The handlers of a small shop: one that looks, one that acts, and one that no model hears of."""

from typing import Any, Literal

from pollux.core.tools import ToolContext
from pollux.tools.actions import ActionError, action, query

PRODUCTS = {
    "p1": {"id": "p1", "name": "Blue mug", "price": 9.5},
    "p2": {"id": "p2", "name": "Red mug", "price": 8.0},
    "p3": {"id": "p3", "name": "Tea pot", "price": 24.0},
}
CARTS: dict[str, dict[str, int]] = {}


@query("searchProducts")
def search_products(query: str, limit: int = 10) -> list[dict[str, Any]]:
    """Products whose names hold all the words."""
    words = query.lower().split()
    found = [each for each in PRODUCTS.values() if all(word in str(each["name"]).lower() for word in words)]
    return sorted(found, key=lambda each: each["price"])[:limit]


@action("cart.addToCart", preview=lambda args: f"{args['quantity']} of {args['product_id']}")
def add_to_cart(
    product_id: str, context: ToolContext, quantity: int = 1, gift_wrap: Literal["none", "paper", "box"] = "none"
) -> dict[str, Any]:
    """Put a product into the cart of whoever asks."""
    if product_id not in PRODUCTS:
        raise ActionError("NO_SUCH_PRODUCT", f"there is no product {product_id}; search for one first")
    cart = CARTS.setdefault(context.user, {})
    cart[product_id] = cart.get(product_id, 0) + quantity
    items = [{"productId": each, "quantity": count} for each, count in cart.items()]
    return {"items": items, "total": sum(float(PRODUCTS[each]["price"]) * count for each, count in cart.items())}


@action
def restock(input: dict[str, Any]) -> dict[str, int]:
    """For the shop's own pages."""
    return {"accepted": len(input)}
