/** Sliders that are not the browser's own: what they say by ARIA, and jQuery UI's, whose handles say nothing. */

import { allIn, attributeOf, isMatch, ownerOf, parentElementOf, windowOf } from "./dom";

export interface Scale {
  readonly value: number;
  readonly least: number;
  readonly most: number;
}

type JQuery = (element: Element) => { slider?(method: "option", name: string): unknown };

/** A handle of jQuery UI, which can be focused and has no role. */
export function isHandle(element: Element): boolean {
  return isMatch(element, ".ui-slider > .ui-slider-handle");
}

/** Where a slider stands and how far it goes; null where nothing says it. */
export function scaleOf(element: Element): Scale | null {
  if (isHandle(element)) return ofWidget(element);
  const [value, least, most] = ["now", "min", "max"].map((end) =>
    Number.parseFloat(attributeOf(element, `aria-value${end}`) ?? ""),
  );
  if (value === undefined || Number.isNaN(value)) return null;
  return { value, least: least || 0, most: most === undefined || Number.isNaN(most) ? 100 : most };
}

function ofWidget(handle: Element): Scale | null {
  const slider = parentElementOf(handle);
  try {
    const { jQuery } = windowOf(ownerOf(handle)) as unknown as { jQuery?: JQuery };
    const option = (name: string): unknown => slider && jQuery?.(slider).slider?.("option", name);
    const [values, value] = [option("values"), option("value")];
    const at = slider ? allIn(slider, ".ui-slider-handle").indexOf(handle) : 0;
    const found = Array.isArray(values) && values.length > 0 ? values[at] : value;
    const scale = { value: Number(found), least: Number(option("min")), most: Number(option("max")) };
    return Object.values(scale).some(Number.isNaN) ? null : scale;
  } catch {
    // The page's own jQuery, of whatever make.
    return null;
  }
}
