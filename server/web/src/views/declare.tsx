/** A form that declares a stream with all its settings. */
import { useState } from "preact/hooks";
import { refresh } from "../api/catalogue";
import { api } from "../api/http";
import { Dialog } from "../parts/dialog";
import { attempt } from "../parts/toast";
import { links } from "../route";

/** Settings that are text, with what stands in an empty field. */
const FIELDS = [
  { name: "lateness", label: "Allowed lateness", empty: "0s: how long to wait for events out of order" },
  { name: "timestampPredicate", label: "Timestamp predicate", empty: "none: each push gives the time" },
  { name: "idleTimeout", label: "Idle timeout", empty: "never: a silent stream holds back the others" },
  { name: "retention", label: "Retention of the log", empty: "the default of the server" },
  { name: "assumeZone", label: "Time zone of times without one", empty: "none; for example Z, +02:00, Europe/Paris" },
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
        <label>Time of an event
          <select value={time} onChange={(event) => setTime(event.currentTarget.value)}>
            <option value="event">its own timestamp (event time)</option>
            <option value="arrival">when it reaches the server (arrival time)</option>
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
