/** Where a link in a message may lead. What is not on the list is not a link. */

/** What browsers pass over before an address, and inside of one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly the ones that hide a scheme.
const PASSED_OVER = /^[\u0000-\u0020]+|[\t\n\r]/g;

export interface Link {
  readonly href: string;
  /** Whether it leads to another site. */
  readonly isAway: boolean;
  /** The site that it leads to. */
  readonly host: string;
}

/** Where an address stands: what it is relative to, and the site that is our own. */
export interface Place {
  readonly baseURI: string;
  readonly origin: string;
}

/** The address to link to, or null: http, https and mailto by name, and paths of this very site. */
export function linkTo(address: string, { baseURI, origin }: Place): Link | null {
  let url: URL;
  try {
    url = new URL(address, baseURI);
  } catch {
    return null;
  }
  const written = address.replace(PASSED_OVER, "");
  if (url.username !== "" || url.password !== "") return null;
  if (url.protocol === "mailto:") return { href: url.href, isAway: false, host: "" };
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  const isAway = url.origin !== origin;
  // `//host` and `/\host` look like paths of this site and are none.
  if (isAway && !/^https?:\/\//i.test(written)) return null;
  return { href: url.href, isAway, host: url.host };
}

/** Whether a text reads like the address of another site than the one that it leads to. */
export function disguises(text: string, link: Link, place: Place): boolean {
  const written = text.trim().replace(/^www\./i, "https://www.");
  if (!/^https?:\/\//i.test(written)) return false;
  return linkTo(written, place)?.host !== link.host;
}
