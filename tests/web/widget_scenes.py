"""States of a conversation that show everything a chat can show."""

from datetime import UTC, datetime, timedelta
from typing import Any

ANSWER = """Two **blue mugs** are in your cart. Here is what I found:

| Mug | Price | Stock |
| :-- | --: | :-: |
| Blue, 300 ml | 12.00 € | 8 |
| Blue, 450 ml | 15.50 € | 3 |

1. They ship *today* from [our store](https://shop.example/about).
2. Use `MUGS10` for ten percent off:

```json
{"code": "MUGS10", "percent": 10}
```

> Anything else? ![a mug](https://elsewhere.example/mug.png)
"""


def said(role: str, content: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": f"{role}{number}", "role": role, "content": content, "timestamp": "2026-01-01T10:00:00Z", **more}


def talk(answer: str = ANSWER) -> list[dict[str, Any]]:
    return [
        said("user", "What is in stock?", 1),
        said("assistant", "Mugs, tea pots and plates.", 1),
        said("user", "Add two blue mugs to the cart", 2),
        said("assistant", answer, 2),
    ]


def question(number: int = 1, *, seconds: float = 600, **more: Any) -> dict[str, Any]:
    expires = datetime.now(UTC) + timedelta(seconds=seconds)
    return {
        "id": f"a{number}",
        "tool": "shop.placeOrder",
        "reason": "placing an order cannot be undone",
        "preview": "Place the order: 2 × Blue mug, 24.00 €",
        "args": {"items": ["blue mug", "blue mug"], "address": {"street": "12 St James's Square"}, "gift": True},
        "argsHash": "0" * 64,
        "expiresAt": expires.isoformat(),
        **more,
    }


def step(number: int, status: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"s{number}", "tool": "click", "text": text, "status": status, "isOnPage": True, **more}


STEPS = [
    step(1, "done", 'Clicked "Add to cart" [Blue mug]'),
    step(2, "failed", 'Clicked "Add to cart": it is covered by a dialog'),
    step(3, "running", 'Clicking "Add to cart" [Blue mug]', ref="buy"),
]
TROUBLE = {"code": "offline", "message": "The server cannot be reached. Check the connection.", "canRetry": True}
EVERYTHING: dict[str, Any] = {"messages": talk(), "activity": STEPS[:2]}
