/** The frame of the page: where one can go, what runs, and whether the server is there. */
import { useEffect, useState } from "preact/hooks";
import { isLoaded, queries, queryNamed, refresh, streams } from "./api/catalogue";
import { connection, isRefused, signIn } from "./api/session";
import type { QueryDocument } from "./api/types";
import { Dialog } from "./parts/dialog";
import { count, rate } from "./parts/format";
import { Icon, Logo, type IconName } from "./parts/icons";
import { Toasts } from "./parts/toast";
import { go, links, route } from "./route";
import { theme, toggleTheme } from "./theme";
import { Gallery } from "./views/gallery";
import { watchNumbers } from "./views/numbers";
import { NewQueryView, QueryView } from "./views/query";
import { Streams } from "./views/streams";
import { System } from "./views/system";

export function App() {
  const [isHelping, help] = useState(false);
  useEffect(() => void refresh(), []);
  useEffect(watchNumbers, []);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => shortcut(event, () => help(true));
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    document.title = `${titleOf()} · Whorl`;
  }, [route.value]);
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>To the content</a>
      <Sidebar help={() => help(true)} />
      <main id="main" tabIndex={-1}>
        {connection.value === "offline" && <p class="banner" role="status">The server is not responding. This page reconnects by itself.</p>}
        {isRefused.value ? <SignIn /> : <View />}
      </main>
      <Toasts />
      {isHelping && <Help close={() => help(false)} />}
    </div>
  );
}

function titleOf(): string {
  const at = route.value;
  return at.view === "query" ? at.name : { gallery: "Gallery", streams: "Streams", system: "System", new: "New query" }[at.view];
}

function View() {
  const at = route.value;
  switch (at.view) {
    case "streams":
      return <Streams chosen={at.stream} />;
    case "system":
      return <System />;
    case "new":
      return <NewQueryView text={at.text} name={at.name} />;
    case "query":
      return <Named name={at.name} />;
    default:
      return <Gallery />;
  }
}

function Named({ name }: { name: string }) {
  const query = queryNamed(name);
  if (query !== undefined) return <QueryView query={query} />;
  return <p class="empty">{isLoaded.value ? `There is no query named ${name}.` : "Loading…"}</p>;
}

function Sidebar({ help }: { help(): void }) {
  const at = route.value;
  const [isListing, list] = useState(false);
  return (
    <nav class="sidebar" aria-label="Main">
      <a class="brand" href={links.gallery}><Logo /><span>Whorl</span></a>
      <Place to={links.gallery} icon="gallery" title="Gallery" isHere={at.view === "gallery"} />
      <Place to={links.streams()} icon="streams" title="Streams" note={String(streams.value.length)} isHere={at.view === "streams"} />
      <Place to={links.system} icon="system" title="System" isHere={at.view === "system"} />
      <Place to={links.fresh()} icon="plus" title="New query" isHere={at.view === "new"} />
      <button type="button" class="place for-phones" aria-haspopup="dialog" onClick={() => list(true)}><Icon name="format" /><span>Queries</span></button>
      {isListing && <Dialog title="Queries" close={() => list(false)}><QueryList done={() => list(false)} /></Dialog>}
      <h2 class="nav-title">Queries</h2>
      <QueryList />
      <footer class="side-foot">
        <span class={`live ${connection.value}`} title={connection.value === "online" ? "connected" : "not connected"}>
          <span class="pulse" />{connection.value === "online" ? rate(streams.value.reduce((sum, one) => sum + one.rate, 0)) : "no connection"}
        </span>
        <button type="button" class="icon-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={help}><Icon name="book" /></button>
        <button type="button" class="icon-button" aria-label={theme.value === "dark" ? "Light colours" : "Dark colours"} onClick={toggleTheme}>
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
      </footer>
    </nav>
  );
}

function QueryList({ done }: { done?: () => void }) {
  const at = route.value;
  return (
    <ul class="query-list" onClick={done}>
      {queries.value.filter((one) => !one.id.startsWith("ws-")).map((one) => (
        <li key={one.id}><QueryLink query={one} isHere={at.view === "query" && at.name === one.id} /></li>
      ))}
    </ul>
  );
}

interface PlaceProperties {
  to: string;
  icon: IconName;
  title: string;
  note?: string;
  isHere: boolean;
}

function Place({ to, icon, title, note, isHere }: PlaceProperties) {
  return (
    <a class="place" href={to} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} /><span>{title}</span>{note !== undefined && <span class="note">{note}</span>}
    </a>
  );
}

function QueryLink({ query, isHere }: { query: QueryDocument; isHere: boolean }) {
  return (
    <a class="query-link" href={links.query(query.id)} aria-current={isHere ? "page" : undefined} title={`${query.id} · ${query.status} · ${query.stats.results} results`}>
      <span class={`lamp ${query.status}`} /><span class="query-title">{query.id}</span><span class="note">{count(query.stats.results)}</span>
    </a>
  );
}

function SignIn() {
  const [text, setText] = useState("");
  const enter = (event: Event): void => {
    event.preventDefault();
    signIn(text.trim());
    void refresh();
  };
  return (
    <form class="sign-in" onSubmit={enter}>
      <h1>Sign in</h1>
      <p>Open the link that the server printed when it started, or paste its token here: <code>whorl token</code> prints it. The token stays in this tab.</p>
      <label><span class="hidden">Token</span><input type="password" value={text} autocomplete="off" placeholder="token" onInput={(event) => setText(event.currentTarget.value)} /></label>
      <button type="submit" class="button primary" disabled={text.trim() === ""}>Sign in</button>
    </form>
  );
}

const SHORTCUTS: readonly (readonly [string, string])[] = [
  ["Ctrl+Enter", "run or replace the query"], ["Shift+Alt+F", "format the query"], ["Ctrl+Space", "complete a word"],
  ["F8", "next error in the text"], ["Ctrl+F", "find in the text"], ["Alt+1 … Alt+4", "Gallery, Streams, System, New query"],
  ["← →", "switch between the views of a result"], ["Esc", "leave the editor, close a dialog"], ["?", "this list"],
];

function Help({ close }: { close(): void }) {
  return (
    <Dialog title="Keyboard" close={close}>
      <dl class="shortcuts">{SHORTCUTS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
    </Dialog>
  );
}

function shortcut(event: KeyboardEvent, help: () => void): void {
  const [inner] = event.composedPath();
  const isTyping = inner instanceof HTMLElement && (inner.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(inner.tagName));
  const places = [links.gallery, links.streams(), links.system, links.fresh()];
  const place = event.altKey ? places[Number(event.key) - 1] : undefined;
  if (place !== undefined) {
    event.preventDefault();
    go(place);
  } else if (event.key === "?" && !isTyping) help();
}
