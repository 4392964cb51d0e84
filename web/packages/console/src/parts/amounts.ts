/** Tokens and dollars, as people read them. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A number to the last digit: `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** A number in little room: `12.3K`. */
export function brief(value: number): string {
  return short.format(value);
}

/** Dollars. Small ones keep two digits that say something: `$0.00042`. Null: nobody knows. */
export function money(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return "unknown";
  if (cost === 0) return "$0";
  if (cost < 0.000_001) return "< $0.000001";
  const digits = cost >= 1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(cost)));
  return `$${cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) })}`;
}

/** `1 run`, `2 runs`. */
export function several(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
