/** Where we are: the fragment of the address. The server knows one page only. */
import { signal } from "@preact/signals";

export type Tab = "result" | "history" | "chart" | "graph" | "map" | "plan";

export type Route =
  | { view: "gallery" }
  | { view: "streams"; stream: string | null }
  | { view: "system" }
  | { view: "new"; text: string | null; name: string | null }
  | { view: "query"; name: string; tab: Tab | null };

const TABS: readonly string[] = ["result", "history", "chart", "graph", "map", "plan"];

function read(): Route {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [head = "", ...rest] = path.split("/").map(decodeURIComponent);
  const parameters = new URLSearchParams(search);
  switch (head) {
    case "streams":
      return { view: "streams", stream: rest[0] ?? null };
    case "system":
      return { view: "system" };
    case "new":
      return { view: "new", text: textOf(parameters.get("text")), name: parameters.get("name") };
    case "query":
      return { view: "query", name: rest[0] ?? "", tab: TABS.includes(rest[1] ?? "") ? (rest[1] as Tab) : null };
    default:
      return { view: "gallery" };
  }
}

export const route = signal<Route>(read());
window.addEventListener("hashchange", () => {
  route.value = read();
});

export const links = {
  gallery: "#/gallery",
  system: "#/system",
  streams: (iri?: string) => `#/streams${iri === undefined ? "" : `/${encodeURIComponent(iri)}`}`,
  query: (name: string, tab?: Tab) => `#/query/${encodeURIComponent(name)}${tab === undefined ? "" : `/${tab}`}`,
  fresh: (text?: string, name?: string) => {
    const parameters = new URLSearchParams();
    if (name !== undefined) parameters.set("name", name);
    if (text !== undefined) parameters.set("text", encoded(text));
    return `#/new${text === undefined && name === undefined ? "" : `?${parameters.toString()}`}`;
  },
};

export function go(link: string): void {
  location.hash = link;
}

/** Text that survives in an address: base64 of its UTF-8, in the alphabet of addresses. */
function encoded(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function textOf(said: string | null): string | null {
  if (said === null) return null;
  try {
    const bytes = atob(said.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0)));
  } catch {
    return null;
  }
}
