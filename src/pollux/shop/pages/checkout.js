// The checkout: an address that is kept while the tab is open, a card that is not, and one order for one attempt.

import { attempt, call, kept, pounds, say, showCount } from "./common.js";

const KEPT = ["name", "street", "town", "postcode", "delivery", "gift"];
const COSTS = { Express: 4.95 };
const form = document.getElementById("order");
const pay = document.getElementById("pay");
// Pressed twice, or sent again by the browser, it is still this one.
const mark = crypto.randomUUID();
let cart = { items: [], count: 0, total: 0 };

const field = (name) => form.elements.namedItem(name);
const total = () => cart.total + (COSTS[field("delivery").value] ?? 0) + (field("gift").checked ? 2.5 : 0);

function showTotal() {
  const text = cart.count ? `Total ${pounds(total())}` : "Your cart is empty.";
  document.getElementById("total").textContent = text;
  pay.textContent = cart.count ? `Pay ${pounds(total())}` : "Pay";
  pay.disabled = !cart.count;
}

function keep() {
  const values = KEPT.map((name) => [name, field(name).type === "checkbox" ? field(name).checked : field(name).value]);
  sessionStorage.setItem("shop-address", JSON.stringify(Object.fromEntries(values)));
}

function recall() {
  const values = JSON.parse(sessionStorage.getItem("shop-address") ?? "{}");
  for (const name of KEPT.filter((each) => each in values)) {
    if (field(name).type === "checkbox") field(name).checked = values[name];
    else field(name).value = values[name];
  }
}

async function order() {
  if (!form.reportValidity()) return;
  const given = Object.fromEntries(KEPT.slice(0, 5).map((name) => [name, field(name).value.trim()]));
  const input = { ...given, gift: field("gift").checked, card: field("card").value, attempt: mark };
  const made = await call("payOrder", { ...input, total: Math.round(total() * 100) / 100 });
  say(`Order ${made.number} is on its way.`);
  location.assign("/shop/orders");
}

form.addEventListener("input", () => {
  keep();
  showTotal();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(order);
});
recall();
kept(async () => {
  cart = await call("getCart");
  showCount(cart);
  showTotal();
});
