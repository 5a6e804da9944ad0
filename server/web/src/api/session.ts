/**
 * Who the person at the page is. The token comes in the fragment, which browsers never send to a server, and is kept for
 * this tab only; the fragment is emptied at once, so that a copied address does not carry it.
 */
import { signal } from "@preact/signals";

const KEY = "token";

function fromAddress(): string | null {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const said = parameters.get("token");
  if (said === null || location.hash.startsWith("#/")) return null;
  sessionStorage.setItem(KEY, said);
  history.replaceState(null, "", location.pathname + location.search);
  return said;
}

export const token = signal<string | null>(fromAddress() ?? sessionStorage.getItem(KEY));
/** Whether the server has refused the token, or asked for one. */
export const isRefused = signal(false);
/** Whether the server answers. */
export const connection = signal<"starting" | "online" | "offline">("starting");

export function signIn(text: string): void {
  sessionStorage.setItem(KEY, text);
  token.value = text;
  isRefused.value = false;
}

export function signOut(): void {
  sessionStorage.removeItem(KEY);
  token.value = null;
  isRefused.value = true;
}
