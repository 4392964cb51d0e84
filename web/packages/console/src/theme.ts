/** Light or dark: as the machine has it, unless somebody chose. */

export type Theme = "auto" | "light" | "dark";

const KEY = "pollux-theme";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];

export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY) as Theme | null;
    return kept && THEMES.includes(kept) ? kept : "auto";
  } catch {
    // Nothing may be kept in this browser.
    return "auto";
  }
}

export function choose(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It counts until the page is left.
  }
  applyTheme(theme);
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  document.documentElement.dataset.theme = theme;
}
