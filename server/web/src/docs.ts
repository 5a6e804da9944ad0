/** The API to browse, from the description of the server itself. Requests are sent with the token of the console. */
import "./docs.css";

declare const SWAGGER: string;
declare global {
  interface Window {
    SwaggerUIBundle(options: Record<string, unknown>): unknown;
  }
}

// Beside the pages of this server: `docs` is its last part.
const base = location.origin + location.pathname.replace(/\/docs\/?$/, "");
const token = sessionStorage.getItem("token");
const headers: HeadersInit = token === null ? {} : { Authorization: `Bearer ${token}` };

async function start(): Promise<void> {
  const answer = await fetch(`${base}/openapi.json`, { headers, cache: "no-store" });
  if (!answer.ok) return askForToken();
  const description = (await answer.json()) as Record<string, unknown>;
  await load();
  document.getElementById("state")?.remove();
  show(description);
}

function askForToken(): void {
  const link = document.createElement("a");
  link.href = `${base}/`;
  link.textContent = "the console";
  document.getElementById("state")?.replaceChildren("A token is needed: sign in at ", link, " first, then come back in the same tab.");
}

function load(): Promise<void> {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = `${base}/assets/${SWAGGER}.css`;
  const script = document.createElement("script");
  script.src = `${base}/assets/${SWAGGER}.js`;
  return new Promise((done, failed) => {
    script.onload = () => done();
    script.onerror = failed;
    document.head.append(style, script);
  });
}

function show(description: Record<string, unknown>): void {
  window.SwaggerUIBundle({
    spec: { ...description, servers: [{ url: base }] },
    dom_id: "#docs",
    docExpansion: "list",
    validatorUrl: null,
    requestInterceptor: (request: { headers: Record<string, string> }) => {
      if (token !== null) request.headers["Authorization"] ??= `Bearer ${token}`;
      return request;
    },
  });
}

void start();
