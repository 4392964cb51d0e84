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
  readonly waiting: number;
}

export function Nav({ pages, place, user, waiting }: Props): VNode {
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
          {waiting > 0 && <span class="count">{waiting}</span>}
        </button>
      </div>
      <nav id="pages" aria-label="Pages">
        <ul>
          {pages.map(({ name, title, icon, begins }) => (
            <li key={name} class={begins ? "begins" : undefined}>
              <a href={linkTo(name)} aria-current={place.page === name ? "page" : undefined}>
                <Icon name={icon} />
                {title}
                {name === "approvals" && waiting > 0 && (
                  <span class="count">
                    {waiting}
                    <span class="unseen"> waiting</span>
                  </span>
                )}
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
