/** The newest events of a stream, by an unnamed query that ends when nobody looks any more; and how far they are out of order. */
import { useEffect, useRef, useState } from "preact/hooks";
import { followText } from "../api/socket";
import type { Mapping, Table } from "../api/types";
import { notePredicates } from "../editor/seen";
import { clock, duration } from "../parts/format";
import { tell } from "../parts/toast";
import { ntriples, prefixesOf, shown } from "../rdf/terms";

const EVENTS_MAX = 30;
const TRIPLES_MAX = 12;
/** How many events the spread of lags is that of. */
const LAGS_MAX = 400;
/** Prefixes of the demo, beside those that everybody knows. */
export const shortened = prefixesOf("PREFIX : <http://whorl.example/> PREFIX taxi: <http://whorl.example/taxi/>");

interface PeekedEvent {
  number: number;
  t: number | null;
  triples: Mapping[];
}

export function Peek({ stream }: { stream: string }) {
  const [events, setEvents] = useState<PeekedEvent[]>([]);
  const [lags, setLags] = useState<number[]>([]);
  const [isHeld, hold] = useState(false);
  const held = useRef(false);
  held.current = isHeld;
  useEffect(() => {
    let waiting: PeekedEvent[] = [];
    let late: number[] = [];
    let number = 0;
    const stop = followText(`SELECT ?s ?p ?o WHERE { STREAM <${stream}> [NOW] { ?s ?p ?o } }`, { dialect: "cqels", keepAnswer: false, keepWindows: false }, {
      next: (envelope) => {
        const triples = (envelope.results as Table).results?.bindings ?? [];
        if (triples.length === 0) return;
        waiting = [{ number: ++number, t: envelope.t, triples }, ...waiting].slice(0, EVENTS_MAX);
        if (envelope.t !== null) late = [...late, Date.now() - envelope.t].slice(-LAGS_MAX);
      },
      failed: (problem) => tell(problem.detail, true),
    });
    const timer = setInterval(() => {
      if (waiting.length === 0 || held.current) return;
      const fresh = waiting;
      waiting = [];
      notePredicates(stream, fresh.flatMap((one) => one.triples.map((triple) => String(triple["p"]?.value))));
      setEvents((old) => [...fresh, ...old].slice(0, EVENTS_MAX));
      setLags(late);
    }, 400);
    return () => (stop(), clearInterval(timer));
  }, [stream]);
  return (
    <div class="peek">
      <div class="panel-head"><h3>Incoming events</h3><button type="button" class="chip" aria-pressed={isHeld} onClick={() => hold(!isHeld)}>{isHeld ? "Resume" : "Freeze"}</button></div>
      <Spread lags={lags} />
      {events.length === 0 ? <p class="empty">No event has arrived since you opened this page.</p> : (
        <div class="scroll framed short" tabIndex={0} role="group" aria-label="The newest events">
          <table class="data">
            <thead><tr><th scope="col">subject</th><th scope="col">predicate</th><th scope="col">object</th></tr></thead>
            {events.map((event) => <EventRows key={event.number} event={event} />)}
          </table>
        </div>
      )}
    </div>
  );
}

function EventRows({ event: { t, triples } }: { event: PeekedEvent }) {
  return (
    <tbody>
      <tr class="event-head">
        <th colSpan={3} scope="rowgroup">{t === null ? "without a time" : clock(t)} <span class="quiet">{triples.length} {triples.length === 1 ? "triple" : "triples"}</span></th>
      </tr>
      {triples.slice(0, TRIPLES_MAX).map((mapping, at) => (
        <tr key={at} class="plus">
          {["s", "p", "o"].map((name) => <td key={name} class="iri" title={ntriples(mapping[name])}>{shown(mapping[name], shortened)}</td>)}
        </tr>
      ))}
      {triples.length > TRIPLES_MAX && <tr><td colSpan={3} class="quiet">and {triples.length - TRIPLES_MAX} more</td></tr>}
    </tbody>
  );
}

/** How long after their own time events were seen here: the median, nine of ten, the slowest. */
function Spread({ lags }: { lags: number[] }) {
  const sorted = lags.filter((one) => Math.abs(one) < 86_400_000).sort((a, b) => a - b);
  if (sorted.length < 5) return null;
  const at = (share: number): number => Math.max(0, sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  const most = Math.max(at(1), 1);
  return (
    <div class="spread" title="from the time of an event to its arrival on this page">
      <span class="quiet">delay</span>
      <span class="spread-bar"><span class="spread-box" style={{ left: `${(100 * at(0.1)) / most}%`, width: `${(100 * (at(0.9) - at(0.1))) / most}%` }} /><span class="spread-mid" style={{ left: `${(100 * at(0.5)) / most}%` }} /></span>
      <span><span class="quiet">median </span>{duration(at(0.5))}<span class="quiet"> · p90 </span>{duration(at(0.9))}<span class="quiet"> · max </span>{duration(at(1))}</span>
    </div>
  );
}
