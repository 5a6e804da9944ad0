/** Streams: how fast, how late, how far; a look at what comes; an event by hand; declaring and deleting. */
import { useEffect, useRef, useState } from "preact/hooks";
import { isLoaded, refresh, streams } from "../api/catalogue";
import { api } from "../api/http";
import { followText } from "../api/socket";
import type { Mapping, StreamDocument, Table } from "../api/types";
import { notePredicates } from "../editor/seen";
import { Confirm, Dialog } from "../parts/dialog";
import { clock, count, duration, instant, rate } from "../parts/format";
import { Icon } from "../parts/icons";
import { Spark } from "../parts/spark";
import { attempt, tell } from "../parts/toast";
import { prefixesOf, shortIri, shown, ntriples } from "../rdf/terms";
import { links } from "../route";

const PEEK_MAX = 60;
/** Prefixes of the demo, beside those that everybody knows. */
const shortened = prefixesOf("PREFIX : <http://whorl.example/> PREFIX taxi: <http://whorl.example/taxi/>");

export function Streams({ chosen }: { chosen: string | null }) {
  const [isDeclaring, declare] = useState(false);
  const stream = streams.value.find((one) => one.streamIRI === chosen) ?? null;
  return (
    <div class="page">
      <header class="page-head">
        <h1>Streams</h1>
        <button type="button" class="button primary" onClick={() => declare(true)}><Icon name="plus" size={15} />Declare</button>
      </header>
      {streams.value.length === 0 && isLoaded.value && <p class="empty">There is no stream yet. Declare one, then push events to it.</p>}
      {streams.value.length > 0 && (
        <div class="scroll framed">
          <table class="data roomy">
            <thead>
              <tr><th scope="col">stream</th><th scope="col">rate</th><th scope="col"><span class="hidden">rate over time</span></th><th scope="col">events</th><th scope="col">late</th><th scope="col">watermark</th><th scope="col">behind</th><th scope="col">read by</th></tr>
            </thead>
            <tbody>{streams.value.map((one) => <Line key={one.streamIRI} stream={one} isChosen={one === stream} />)}</tbody>
          </table>
        </div>
      )}
      {stream !== null && <StreamDetails key={stream.streamIRI} stream={stream} />}
      {isDeclaring && <Declare close={() => declare(false)} />}
    </div>
  );
}

function Line({ stream, isChosen }: { stream: StreamDocument; isChosen: boolean }) {
  const lag = stream.watermark === null ? null : Date.now() - stream.watermark;
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <td class="iri">
        <a href={links.streams(stream.streamIRI)} title={stream.streamIRI} aria-current={isChosen ? "true" : undefined}>{shortIri(stream.streamIRI, shortened)}</a>
        {stream.status !== "open" && <> <span class="badge">{stream.status}</span></>}
      </td>
      <td class="number">{rate(stream.rate)}</td>
      <td><Spark id={stream.streamIRI} value={stream.rate} /></td>
      <td class="number">{count(stream.events)}</td>
      <td class={stream.late > 0 ? "number warn-text" : "number"}>{count(stream.late)}</td>
      <td class="time">{instant(stream.watermark)}</td>
      <td class="number">{lag === null || lag < 0 || lag > 86_400_000 ? "–" : duration(lag)}</td>
      <td>{stream.queries.filter((name) => !name.startsWith("ws-")).map((name) => <a key={name} class="tag" href={links.query(name)}>{name}</a>)}</td>
    </tr>
  );
}

function StreamDetails({ stream }: { stream: StreamDocument }) {
  const [isDeleting, remove] = useState(false);
  const { settings } = stream;
  const readers = stream.queries.filter((name) => !name.startsWith("ws-"));
  return (
    <section class="stream-details" aria-label={`Stream ${stream.streamIRI}`}>
      <header class="page-head">
        <h2><code>{stream.streamIRI}</code></h2>
        {stream.status !== "output" && <button type="button" class="button" onClick={() => remove(true)}><Icon name="bin" size={15} />Delete</button>}
      </header>
      <p class="quiet">
        {stream.writtenBy !== null ? <>written by <a href={links.query(stream.writtenBy)}>{stream.writtenBy}</a></> : settings === null ? null : (
          <>waits {duration(settings.lateness)} for events out of order · time of {settings.time === "event" ? "the event" : "arrival"}
            {settings.idleTimeout !== null && <> · idle after {duration(settings.idleTimeout)}</>}</>
        )}
      </p>
      <div class="halves">
        <Peek stream={stream.streamIRI} />
        {stream.status === "open" && <Push stream={stream.streamIRI} />}
      </div>
      {isDeleting && (
        <Confirm
          title="Delete this stream?" action={readers.length > 0 ? "Delete with its queries" : "Delete"} close={() => remove(false)}
          text={readers.length > 0 ? `These queries read it and go with it: ${readers.join(", ")}.` : stream.streamIRI}
          confirm={() => void drop(stream)}
        />
      )}
    </section>
  );
}

async function drop(stream: StreamDocument): Promise<void> {
  await attempt(() => api.dropStream(stream.streamIRI, stream.queries.length > 0), "The stream is deleted.");
  location.hash = links.streams();
  await refresh();
}

interface Peeked {
  number: number;
  t: number | null;
  mapping: Mapping;
}

/** The newest triples, by an unnamed query that ends when nobody looks any more. */
function Peek({ stream }: { stream: string }) {
  const [triples, setTriples] = useState<Peeked[]>([]);
  const [isHeld, hold] = useState(false);
  const held = useRef(false);
  held.current = isHeld;
  useEffect(() => {
    let waiting: Peeked[] = [];
    let number = 0;
    const stop = followText(`SELECT ?s ?p ?o WHERE { STREAM <${stream}> [NOW] { ?s ?p ?o } }`, { dialect: "cqels", keepAnswer: false, keepWindows: false }, {
      next: (envelope) => {
        const rows = (envelope.results as Table).results?.bindings ?? [];
        waiting = [...rows.map((mapping) => ({ number: ++number, t: envelope.t, mapping })).reverse(), ...waiting].slice(0, PEEK_MAX);
      },
      failed: (problem) => tell(problem.detail, true),
    });
    const timer = setInterval(() => {
      if (waiting.length === 0 || held.current) return;
      const fresh = waiting;
      waiting = [];
      notePredicates(stream, fresh.map((one) => String(one.mapping["p"]?.value)));
      setTriples((old) => [...fresh, ...old].slice(0, PEEK_MAX));
    }, 400);
    return () => (stop(), clearInterval(timer));
  }, [stream]);
  return (
    <div class="peek">
      <div class="panel-head"><h3>What comes in</h3><button type="button" class="chip" aria-pressed={isHeld} onClick={() => hold(!isHeld)}>{isHeld ? "Go on" : "Hold"}</button></div>
      {triples.length === 0 ? <p class="empty">Nothing has come since you are looking.</p> : (
        <div class="scroll framed short" tabIndex={0} role="group" aria-label="The newest triples">
          <table class="data">
            <tbody>
              {triples.map(({ number, t, mapping }) => (
                <tr key={number} class="plus">
                  <td class="time">{t === null ? "" : clock(t)}</td>
                  {["s", "p", "o"].map((name) => <td key={name} class="iri" title={ntriples(mapping[name])}>{shown(mapping[name], shortened)}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

const EXAMPLE = `PREFIX : <http://whorl.example/>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
[] a sosa:Observation ; sosa:observedProperty :temperature ; sosa:hasFeatureOfInterest :kitchen ; sosa:hasSimpleResult 31.5 .`;

function Push({ stream }: { stream: string }) {
  const [turtle, setTurtle] = useState(EXAMPLE);
  const [t, setT] = useState("");
  const push = async (event: Event): Promise<void> => {
    event.preventDefault();
    const at = t.trim() === "" ? String(Date.now()) : t.trim();
    const told = await attempt(() => api.push(stream, turtle, at));
    if (told === null) return;
    const notes = [told.late > 0 ? "late" : "", told.ahead > 0 ? "set aside, it is too far ahead of the clock" : "", told.duplicates > 0 ? "known already" : ""];
    tell(`Pushed: ${told.accepted} accepted${notes.filter(Boolean).map((one) => `, ${one}`).join("")}.`, told.ahead > 0 || told.late > 0);
    void refresh();
  };
  return (
    <form class="push" onSubmit={(event) => void push(event)}>
      <div class="panel-head"><h3>Push an event by hand</h3></div>
      <label>Turtle<textarea rows={6} spellcheck={false} value={turtle} onInput={(event) => setTurtle(event.currentTarget.value)} /></label>
      <label>Time<input value={t} placeholder="now; or milliseconds, or 2026-01-31T12:00:00Z" onInput={(event) => setT(event.currentTarget.value)} /></label>
      <button type="submit" class="button primary">Push</button>
    </form>
  );
}

function Declare({ close }: { close(): void }) {
  const [iri, setIri] = useState("http://example.org/my-stream");
  const [lateness, setLateness] = useState("0s");
  const [time, setTime] = useState("event");
  const [predicate, setPredicate] = useState("");
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const settings = { lateness, time, ...(predicate.trim() === "" ? {} : { timestampPredicate: predicate.trim() }) };
    if ((await attempt(() => api.declare(iri.trim(), settings), "The stream is declared.")) === null) return;
    await refresh();
    location.hash = links.streams(iri.trim());
    close();
  };
  return (
    <Dialog title="Declare a stream" close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>IRI<input value={iri} required spellcheck={false} onInput={(event) => setIri(event.currentTarget.value)} /></label>
        <label>Wait for events out of order<input value={lateness} placeholder="10s" onInput={(event) => setLateness(event.currentTarget.value)} /></label>
        <label>Whose clock counts
          <select value={time} onChange={(event) => setTime(event.currentTarget.value)}>
            <option value="event">the event's</option>
            <option value="arrival">the server's, at arrival</option>
          </select>
        </label>
        <label>Predicate that has the time of an event<input value={predicate} placeholder="optional" spellcheck={false} onInput={(event) => setPredicate(event.currentTarget.value)} /></label>
        <footer class="dialog-foot"><button type="button" class="button" onClick={close}>Cancel</button><button type="submit" class="button primary">Declare</button></footer>
      </form>
    </Dialog>
  );
}
