/** Queries to begin with: those of the demo, and the scenarios of the literature in the dialect of their source. */
import { isLoaded, queries, queryNamed, streams } from "../api/catalogue";
import type { QueryDocument } from "../api/types";
import { clock, count, rate } from "../parts/format";
import { Icon, type IconName } from "../parts/icons";
import { attempt } from "../parts/toast";
import { go, links } from "../route";
import { playing, runSample, stopPlaying } from "../scenarios/play";
import { DemoRate } from "./demo";
import order from "../../../whorl/demo/gallery.txt?raw";

interface Version {
  name: string;
  text: string;
  dialect: string;
}

interface Entry {
  name: string;
  /** The first comment: what it shows. */
  title: string;
  /** The text in each dialect there is. */
  versions: Version[];
}

const DEMO = import.meta.glob<string>("../../../whorl/demo/gallery/*", { query: "?raw", import: "default", eager: true });
const EXAMPLES = import.meta.glob<string>(
  ["../../../../examples/{debs2015,conference,srbench,lsbench,citybench}/*.{rspql,cqels,csparql}"],
  { query: "?raw", import: "default", eager: true },
);

/** In the order of the demo's own list. */
const demoEntries = (): Entry[] => {
  const places = new Map(order.trim().split(/\s+/).map((file, at) => [file.split(".")[0] ?? "", at]));
  return entries(DEMO, "gallery", "").sort((a, b) => (places.get(a.name) ?? 0) - (places.get(b.name) ?? 0));
};

const DIALECTS: Record<string, string> = { rspql: "RSP-QL", cqels: "CQELS-QL", csparql: "C-SPARQL" };

const SCENARIOS: readonly { directory: string; title: string; note: string }[] = [
  { directory: "debs2015", title: "Taxis", note: "The Grand Challenge of DEBS 2015, on trips in New York." },
  { directory: "conference", title: "Conference", note: "Where people meet, from their badges: the scenario of the first CQELS engine." },
  { directory: "srbench", title: "Weather sensors", note: "SRBench: observations of weather stations." },
  { directory: "lsbench", title: "Social network", note: "LSBench: posts, likes, photos and positions of friends." },
  { directory: "citybench", title: "City", note: "CityBench: traffic, pollution and parking in Aarhus." },
];

/** The queries of a directory; texts of one query in several dialects are one entry. */
function entries(texts: Record<string, string>, directory: string, prefix: string): Entry[] {
  const found = new Map<string, Entry>();
  for (const [path, text] of Object.entries(texts).filter(([path]) => path.includes(`/${directory}/`))) {
    const [file = "", ending = ""] = (path.split("/").at(-1) ?? "").split(".");
    const entry = found.get(file) ?? { name: prefix + file, title: titleOf(text), versions: [] };
    // A second dialect has a name of its own.
    entry.versions.push({ name: prefix + file + (entry.versions.length === 0 ? "" : `-${ending}`), text, dialect: DIALECTS[ending] ?? ending });
    found.set(file, entry);
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

const titleOf = (text: string): string => /^(?:#[^\n]*\n)+/.exec(text)?.[0].replace(/^# ?/gm, "").replace(/\n/g, " ").trim() ?? "";

export function Gallery() {
  const demo = demoEntries();
  const events = streams.value.reduce((sum, one) => sum + one.rate, 0);
  const others = queries.value.filter((one) => !one.id.startsWith("ws-") && !demo.some((entry) => entry.name === one.id));
  const isDemo = demo.some((entry) => queryNamed(entry.name) !== undefined);
  const running = queries.value.filter((one) => one.status === "running").length;
  return (
    <div class="page">
      <header class="hero">
        <h1>Queries that never stop answering</h1>
        <p>
          Each query updates its result as events arrive. Open one, watch it, change it.
          {events > 0 && <> Right now events arrive at <strong>{rate(events)}</strong> and <strong>{count(running)}</strong> {running === 1 ? "query is" : "queries are"} running.</>}
        </p>
        <a class="button primary" href={links.fresh()}>Write a query</a>
      </header>
      {others.length > 0 && (
        <section aria-labelledby="yours">
          <h2 id="yours">Yours</h2>
          <div class="cards small">
            {others.map((one) => (
              <a class="card" key={one.id} href={links.query(one.id)}>
                <span class="card-top"><span class="badge">{one.dialect}</span><span class={`badge status ${one.status}`}>{one.status}</span></span>
                <strong>{one.id}</strong>
                <span>{count(one.stats.results)} results</span>
              </a>
            ))}
          </div>
        </section>
      )}
      <section aria-labelledby="demo">
        <div class="page-head"><h2 id="demo">{isDemo ? "Running on the demo" : "Queries of the demo"}</h2><DemoRate /></div>
        {isLoaded.value && !isDemo && (
          <p class="quiet note-line">The demo is not running here. Start it with <code>whorl demo</code>, or play sample data with ▶ on a card below.</p>
        )}
        <div class="cards">{demo.map((entry) => <DemoCard key={entry.name} entry={entry} running={queryNamed(entry.name)} />)}</div>
      </section>
      {SCENARIOS.map(({ directory, title, note }) => (
        <section key={directory} aria-labelledby={directory}>
          <div class="page-head"><h2 id={directory}>{title}</h2>{playing.value?.scenario === directory && <Playing share={playing.value.share} />}</div>
          <p class="quiet">{note}</p>
          <div class="cards">
            {entries(EXAMPLES, directory, `${directory}-`).map((entry) => <ScenarioCard key={entry.name} scenario={directory} entry={entry} />)}
          </div>
        </section>
      ))}
    </div>
  );
}

function DemoCard({ entry, running }: { entry: Entry; running: QueryDocument | undefined }) {
  const [{ text, dialect } = { text: "", dialect: "" }] = entry.versions;
  const isHere = running !== undefined && running.body.trim() === text.trim();
  return (
    <a class="card" href={isHere ? links.query(entry.name) : links.fresh(text, entry.name)}>
      <span class="card-top">
        <Kind text={text} />
        <span class="badge">{dialect}</span>
        {isHere && <span class={`badge status ${running.status}`}>{running.status}</span>}
      </span>
      <Words title={entry.title} />
      {isHere && <span class="card-foot">{count(running.stats.results)} results{running.stats.lastResultAt !== null && <> · last at {clock(running.stats.lastResultAt)}</>}</span>}
    </a>
  );
}

function ScenarioCard({ scenario, entry }: { scenario: string; entry: Entry }) {
  const [first] = entry.versions;
  if (first === undefined) return null;
  return (
    <article class="card">
      <span class="card-top"><Kind text={first.text} />{entry.versions.map(({ name }) => queryNamed(name) !== undefined && <a key={name} class="badge good" href={links.query(name)}>running</a>)}</span>
      <Words title={entry.title} />
      <span class="card-foot">
        {entry.versions.map((version) => (
          <button
            type="button" class="chip" key={version.dialect} title="Declare the streams, load static data, start the query and play sample data"
            onClick={() => void start(scenario, version)}
          >
            ▶ {version.dialect}
          </button>
        ))}
        <a href={links.fresh(first.text, first.name)}>Open in editor</a>
      </span>
    </article>
  );
}

async function start(scenario: string, { name, text }: Version): Promise<void> {
  const done = await attempt(async () => (await runSample(scenario, name, text), true), `${name} is running on generated sample data for about a minute.`);
  if (done !== null) go(links.query(name));
}

function Playing({ share }: { share: number }) {
  return (
    <span class="playing">
      <span class="quiet">playing sample data</span>
      <span class="bar-track"><span class="bar" style={{ width: `${100 * share}%` }} /></span>
      <button type="button" class="chip" onClick={stopPlaying}>Stop</button>
    </span>
  );
}

function Words({ title }: { title: string }) {
  const [lead, ...rest] = title.split(/(?<=[:.])\s/);
  return <><strong>{lead?.replace(/[:.]$/, "")}</strong><span class="card-text">{capital(rest.join(" "))}</span></>;
}

/** What comes of a query, at a glance. */
const KINDS: readonly (readonly [RegExp, IconName, string])[] = [
  [/\bCONSTRUCT\b/i, "graph", "a graph"],
  [/\b(?:lat|lon|latitude|longitude)\b.*\bWHERE\b|Lat\b/is, "map", "places"],
  [/\bORDER\s+BY\b[\s\S]*\bLIMIT\b/i, "top", "the first few"],
  [/\b(?:AVG|COUNT|SUM|MIN|MAX|MEDIAN)\s*\(/i, "chart", "numbers over time"],
  [/\bNOT\s+EXISTS\b|\bHAVING\b|\bISTREAM\b[\s\S]*\bGROUP\s+BY\b/i, "alert", "alerts"],
  // Two windows.
  [/(?:\[\s*(?:RANGE|ELEMENTS|TRIPLES|NOW|ALL|FROM)\b[\s\S]*){2}/i, "join", "joined rows"],
];

function Kind({ text }: { text: string }) {
  const found = KINDS.find(([pattern]) => pattern.test(text.replace(/^#.*$/gm, "")));
  const [, icon, words] = found ?? [null, "filter" as const, "rows as they come"];
  return <span class={`kind kind-${icon}`} title={words}><Icon name={icon} size={17} /></span>;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
