/** What comes of a query: its state, and its results in the form that suits them. */
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/http";
import { streams } from "../api/catalogue";
import type { QueryDocument } from "../api/types";
import { Icon } from "../parts/icons";
import { clock, count, duration, rate } from "../parts/format";
import { attempt } from "../parts/toast";
import { Plan } from "../plan/view";
import { prefixesOf } from "../rdf/terms";
import { History } from "../results/history";
import { Chart } from "../results/chart";
import { useResults, type Followed } from "../results/follow";
import { Graph } from "../results/graph";
import { Places } from "../results/map";
import { coordinatesOf } from "../results/model";
import { ResultTable } from "../results/table";
import { Why } from "../results/why";
import { go, links, type Tab } from "../route";

const TITLES: Record<Tab, string> = { result: "Result", history: "History", chart: "Chart", graph: "Graph", map: "Map", plan: "Plan" };
const HINTS: Partial<Record<Tab, string>> = { result: "The current result", history: "Each row as it arrived, the newest first" };

export function Outcome({ query, tab }: { query: QueryDocument; tab: Tab | null }) {
  const followed = useResults(query);
  const offered = tabsOf(query, followed);
  const chosen = tab !== null && offered.includes(tab) ? tab : firstTab(query);
  return (
    <>
      <State query={query} followed={followed} />
      <div class="tabs">
        <div class="tab-list" role="tablist" aria-label="Views of the results">
        {offered.map((one) => (
          <button
            type="button" role="tab" title={HINTS[one]} key={one} id={`tab-${one}`} aria-selected={one === chosen} aria-controls="tab-panel"
            tabIndex={one === chosen ? 0 : -1} onClick={() => go(links.query(query.id, one))} onKeyDown={(event) => turn(event, offered, one, query.id)}
          >
            {TITLES[one]}
          </button>
        ))}
        </div>
        <span class="space" />
        {chosen !== "plan" && <Actions query={query} followed={followed} />}
      </div>
      <div class="panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} data-version={followed.version}>
        <Panel query={query} tab={chosen} followed={followed} />
      </div>
    </>
  );
}

function tabsOf(query: QueryDocument, { results }: Followed): Tab[] {
  const isGraph = query.form === "CONSTRUCT" || query.form === "DESCRIBE";
  const hasPlaces = coordinatesOf(results.variables).length > 0;
  const hasNumbers = results.values.length > 0 || results.series.size > 0;
  return ["result", "history", ...(hasNumbers ? ["chart"] : []), ...(isGraph ? ["graph"] : []), ...(hasPlaces ? ["map"] : []), "plan"] as Tab[];
}

/** Of a query that tells what is new, the news come first. */
const firstTab = (query: QueryDocument): Tab => (query.r2s === "ISTREAM" || query.r2s === "DSTREAM" ? "history" : "result");

function turn(event: KeyboardEvent, tabs: Tab[], at: Tab, name: string): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const next = tabs[(tabs.indexOf(at) + step + tabs.length) % tabs.length];
  if (step === 0 || next === undefined) return;
  go(links.query(name, next));
  requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
}

function Panel({ query, tab, followed }: { query: QueryDocument; tab: Tab; followed: Followed }) {
  const prefixes = prefixesOf(query.body);
  const { results } = followed;
  if (tab === "plan") return query.status === "running" ? <Plan query={query} prefixes={prefixes} /> : <Why query={query} prefixes={prefixes} />;
  // What the server has kept is on its way.
  if (query.status === "running" && results.total === 0 && !results.hasAnswer && query.lastSeq > 0 && isFresh(followed)) return <p class="empty">Loading…</p>;
  const isEmpty = tab === "history" ? results.arrivals.length === 0 : results.rows.length === 0 && results.going.length === 0;
  if (query.status !== "running" || (isEmpty && !(tab === "chart" && results.series.size > 0))) return <Why query={query} prefixes={prefixes} />;
  switch (tab) {
    case "history":
      return <History results={results} prefixes={prefixes} />;
    case "chart":
      return <Chart results={results} prefixes={prefixes} version={followed.version} />;
    case "graph":
      return <Graph results={results} prefixes={prefixes} />;
    case "map":
      return <Places results={results} prefixes={prefixes} />;
    default:
      return <ResultTable results={results} prefixes={prefixes} />;
  }
}

const READING_MS = 2_000;
const isFresh = (followed: Followed): boolean => Date.now() - followed.since < READING_MS;

function State({ query, followed }: { query: QueryDocument; followed: Followed }) {
  const { results, notice } = followed;
  const watermark = newest(followed.watermark, query.watermark);
  const fed = streams.value.filter((one) => query.streams.includes(one.streamIRI));
  const perSecond = fed.reduce((sum, one) => sum + one.rate, 0);
  return (
    <div class="state">
      <span class={`badge status ${query.status}`}>{query.status}</span>
      <Number name="input" value={rate(perSecond)} title="events per second on its streams" />
      <Number name="results" value={count(query.stats.results)} title="results since the query was started" />
      {watermark !== null && <Number name="watermark" value={clock(1000 * Math.floor(watermark / 1000))} title={`no more events before this instant are expected; ${behind(watermark)}`} />}
      <Closing query={query} lastAt={results.lastAt} watermark={watermark} />
      {results.lost > 0 && <span class="badge warn" title="this page could not keep up, so the server dropped results for it">{count(results.lost)} results missing</span>}
      {notice !== null && <span class="quiet">{notice}</span>}
    </div>
  );
}

const newest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b));

function behind(watermark: number): string {
  const lag = Date.now() - watermark;
  return lag >= 0 && lag < 86_400_000 ? `${duration(lag)} behind the clock` : "far from the current time";
}

function Number({ name, value, title }: { name: string; value: string; title: string }) {
  return <span class="number-fact" title={title}><span class="quiet">{name}</span> {value}</span>;
}

/** How far the next window is from its end. */
function Closing({ query, lastAt, watermark }: { query: QueryDocument; lastAt: number | null; watermark: number | null }) {
  const steps = query.windows.map((window) => window.stepMs ?? 0).filter((step) => step > 0);
  const step = Math.min(...steps);
  if (steps.length === 0 || watermark === null || query.status !== "running") return null;
  const from = lastAt === null || watermark - lastAt > step ? Math.floor(watermark / step) * step : lastAt;
  const share = Math.min(1, Math.max(0, (watermark - from) / step));
  return (
    <span class="closing" title={`the next window ends at ${clock(from + step)}`}>
      <span class="quiet">next window</span>
      <span class="bar-track"><span class="bar" style={{ width: `${100 * share}%` }} /></span>
    </span>
  );
}

const TABLE_EXPORTS = [["CSV", "text/csv", "csv"], ["JSON", "application/sparql-results+json", "json"]] as const;
const GRAPH_EXPORTS = [["N-Triples", "application/n-triples", "nt"], ["Turtle", "text/turtle", "ttl"], ["JSON-LD", "application/ld+json", "jsonld"], ["N-Quads", "application/n-quads", "nq"]] as const;

function Actions({ query, followed }: { query: QueryDocument; followed: Followed }) {
  const [isOpen, open] = useState(false);
  const isGraph = query.form === "CONSTRUCT" || query.form === "DESCRIBE";
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (): void => open(false);
    window.addEventListener("click", close);
    return () => window.removeEventListener("click", close);
  }, [isOpen]);
  if (query.status !== "running") return null;
  return (
    <span class="actions">
      <button type="button" class="chip" aria-pressed={followed.isPaused} title="Freeze what is shown; the query keeps running" onClick={() => followed.setPaused(!followed.isPaused)}>
        {followed.isPaused ? "Resume" : "Freeze"}
      </button>
      <button type="button" class="chip" aria-label="Export" aria-expanded={isOpen} aria-haspopup="menu" onClick={(event) => (event.stopPropagation(), open(!isOpen))}>
        <Icon name="export" size={14} /><span class="wide-only">Export</span>
      </button>
      {isOpen && (
        <span class="menu" role="menu">
          {(isGraph ? GRAPH_EXPORTS : TABLE_EXPORTS).map(([title, type, ending]) => (
            <button type="button" role="menuitem" key={title} onClick={() => void save(query.id, type, ending)}>{title}</button>
          ))}
        </span>
      )}
    </span>
  );
}

async function save(name: string, type: string, ending: string): Promise<void> {
  await attempt(async () => {
    const blob = new Blob([await api.answer(name, type)], { type });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }, `The current result was saved as ${name}.${ending}.`);
}
