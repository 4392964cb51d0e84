// What every page of the shop does: ask its server, show how much is in the cart, say what happened.

const money = new Intl.NumberFormat("en-GB", { style: "currency", currency: "GBP" });

export const pounds = (amount) => money.format(amount);

export class Refusal extends Error {}

/** Ask the shop's server to do something. Throws a Refusal with words for the visitor. */
export async function call(name, input = {}) {
  const answer = await fetch(`/_jay/actions/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input),
  });
  const told = await answer.json().catch(() => ({}));
  if (!told.success) throw new Refusal(told.error?.message ?? "The shop does not answer. Try again.");
  return told.data;
}

/** An element with its attributes and what is inside of it. Text is text: nothing here makes HTML of it. */
export function made(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

export function say(text, { isProblem = false } = {}) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("problem", isProblem);
}

export function showCount(cart) {
  document.getElementById("count").textContent = cart.count ? String(cart.count) : "";
  document.getElementById("counted").textContent = cart.count === 1 ? "item" : cart.count ? "items" : "";
}

/** Do something that the server may refuse, and say so where it does. */
export async function attempt(work) {
  try {
    return await work();
  } catch (problem) {
    say(problem instanceof Refusal ? problem.message : "That did not work. Try again.", { isProblem: true });
    return undefined;
  }
}

/** Show the page, now and whenever the agent may have changed something at the server. */
export function kept(show) {
  let isBusy = false;
  const again = () => attempt(show);
  const heard = (event) => {
    const isLoading = Boolean(event.target?.isLoading);
    if (isBusy && !isLoading) again();
    isBusy = isLoading;
  };
  // On its way down: it does not bubble.
  document.addEventListener("pollux-change", heard, { capture: true });
  // A page that comes back from the browser's memory is as old as it was left.
  addEventListener("pageshow", (event) => event.persisted && again());
  return again();
}
