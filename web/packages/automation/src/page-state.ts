/** What the page shows, as it is sent: compact, in bounds, without anything private. */

import { sizeOf } from "./budget";
import { pageTitleOf } from "./dom";
import type { Look } from "./look";
import { outlineOf } from "./outline";
import { namesSecret } from "./private";
import type { Refs } from "./refs";
import { cut, fold } from "./text";
import type { PageState } from "./types";

/** Bytes of the whole as JSON, of which models make some three thousand tokens. */
const MOST = 12_000;
/** Bytes of the names of what the visitor may be asked about. */
const MOST_NAMES = 3_000;
const MOST_UNREACHABLE = 10;
const SECRET =
  /token|secret|password|passwd|session|signature|^(code|key|sig|auth|jwt|otp|state|nonce|card|pan|pin)$|api-?key/i;

export function pageStateOf(look: Look, refs: Refs): PageState {
  return refs.during(look, () => told(look, refs));
}

function told(look: Look, refs: Refs): PageState {
  const { page } = look;
  const told = (text: string, most: number): string => cut(look.withoutSecrets(text), most);
  const head = {
    url: told(addressOf(page.location?.href ?? ""), 300),
    title: told(fold(pageTitleOf(page)), 150),
  };
  const marked = refs.privateRefs();
  const asking = look.controls().filter((each) => look.consequence(each) !== null).length + marked.length;
  const room = Math.min(32 * (marked.length + 10) + 110 * asking, 6_400);
  const most = MOST - 100 - sizeOf(JSON.stringify(head)) - room;
  const { lines, unreachable } = outlineOf(look, refs, { most: most - MOST_UNREACHABLE * 90 });
  const hidden = unreachable.slice(0, MOST_UNREACHABLE).map((each) => told(each, 80));
  if (unreachable.length > hidden.length) hidden.push(`and ${unreachable.length - hidden.length} more`);
  const asks = refs.asks(MOST_NAMES);
  return {
    ...head,
    outline: lines,
    private: refs.privateRefs().map((ref) => ({ ref, private: true as const })),
    ...(asks.length > 0 ? { asks } : {}),
    ...(hidden.length > 0 ? { unreachable: hidden } : {}),
  };
}

/** The address without what lets others in. */
function addressOf(href: string): string {
  try {
    const address = new URL(href);
    address.username = address.password = "";
    for (const name of [...address.searchParams.keys()])
      if (SECRET.test(name) || namesSecret(name)) address.searchParams.set(name, "private");
    if (/(token|secret|password|code)=/i.test(address.hash)) address.hash = "";
    return address.href;
  } catch {
    return "";
  }
}
