// What was ordered, the newest first.

import { call, kept, made, pounds, showCount } from "./common.js";

function shown(order) {
  const items = order.items.map((item) => `${item.quantity} × ${item.name}`).join(", ");
  return made(
    "li",
    {},
    made("h2", {}, `Order ${order.number}`),
    made("p", {}, items),
    made("p", {}, `${pounds(order.total)}, ${order.paid}`),
    made("p", {}, `To ${order.to} (${order.delivery}${order.gift ? ", as a gift" : ""})`),
  );
}

kept(async () => {
  const [orders, cart] = await Promise.all([call("listOrders"), call("getCart")]);
  showCount(cart);
  const none = made("li", {}, "You have ordered nothing yet.");
  document.getElementById("orders").replaceChildren(...(orders.length ? orders.map(shown) : [none]));
});
