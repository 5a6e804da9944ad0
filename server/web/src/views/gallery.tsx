/** Queries to begin with: those of the demo, and the scenarios of the literature in the dialect of their source. */
import { queries, queryNamed, streams } from "../api/catalogue";
import type { QueryDocument } from "../api/types";
import { count, rate } from "../parts/format";
import { links } from "../route";
import { DemoRate } from "./demo";
import order from "../../../whorl/demo/gallery.txt?raw";

interface Entry {
  name: string;
  text: string;
  /** The first comment: what it shows. */
  title: string;
  dialect: string;
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

function entries(texts: Record<string, string>, directory: string, prefix: string): Entry[] {
  const mine = Object.entries(texts).filter(([path]) => path.includes(`/${directory}/`));
  const made = mine.map(([path, text]) => {
    const [file = "", ending = ""] = (path.split("/").at(-1) ?? "").split(".");
    return { name: prefix + file, text, title: titleOf(text), dialect: DIALECTS[ending] ?? ending };
  });
  return made.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

const titleOf = (text: string): string => /^(?:#[^\n]*\n)+/.exec(text)?.[0].replace(/^# ?/gm, "").replace(/\n/g, " ").trim() ?? "";

export function Gallery() {
  const demo = demoEntries();
  const events = streams.value.reduce((sum, one) => sum + one.rate, 0);
  const others = queries.value.filter((one) => !one.id.startsWith("ws-") && !demo.some((entry) => entry.name === one.id));
  const running = queries.value.filter((one) => one.status === "running").length;
  return (
    <div class="page">
      <header class="hero">
        <h1>Queries that never stop answering</h1>
        <p>
          The answer of a query here follows what arrives. Take one, watch it, change it.
          {events > 0 && <> Right now <strong>{rate(events)}</strong> events come in, and <strong>{count(running)}</strong> queries follow them.</>}
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
        <div class="page-head"><h2 id="demo">Running on the demo</h2><DemoRate /></div>
        <div class="cards">{demo.map((entry) => <EntryCard key={entry.name} entry={entry} running={queryNamed(entry.name)} />)}</div>
      </section>
      {SCENARIOS.map(({ directory, title, note }) => (
        <section key={directory} aria-labelledby={directory}>
          <h2 id={directory}>{title}</h2>
          <p class="quiet">{note}</p>
          <div class="cards small">
            {entries(EXAMPLES, directory, `${directory}-`).map((entry) => <EntryCard key={entry.name + entry.dialect} entry={entry} running={queryNamed(entry.name)} />)}
          </div>
        </section>
      ))}
    </div>
  );
}

function EntryCard({ entry, running }: { entry: Entry; running: QueryDocument | undefined }) {
  const [lead, ...rest] = entry.title.split(/(?<=[:.])\s/);
  const isHere = running !== undefined && running.body.trim() === entry.text.trim();
  return (
    <a class="card" href={isHere ? links.query(entry.name) : links.fresh(entry.text, entry.name)}>
      <span class="card-top">
        <span class="badge">{entry.dialect}</span>
        {isHere && <span class={`badge status ${running.status}`}>{running.status}</span>}
      </span>
      <strong>{lead?.replace(/[:.]$/, "")}</strong>
      <span>{capital(rest.join(" "))}</span>
    </a>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
