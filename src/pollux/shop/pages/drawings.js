// A picture of each kind of thing, in the colour that it has.

const SHAPES = {
  Mugs: ["M28 30h56v38a16 16 0 0 1-16 16H44a16 16 0 0 1-16-16z", "M84 40h6a11 11 0 0 1 0 28h-6"],
  "Tea pots": ["M36 44a26 22 0 0 1 52 0c10 28-2 40-26 40S26 72 36 44zM56 20h12v6H56z", "M90 50c12 0 12 26-2 26M34 56 16 44"],
  Plates: ["M12 54a50 18 0 1 0 100 0a50 18 0 1 0-100 0z", "M32 53a30 9 0 1 0 60 0a30 9 0 1 0-60 0"],
  Bowls: ["M20 40h84c0 28-18 44-42 44S20 68 20 40z", "M46 88h32"],
  Tea: ["M34 30h56v54H34zM40 20h44v10H40z", "M46 50h32M46 60h20"],
};
const COLOURS = {
  Blue: "#2f6fb5",
  Red: "#b5402f",
  Green: "#3f8a5b",
  Yellow: "#d6a72c",
  White: "#d9d6cf",
  Black: "#3a3d44",
  Brown: "#7c5236",
  Clear: "#a9c7cf",
  Speckled: "#9c948a",
  Travel: "#5f6b7a",
};

function path(attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

export function drawn({ kind, colour }) {
  const [body, line] = SHAPES[kind] ?? SHAPES.Bowls;
  const ink = COLOURS[colour] ?? "#888888";
  // What is drawn on the thing itself must stand out from it.
  const isOnIt = kind === "Tea" || kind === "Plates";
  const stroke = isOnIt ? { stroke: "#ffffff", "stroke-width": "4", "stroke-opacity": ".7" } : { stroke: ink, "stroke-width": "6" };
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 124 100");
  picture.setAttribute("aria-hidden", "true");
  picture.append(
    path({ d: body, fill: ink }),
    path({ d: line, fill: "none", "stroke-linecap": "round", ...stroke }),
  );
  return picture;
}
