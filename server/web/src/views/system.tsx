/** The server in numbers, each of which is also in `/metrics`; and who may use it. */
import { useEffect, useState } from "preact/hooks";
import { queries, streams } from "../api/catalogue";
import { api, ApiProblem, base } from "../api/http";
import { signOut, token } from "../api/session";
import type { TokenDocument } from "../api/types";
import { Confirm, Dialog } from "../parts/dialog";
import { bytes, count, instant, rate, seconds } from "../parts/format";
import { Spark } from "../parts/spark";
import { attempt, tell } from "../parts/toast";
import { histogram, quantile, sum, type Histogram } from "./metrics";
import { EVENTS, rates, samples } from "./numbers";

export function System() {
  const found = samples.value;
  const build = found.find((one) => one.name === "whorl_build_info")?.labels ?? {};
  const commit = histogram(found, "whorl_commit_duration_seconds");
  const apply = histogram(found, "whorl_apply_duration_seconds");
  const requests = histogram(found, "whorl_request_duration_seconds");
  const perSecond = (name: string): number => rates.value.get(name) ?? 0;
  const started = sum(found, "process_start_time_seconds");
  return (
    <div class="page">
      <header class="page-head">
        <h1>System</h1>
        <span class="quiet">
          Whorl {build["version"] ?? ""} · Python {build["python"] ?? ""} · API v1{started > 0 && <> · up since {instant(1000 * Math.round(started))}</>} · <a href={`${base}/docs`}>API</a>
        </span>
      </header>
      <div class="tiles">
        <Tile id={EVENTS} name="events in" value={rate(streams.value.reduce((total, one) => total + one.rate, 0))} />
        <Tile id="whorl_results_total" name="results out" value={rate(perSecond("whorl_results_total"))} />
        <Tile id="whorl_evaluations_total" name="evaluations" value={rate(perSecond("whorl_evaluations_total"))} />
        <Tile id="process_resident_memory_bytes" name="memory" value={bytes(sum(found, "process_resident_memory_bytes"))} />
        <Tile id="process_cpu_seconds_total" name="CPU" value={`${Math.round(100 * perSecond("process_cpu_seconds_total"))} %`} />
        <Tile id="whorl_engine_state_size" name="query state entries" value={count(sum(found, "whorl_engine_state_size"))} />
        <Tile id="whorl_subscribers" name="subscribers" value={count(sum(found, "whorl_subscribers"))} />
        <Tile id="whorl_queue_bytes" name="engine queue" value={bytes(sum(found, "whorl_queue_bytes"))} />
      </div>
      <h2>Latency</h2>
      <div class="histograms">
        <Durations title="Applying events" histogram={apply} />
        <Durations title="Writing and syncing the log" histogram={commit} />
        <Durations title="HTTP requests" histogram={requests} />
      </div>
      <h2>Queries by evaluation time</h2>
      <div class="scroll framed">
        <table class="data roomy">
          <thead><tr><th scope="col">query</th><th scope="col">status</th><th scope="col" class="number">evaluations</th><th scope="col" class="number">evaluation time</th><th scope="col" class="number" title="mappings, rows, groups and terms">state</th><th scope="col" class="number">results</th><th scope="col" class="number">subscribers</th></tr></thead>
          <tbody>
            {[...queries.value].sort((a, b) => (b.stats.evaluationSeconds ?? 0) - (a.stats.evaluationSeconds ?? 0)).map((one) => (
              <tr key={one.id}>
                <td><a href={`#/query/${encodeURIComponent(one.id)}/plan`}>{one.id}</a></td>
                <td><span class={`badge status ${one.status}`}>{one.status}</span></td>
                <td class="number">{count(one.stats.evaluations ?? 0)}</td>
                <td class="number">{seconds(one.stats.evaluationSeconds ?? 0)}</td>
                <td class="number">{count(one.stats.stateSize ?? 0)}</td>
                <td class="number">{count(one.stats.results)}</td>
                <td class="number">{one.subscribers}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Tokens />
    </div>
  );
}

function Tile({ id, name, value }: { id: string; name: string; value: string }) {
  return <div class="tile"><span class="quiet">{name}</span><strong>{value}</strong><Spark id={id} /></div>;
}

function Durations({ title, histogram: given }: { title: string; histogram: Histogram }) {
  const most = Math.max(1, ...given.buckets.map((one) => one.count));
  const [half, nearly] = [quantile(given, 0.5), quantile(given, 0.99)];
  return (
    <div class="durations">
      <h3>{title}</h3>
      <div class="columns" role="img" aria-label={`${title}: median at most ${half === null ? "?" : seconds(half)}`}>
        {given.buckets.map(({ to, count: here }) => (
          <span key={to} class="column" title={`${Number.isFinite(to) ? `up to ${seconds(to)}` : "longer"}: ${count(here)}`}>
            <span class={here === 0 ? "fill none" : "fill"} style={{ height: `${Math.max(here === 0 ? 0 : 4, (100 * here) / most)}%` }} />
          </span>
        ))}
      </div>
      <p class="quiet">{count(given.count)} measured · p50 ≤ {half === null ? "–" : seconds(half)} · p99 ≤ {nearly === null ? "–" : seconds(nearly)}</p>
    </div>
  );
}

const SCOPES = ["ingest", "subscribe", "register", "admin"];

function Tokens() {
  const [tokens, setTokens] = useState<TokenDocument[] | null>(null);
  const [isMaking, make] = useState(false);
  const [revoked, revoke] = useState<TokenDocument | null>(null);
  const load = async (): Promise<void> => {
    try {
      setTokens(await api.tokens());
    } catch (error) {
      // Without the scope `admin` there is no list to show.
      if (error instanceof ApiProblem) setTokens(null);
    }
  };
  useEffect(() => void load(), []);
  return (
    <section aria-labelledby="tokens">
      <header class="page-head">
        <h2 id="tokens">Tokens</h2>
        <span>
          {tokens !== null && <button type="button" class="button" onClick={() => make(true)}>Create a token</button>}{" "}
          {token.value !== null && <button type="button" class="button" onClick={signOut}>Sign out</button>}
        </span>
      </header>
      {tokens === null ? <p class="quiet">Only admins can list and create tokens.</p> : tokens.length === 0 ? (
        <p class="quiet">There is only the admin token. Create tokens with fewer scopes for your programs.</p>
      ) : (
        <div class="scroll framed">
          <table class="data roomy">
            <thead><tr><th scope="col">name</th><th scope="col">scopes</th><th scope="col">created</th><th scope="col"><span class="hidden">actions</span></th></tr></thead>
            <tbody>
              {tokens.map((one) => (
                <tr key={one.id}>
                  <td>{one.name}</td>
                  <td>{one.scopes.map((scope) => <span key={scope} class="badge">{scope}</span>)}</td>
                  <td class="time">{instant(one.createdAt)}</td>
                  <td><button type="button" class="linklike" onClick={() => revoke(one)}>Revoke</button></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {revoked !== null && (
        <Confirm
          title={`Revoke ${revoked.name}?`} action="Revoke" close={() => revoke(null)}
          text="Programs that use this token are refused from now on, and their connections end. This cannot be undone."
          confirm={() => void attempt(() => api.dropToken(revoked.id), `${revoked.name} is revoked.`).then(load)}
        />
      )}
      {isMaking && <MakeToken close={() => (make(false), void load())} />}
    </section>
  );
}

function MakeToken({ close }: { close(): void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["subscribe"]);
  const [made, setMade] = useState<string | null>(null);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const document = await attempt(() => api.makeToken(name, scopes));
    if (document !== null) setMade(document.token);
  };
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(made ?? "");
    tell("The token was copied.");
  };
  if (made !== null) {
    return (
      <Dialog title="The token" close={close}>
        <p>Copy it now: it is not shown again, because the server stores only its hash.</p>
        <pre class="snippet" tabIndex={0}>{made}</pre>
        <footer class="dialog-foot"><button type="button" class="button primary" onClick={() => void copy()}>Copy</button></footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="Create a token" close={close}>
      <form class="form" onSubmit={(event) => void save(event)}>
        <label>Name<input value={name} required placeholder="sensor gateway" onInput={(event) => setName(event.currentTarget.value)} /></label>
        <fieldset>
          <legend>Scopes</legend>
          {SCOPES.map((scope) => (
            <label class="check" key={scope}>
              <input type="checkbox" checked={scopes.includes(scope)} onChange={(event) => setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))} />
              {scope}
            </label>
          ))}
        </fieldset>
        <footer class="dialog-foot"><button type="button" class="button" onClick={close}>Cancel</button><button type="submit" class="button primary" disabled={scopes.length === 0}>Create</button></footer>
      </form>
    </Dialog>
  );
}
