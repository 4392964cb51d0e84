import type { Activity } from "@pollux/client";

/** Every word that the chat says by itself. `{}` is where a name, a time or a count goes. */

const english = {
  title: "Assistant",
  greeting: "Ask about this page, or say what to do on it.",
  open: "Open the assistant",
  openWaiting: "Open the assistant: it waits for your answer",
  close: "Close",
  expand: "Show the whole conversation",
  collapse: "Show the last answer only",
  clear: "New conversation",
  conversation: "Conversation",
  latest: "Go to the latest message",
  you: "You",
  assistant: "Assistant",
  note: "Note",
  input: "Your message",
  placeholder: "Write a message",
  send: "Send",
  stop: "Stop",
  retry: "Try again",
  thinking: "Thinking…",
  waiting: "Waiting for your answer",
  done: "done",
  failed: "failed",
  earlier: "{} earlier steps",
  steps: "Steps",
  did_click: "Pressed {}",
  did_fill: "Filled in {}",
  did_select: "Chose in {}",
  did_press: "Pressed a key in {}",
  did_scroll: "Scrolled to {}",
  did_read: "Read {}",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Press Ctrl+C to copy",
  code: "Code",
  table: "Table",
  image: "image",
  question: "May this be done?",
  do_click: "Press {}",
  do_fill: "Fill in {}",
  do_select: "Choose in {}",
  do_press: "Press a key in {}",
  do_toggle: "Switch {}",
  about: "for {}",
  details: "What would be done",
  reason: "Why you are asked",
  name: "Name",
  value: "Value",
  exact: "Exactly as it would run",
  noArguments: "It takes no arguments.",
  deny: "Deny",
  approve: "Approve",
  expires: "Expires in {}",
  expired: "Time is up: it is not done.",
  sending: "Your answer is on its way…",
  covered: "Something of the page lies over this question, so it cannot be approved.",
  raise: "Show it in front",
  tooSoon: "That was too soon to be sure. Press again.",
  unreadable: "What exactly would be done is not told, so it can only be denied.",
};

type Words = { readonly [name in keyof typeof english]: string };

export interface Strings extends Words {
  /** Other words for errors and notes, by their codes; those that are not here speak for themselves. */
  readonly codes: { readonly [code: string]: string };
}

const german: Words = {
  title: "Assistent",
  greeting: "Frag etwas zu dieser Seite, oder sag, was hier zu tun ist.",
  open: "Assistenten öffnen",
  openWaiting: "Assistenten öffnen: er wartet auf deine Antwort",
  close: "Schließen",
  expand: "Ganzes Gespräch zeigen",
  collapse: "Nur die letzte Antwort zeigen",
  clear: "Neues Gespräch",
  conversation: "Gespräch",
  latest: "Zur neuesten Nachricht",
  you: "Du",
  assistant: "Assistent",
  note: "Hinweis",
  input: "Deine Nachricht",
  placeholder: "Nachricht schreiben",
  send: "Senden",
  stop: "Anhalten",
  retry: "Noch einmal versuchen",
  thinking: "Denkt nach…",
  waiting: "Wartet auf deine Antwort",
  done: "erledigt",
  failed: "fehlgeschlagen",
  earlier: "{} frühere Schritte",
  steps: "Schritte",
  did_click: "{} gedrückt",
  did_fill: "{} ausgefüllt",
  did_select: "In {} gewählt",
  did_press: "Taste in {} gedrückt",
  did_scroll: "Zu {} gescrollt",
  did_read: "{} gelesen",
  copy: "Kopieren",
  copied: "Kopiert",
  copyFailed: "Mit Strg+C kopieren",
  code: "Code",
  table: "Tabelle",
  image: "Bild",
  question: "Darf das geschehen?",
  do_click: "{} drücken",
  do_fill: "{} ausfüllen",
  do_select: "In {} wählen",
  do_press: "Eine Taste in {} drücken",
  do_toggle: "{} umschalten",
  about: "für {}",
  details: "Was geschehen würde",
  reason: "Warum du gefragt wirst",
  name: "Name",
  value: "Wert",
  exact: "Genau so würde es ausgeführt",
  noArguments: "Ohne weitere Angaben.",
  deny: "Ablehnen",
  approve: "Erlauben",
  expires: "Läuft ab in {}",
  expired: "Die Zeit ist um: Es geschieht nicht.",
  sending: "Deine Antwort ist unterwegs…",
  covered: "Etwas von der Seite liegt über dieser Frage, deshalb lässt sie sich nicht erlauben.",
  raise: "Nach vorn holen",
  tooSoon: "Das war zu früh, um sicher zu sein. Drück noch einmal.",
  unreadable: "Was genau geschehen würde, ist nicht bekannt. Es lässt sich nur ablehnen.",
};

const germanCodes = {
  offline: "Du bist offline. Versuch es noch einmal, wenn es wieder eine Verbindung gibt.",
  unreachable: "Der Assistent ist nicht zu erreichen. Versuch es etwas später noch einmal.",
  auth_error: "Deine Anmeldung gilt nicht mehr. Lade die Seite neu, oder melde dich noch einmal an.",
  rate_limited: "Zu viele Anfragen. Versuch es etwas später noch einmal.",
  budget: "Was an einem Tag verbraucht werden darf, ist verbraucht. Versuch es später noch einmal.",
  internal: "Etwas ist schiefgegangen. Versuch es noch einmal.",
  expired: "Es kam keine Antwort in der Zeit, also ist es nicht geschehen.",
  changed: "Diese Frage gilt nicht mehr.",
  incomplete: "Die Antwort hat ihre größte Länge erreicht und ist unvollständig.",
  cut: "Die Antwort war länger als erlaubt. Sie wurde gekürzt und ist unvollständig.",
  elsewhere: "Dieses Gespräch geht in einem anderen Tab weiter. Hier beginnt ein neues.",
  restarted:
    "Das Gespräch ließ sich nicht fortsetzen, also beginnt hier ein neues. Was vorher war, ist nicht mehr bekannt.",
};

/** The table for a language such as `de-AT`; English where there is none. */
export function stringsFor(language: string): Strings {
  return /^de\b/i.test(language) ? { ...german, codes: germanCodes } : { ...english, codes: {} };
}

/** What to say for a code. */
export function worded({ codes }: Strings, code: string | undefined, said: string): string {
  return (code !== undefined && Object.hasOwn(codes, code) && codes[code]) || said;
}

/** What a step was, in words: of what is known by name, or as it was told. */
export function stepIn(strings: Strings, { tool, subject, text }: Activity): string {
  const known = subject ? strings[`did_${tool}` as keyof Words] : undefined;
  return known && subject ? filled(known, `“${subject}”`) : text || tool;
}

/** What a tool of the page's would do to a control, in words: `click`, `click-buy` and `trigger-interaction` press it. */
export function doneTo(control: string, tool: string, strings: Strings): string {
  const verb = tool === "trigger-interaction" ? "click" : (tool.split("-")[0] ?? "");
  const known = strings[`do_${verb}` as keyof Words];
  return known ? filled(known, `“${control}”`) : `${tool}: “${control}”`;
}

/** A text with its gap filled in. */
export function filled(text: string, what: string | number): string {
  return text.split("{}").join(String(what));
}
