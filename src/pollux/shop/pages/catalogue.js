// The catalogue: what fits the words, the kind and the price, as they are typed.

import { attempt, call, kept, made, pounds, say, showCount } from "./common.js";
import { drawn } from "./drawings.js";

const form = document.getElementById("filter");
const list = document.getElementById("products");
let asked = 0;

function card(product) {
  const name = made("h2", { id: product.id }, product.name);
  const isThere = product.stock > 0;
  const button = made("button", { type: "button", "aria-describedby": product.id }, "Add to cart");
  button.disabled = !isThere;
  button.addEventListener("click", () => attempt(() => add(product)));
  const stock = isThere ? `${product.stock} in stock` : "Sold out";
  return made(
    "li",
    { "aria-labelledby": product.id },
    drawn(product),
    name,
    made("p", { class: "price" }, pounds(product.price)),
    made("p", { class: "stock" }, stock),
    button,
  );
}

async function add(product) {
  const cart = await call("addToCart", { productId: product.id });
  showCount(cart);
  const line = cart.items.find((each) => each.productId === product.id);
  say(`In your cart: ${line.quantity} × ${product.name}.`);
}

async function show() {
  const mine = ++asked;
  const { query, kind, maxPrice } = Object.fromEntries(new FormData(form));
  const wanted = { query: query.trim(), kind, ...(maxPrice ? { maxPrice: Number(maxPrice) } : {}) };
  const found = await call("searchProducts", wanted);
  // An answer to what was typed before is of no use any more.
  if (mine !== asked) return;
  list.replaceChildren(...found.map(card));
  const count = found.length === 1 ? "1 product" : `${found.length} products`;
  document.getElementById("found").textContent = found.length ? count : "Nothing fits. Try other words.";
}

form.addEventListener("input", () => attempt(show));
form.addEventListener("submit", (event) => event.preventDefault());
attempt(show);
kept(async () => showCount(await call("getCart")));
