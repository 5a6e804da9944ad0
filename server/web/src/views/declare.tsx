/** A form that declares a stream with all its settings. */
import { useState } from "preact/hooks";
import { refresh } from "../api/catalogue";
import { api } from "../api/http";
import { Dialog } from "../parts/dialog";
import { attempt } from "../parts/toast";
import { links } from "../route";

/** Settings that are text, with what stands in an empty field. */
const FIELDS = [
  { name: "lateness", label: "Wait for events out of order", empty: "0s" },
  { name: "timestampPredicate", label: "Predicate that has the time of an event", empty: "none: the time comes with the event" },
  { name: "idleTimeout", label: "Silent for this long, it no longer holds others back", empty: "never" },
  { name: "retention", label: "Keep its log beyond what windows need", empty: "as the server is set" },
  { name: "assumeZone", label: "Zone of times that have none", empty: "none; for example Z, +02:00, Europe/Paris" },
] as const;

export function Declare({ close }: { close(): void }) {
  const [iri, setIri] = useState("http://example.org/my-stream");
  const [time, setTime] = useState("event");
  const [given, setGiven] = useState<Record<string, string>>({});
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const said = Object.entries(given).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== "");
    const settings = { time, ...(Object.fromEntries(said) as Record<string, string>) };
    if ((await attempt(() => api.declare(iri.trim(), settings), "The stream is declared.")) === null) return;
    await refresh();
    location.hash = links.streams(iri.trim());
    close();
  };
  return (
    <Dialog title="Declare a stream" close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>IRI<input value={iri} required spellcheck={false} onInput={(event) => setIri(event.currentTarget.value)} /></label>
        <label>Whose clock counts
          <select value={time} onChange={(event) => setTime(event.currentTarget.value)}>
            <option value="event">the event's</option>
            <option value="arrival">the server's, at arrival</option>
          </select>
        </label>
        {FIELDS.map(({ name, label, empty }) => (
          <label key={name}>{label}
            <input value={given[name] ?? ""} placeholder={empty} spellcheck={false} onInput={(event) => setGiven({ ...given, [name]: event.currentTarget.value })} />
          </label>
        ))}
        <footer class="dialog-foot"><button type="button" class="button" onClick={close}>Cancel</button><button type="submit" class="button primary">Declare</button></footer>
      </form>
    </Dialog>
  );
}
