/** Streams: how fast, how late, how far; a look at what comes; an event by hand; declaring and deleting. */
import { useState } from "preact/hooks";
import { isLoaded, refresh, streams } from "../api/catalogue";
import { api } from "../api/http";
import type { StreamDocument } from "../api/types";
import { Confirm } from "../parts/dialog";
import { count, duration, instant, rate } from "../parts/format";
import { Icon } from "../parts/icons";
import { Spark } from "../parts/spark";
import { attempt, tell } from "../parts/toast";
import { shortIri } from "../rdf/terms";
import { links } from "../route";
import { Declare } from "./declare";
import { Peek, shortened } from "./peek";

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
          <table class="data roomy streams">
            <thead>
              <tr><th scope="col">stream</th><th scope="col" class="number">rate</th><th scope="col"><span class="hidden">rate over time</span></th><th scope="col" class="number">events</th><th scope="col" class="number">late</th><th scope="col" class="number">refused</th><th scope="col">watermark</th><th scope="col" class="number" title="how far the watermark is behind the clock">lag</th><th scope="col">read by</th></tr>
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
      <td><Spark id={stream.streamIRI} /></td>
      <td class="number" data-name="events">{count(stream.events)}</td>
      <td data-name="late" class={stream.late > 0 ? "number warn-text" : "number"}>{count(stream.late)}</td>
      <td data-name="refused" class={stream.refused > 0 ? "number warn-text" : "number"} title={stream.lastRefusal?.reason ?? ""}>{count(stream.refused)}</td>
      <td class="time" data-name="watermark">{instant(stream.watermark)}</td>
      <td class="number" data-name="lag">{lag === null || lag < 0 || lag > 86_400_000 ? "–" : duration(lag)}</td>
      <td data-name="read by">{stream.queries.filter((name) => !name.startsWith("ws-")).map((name) => <a key={name} class="tag" href={links.query(name)}>{name}</a>)}</td>
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
          <>allowed lateness {duration(settings.lateness)} · {settings.time === "event" ? "event time" : "arrival time"}
            {settings.timestampPredicate !== null && <> in <code>{shortIri(settings.timestampPredicate, shortened)}</code></>}
            {settings.idleTimeout !== null && <> · idle timeout {duration(settings.idleTimeout)}</>}
            {settings.retention !== null && <> · log kept for {duration(settings.retention)}</>}
            {settings.assumeZone !== null && <> · zone {settings.assumeZone} assumed</>}</>
        )}
      </p>
      <Refusals stream={stream} />
      <div class="halves">
        <Peek stream={stream.streamIRI} />
        {stream.status === "open" && <Push stream={stream.streamIRI} />}
      </div>
      {isDeleting && (
        <Confirm
          title="Delete this stream?" action={readers.length > 0 ? "Delete with its queries" : "Delete"} close={() => remove(false)}
          text={readers.length > 0 ? `The queries that read it are deleted, too: ${readers.join(", ")}.` : stream.streamIRI}
          confirm={() => void drop(stream)}
        />
      )}
    </section>
  );
}

function Refusals({ stream }: { stream: StreamDocument }) {
  const { lastRefusal: last, refused, ahead } = stream;
  return (
    <>
      {last !== null && (
        <p class="refusal" role="status">
          <strong>{count(refused)} refused</strong>, the last one at {instant(last.at)}{last.line !== null && <>, line {last.line}</>}: {last.reason}
        </p>
      )}
      {ahead > 0 && <p class="refusal"><strong>{count(ahead)} set aside</strong>: their times are too far ahead of the server's clock.</p>}
    </>
  );
}

async function drop(stream: StreamDocument): Promise<void> {
  await attempt(() => api.dropStream(stream.streamIRI, stream.queries.length > 0), "The stream is deleted.");
  location.hash = links.streams();
  await refresh();
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
    const notes = [told.late > 0 ? "late" : "", told.ahead > 0 ? "set aside: too far ahead of the clock" : "", told.duplicates > 0 ? "duplicate" : ""];
    tell(`Pushed: ${told.accepted} accepted${notes.filter(Boolean).map((one) => `, ${one}`).join("")}.`, told.ahead > 0 || told.late > 0);
    void refresh();
  };
  return (
    <form class="push" onSubmit={(event) => void push(event)}>
      <div class="panel-head"><h3>Push an event</h3></div>
      <label>Turtle<textarea rows={6} spellcheck={false} value={turtle} onInput={(event) => setTurtle(event.currentTarget.value)} /></label>
      <label>Time<input value={t} placeholder="now; or milliseconds, or 2026-01-31T12:00:00Z" onInput={(event) => setT(event.currentTarget.value)} /></label>
      <button type="submit" class="button primary">Push</button>
    </form>
  );
}

