/** Light or dark: as the system says, until somebody chooses. */
import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const system = window.matchMedia("(prefers-color-scheme: dark)");
const kept = localStorage.getItem("theme");
const chosen = signal<Theme | null>(kept === "light" || kept === "dark" ? kept : null);
export const theme = signal<Theme>(chosen.value ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => {
  if (chosen.value === null) theme.value = system.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  chosen.value = theme.value;
  localStorage.setItem("theme", theme.value);
}

/** A colour of the style sheet, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const SERIES = 8;
export const seriesColour = (index: number): string => colour(`--series-${(index % SERIES) + 1}`);
