/** The way to every page. On a narrow screen it waits behind a button. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { door } from "./door";
import type { Page } from "./pages";
import { Icon } from "./parts/icon";
import { linkTo, type Place } from "./place";
import { choose, chosenTheme, type Theme } from "./theme";

interface Props {
  readonly pages: readonly Page[];
  readonly place: Place;
  readonly user: string;
  /** What wants somebody, by page. */
  readonly counts: Readonly<Record<string, Tally>>;
}

export interface Tally {
  readonly count: number;
  readonly hasMore: boolean;
}

/** What the numbers count, for those who hear them. */
const COUNTED: Readonly<Record<string, string>> = { approvals: "waiting", unknown: "to be settled" };

export function Nav({ pages, place, user, counts }: Props): VNode {
  const all = told(
    Object.values(counts).reduce((sum, { count, hasMore }) => ({
      count: sum.count + count,
      hasMore: sum.hasMore || hasMore,
    })),
  );
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => setIsOpen(false), [place.page, place.id]);
  return (
    <header class={isOpen ? "side open" : "side"}>
      <div class="brand">
        <a href={linkTo("threads")}>Pollux</a>
        <button
          type="button"
          class="plain menu"
          aria-expanded={isOpen}
          aria-controls="pages"
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name="menu" />
          <span class="unseen">Pages</span>
          {all && <span class="count">{all}</span>}
        </button>
      </div>
      <nav id="pages" aria-label="Pages">
        <ul>
          {pages.map(({ name, title, icon, begins }) => (
            <li key={name} class={begins ? "begins" : undefined}>
              <a href={linkTo(name)} aria-current={place.page === name ? "page" : undefined}>
                <Icon name={icon} />
                {title}
                <Count of={counts[name]} words={COUNTED[name] ?? ""} />
              </a>
            </li>
          ))}
        </ul>
        <div class="who">
          <p>
            Signed in as <b>{user}</b>
          </p>
          <ThemeChoice />
          <button type="button" onClick={() => void door.signOut()}>
            Sign out
          </button>
        </div>
      </nav>
    </header>
  );
}

/** A number for people; empty where there is nothing to count. */
export function told({ count, hasMore }: Tally): string {
  return count > 0 ? `${count}${hasMore ? "+" : ""}` : "";
}

function Count({ of, words }: { of: Tally | undefined; words: string }): VNode | null {
  if (!of || of.count === 0) return null;
  return (
    <span class="count">
      {told(of)}
      <span class="unseen"> {words}</span>
    </span>
  );
}

function ThemeChoice(): VNode {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <label class="theme">
      Colours
      <select
        value={theme}
        onChange={({ currentTarget }) => {
          const next = currentTarget.value as Theme;
          setTheme(next);
          choose(next);
        }}
      >
        <option value="auto">As the machine</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
