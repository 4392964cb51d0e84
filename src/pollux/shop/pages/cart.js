// The cart: how many of each, what it costs, and less of it.

import { attempt, call, kept, made, pounds, say, showCount } from "./common.js";

function line(item) {
  const remove = made("button", { type: "button" }, "Remove");
  remove.addEventListener("click", () =>
    attempt(async () => {
      show(await call("setQuantity", { productId: item.productId, quantity: 0 }));
      say(`${item.name} is no longer in your cart.`);
    }),
  );
  return made(
    "li",
    {},
    made("h2", {}, item.name),
    made("p", {}, `${item.quantity} × ${pounds(item.price)}`),
    made("p", {}, pounds(item.quantity * item.price)),
    remove,
  );
}

function show(cart) {
  showCount(cart);
  document.getElementById("lines").replaceChildren(...cart.items.map(line));
  document.getElementById("total").textContent = cart.count ? `Total ${pounds(cart.total)}` : "Your cart is empty.";
  document.getElementById("onward").hidden = !cart.count;
}

kept(async () => show(await call("getCart")));
