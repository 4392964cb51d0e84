/** A text that nobody else has. (`crypto.randomUUID` is not there on plain HTTP.) */
export function keyFor(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
