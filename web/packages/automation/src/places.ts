/** Points of a frame as points of the page around it, however the page has scaled or turned the frame. */

import { clientLeftOf, clientTopOf, rectOf, styleOf } from "./dom";
import { parentOf } from "./frames";

/** Where a point of what a frame shows lies in the document that the frame lies in. */
export function outwards(frame: Element, x: number, y: number): [number, number] {
  const box = rectOf(frame);
  const style = styleOf(frame);
  const { offsetWidth: width, offsetHeight: height } = frame as HTMLElement;
  const across = clientLeftOf(frame) + lengthOf(style?.paddingLeft) + x;
  const down = clientTopOf(frame) + lengthOf(style?.paddingTop) + y;
  if (box.width === width && box.height === height) return [box.left + across, box.top + down];
  const [a, b, c, d] = turnOf(frame);
  const isFlat =
    isNear(Math.abs(a * width) + Math.abs(c * height), box.width) &&
    isNear(Math.abs(b * width) + Math.abs(d * height), box.height);
  // Where a point of what is turned into the third dimension lies cannot be said: the middle stands for all of it.
  if (!isFlat) return [box.left + box.width / 2, box.top + box.height / 2];
  // However it was turned, the middle of the frame is the middle of the box around it.
  const [right, below] = [across - width / 2, down - height / 2];
  return [box.left + box.width / 2 + a * right + c * below, box.top + box.height / 2 + b * right + d * below];
}

type Turn = readonly [number, number, number, number];

/** What the transformations of an element and of all around it come to, where it is moved apart. */
function turnOf(element: Element): Turn {
  let turn: Turn = [1, 0, 0, 1];
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const style = styleOf(at);
    if (!style) break;
    for (const each of [style.transform, given("scale", style.scale), given("rotate", style.rotate)])
      if (each && each !== "none") turn = after(turn, new DOMMatrix(each));
    const zoom = Number(style.zoom) || 1;
    if (zoom !== 1) turn = [turn[0] * zoom, turn[1] * zoom, turn[2] * zoom, turn[3] * zoom];
  }
  return turn;
}

function given(name: string, value: string | undefined): string {
  return value && value !== "none" ? `${name}(${value.split(" ").join(", ")})` : "";
}

function after([a, b, c, d]: Turn, by: DOMMatrix): Turn {
  return [by.a * a + by.c * b, by.b * a + by.d * b, by.a * c + by.c * d, by.b * c + by.d * d];
}

function lengthOf(value: string | undefined): number {
  return Number.parseFloat(value ?? "") || 0;
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) < 1;
}
