/** One query: its text on one side, what comes of it on the other. */
import { useRef, useState } from "preact/hooks";
import { queries, queryNamed, refresh } from "../api/catalogue";
import { api } from "../api/http";
import type { QueryDocument } from "../api/types";
import { Editor, type EditorHandle } from "../editor/editor";
import type { Fix, Verdict } from "../editor/lint";
import { Confirm } from "../parts/dialog";
import { Icon } from "../parts/icons";
import { split, Splitter } from "../parts/splitter";
import { attempt, tell } from "../parts/toast";
import { go, links, route } from "../route";
import { Outcome } from "./outcome";
import { Snippets } from "./snippets";

const STARTER = `PREFIX : <http://whorl.example/>
PREFIX sosa: <http://www.w3.org/ns/sosa/>

SELECT ?room (AVG(?temperature) AS ?mean)
FROM NAMED WINDOW :recent ON :sensors [RANGE 10s STEP 2s]
WHERE {
  WINDOW :recent {
    ?reading sosa:observedProperty :temperature ; sosa:hasFeatureOfInterest ?room ; sosa:hasSimpleResult ?temperature
  }
}
GROUP BY ?room
`;

/** Texts that were changed and not run yet, by the name of their query; they survive a look at another view. */
const drafts = new Map<string, string>();

export function QueryView({ query }: { query: QueryDocument }) {
  return (
    <div class="workbench" key={query.id} style={columns()}>
      <Workbench name={query.id} query={query} text={drafts.get(query.id) ?? query.body} />
    </div>
  );
}

export function NewQueryView({ text, name }: { text: string | null; name: string | null }) {
  const initial = text ?? drafts.get("") ?? STARTER;
  return (
    <div class="workbench" key={`new ${text ?? ""} ${name ?? ""}`} style={columns()}>
      <Workbench name={freeName(name ?? "my-query")} query={null} text={initial} />
    </div>
  );
}

/** How much of the width the text takes until somebody moves the border: a plan is worth more room. */
const usualSplit = (): number => (route.value.view === "query" && route.value.tab === "plan" ? 28 : 42);
const columns = () => ({ "--split": `${split.value ?? usualSplit()}%` });

function freeName(wanted: string): string {
  if (queryNamed(wanted) === undefined) return wanted;
  let number = 2;
  while (queryNamed(`${wanted}-${number}`) !== undefined) number += 1;
  return `${wanted}-${number}`;
}

interface WorkbenchProperties {
  name: string;
  query: QueryDocument | null;
  text: string;
}

function Workbench({ name: given, query, text: initial }: WorkbenchProperties) {
  const [text, setText] = useState(initial);
  const [name, setName] = useState(given);
  const [verdict, setVerdict] = useState<Verdict>({ state: "checking" });
  const editor = useRef<EditorHandle | null>(null);
  const isChanged = query !== null && text.trim() !== query.body.trim();
  const change = (now: string): void => {
    setText(now);
    drafts.set(query?.id ?? "", now);
  };
  const run = (): void => void (query === null ? start(name, text) : isChanged ? replace(query, text) : restart(query));
  const revert = (): void => {
    if (query !== null) editor.current?.set(query.body);
  };
  return (
    <>
      <section class="writing" aria-label="Query text">
        <Toolbar {...{ query, name, setName, isChanged, run, revert }} />
        <Editor
          text={initial} query={query} onChange={change} onVerdict={setVerdict} onRun={run}
          handle={(made) => (editor.current = made)}
        />
        <footer class={verdict.state === "wrong" ? "writing-foot bad" : "writing-foot"}>
          <VerdictLine verdict={verdict} toFault={() => editor.current?.toNextFault()} />
          <TextActions name={name} text={text} format={() => editor.current?.format()} />
        </footer>
      </section>
      <Splitter usual={usualSplit()} />
      <section class="outcome" aria-label="Results">
        {query === null ? <Preview verdict={verdict} /> : <Outcome query={query} tab={route.value.view === "query" ? route.value.tab : null} />}
      </section>
    </>
  );
}

async function start(name: string, text: string): Promise<void> {
  const made = await attempt(() => api.register(name.trim(), text), `${name} is running.`);
  if (made === null) return;
  drafts.delete("");
  queries.value = [...queries.value.filter((one) => one.id !== made.id), made].sort((a, b) => (a.id < b.id ? -1 : 1));
  go(links.query(made.id));
}

async function restart(query: QueryDocument): Promise<void> {
  await attempt(() => api.act(query.id, "restart"), `${query.id} was restarted.`);
  await refresh();
}

async function replace(query: QueryDocument, text: string): Promise<void> {
  const done = await attempt(() => api.replace(query.id, text), `${query.id} was replaced.`);
  if (done !== null) drafts.delete(query.id);
  await refresh();
}

interface ToolbarProperties {
  query: QueryDocument | null;
  name: string;
  setName(name: string): void;
  isChanged: boolean;
  run(): void;
  revert(): void;
}

function Toolbar({ query, name, setName, isChanged, run, revert }: ToolbarProperties) {
  const [isDeleting, ask] = useState(false);
  return (
    <div class="toolbar">
      {query === null ? (
        <label class="name-field"><span class="hidden">Name of the query</span>
          <input value={name} spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} pattern="[A-Za-z0-9_\-]+" />
        </label>
      ) : (
        <h1 class="query-name" title={query.id}><span>{query.id}</span>{isChanged && <span class="dot" title="changed, not running yet" />}</h1>
      )}
      <span class="space" />
      <RunButtons {...{ query, isChanged, run, revert }} remove={() => ask(true)} />
      {isDeleting && query !== null && (
        <Confirm
          title={`Delete ${query.id}?`} action="Delete" close={() => ask(false)} confirm={() => void remove(query)}
          text="The query stops and its results are deleted. Subscribers are notified."
        />
      )}
    </div>
  );
}

async function remove(query: QueryDocument): Promise<void> {
  const done = await attempt(async () => (await api.remove(query.id), true), `${query.id} was deleted.`);
  if (done === null) return;
  drafts.delete(query.id);
  queries.value = queries.value.filter((one) => one.id !== query.id);
  go(links.gallery);
}

function TextActions({ name, text, format }: { name: string; text: string; format(): void }) {
  const [isCopying, copy] = useState(false);
  const share = async (): Promise<void> => {
    await navigator.clipboard.writeText(location.href.split("#")[0] + links.fresh(text, name));
    tell("The link is copied. It opens this text on this server; the token is not part of it.");
  };
  return (
    <>
      <button type="button" class="icon-button" title="Format (Shift+Alt+F)" aria-label="Format" onClick={format}><Icon name="format" /></button>
      <button type="button" class="icon-button" title="Copy as curl, Python, JavaScript" aria-label="Copy as" onClick={() => copy(true)}><Icon name="copy" /></button>
      <button type="button" class="icon-button" title="Copy a link to this text" aria-label="Share" onClick={() => void share()}><Icon name="link" /></button>
      {isCopying && <Snippets name={name} text={text} close={() => copy(false)} />}
    </>
  );
}

interface RunProperties {
  query: QueryDocument | null;
  isChanged: boolean;
  run(): void;
  revert(): void;
  remove(): void;
}

function RunButtons({ query, isChanged, run, revert, remove: ask }: RunProperties) {
  const act = async (action: "pause" | "restart", done: string): Promise<void> => {
    if (query !== null) await attempt(() => api.act(query.id, action), `${query.id} ${done}`);
    await refresh();
  };
  if (query === null) return <button type="button" class="button primary" title="Ctrl+Enter" onClick={run}><Icon name="play" size={15} />Run</button>;
  return (
    <>
      {isChanged && <button type="button" class="button" onClick={revert}>Revert</button>}
      {isChanged && <button type="button" class="button primary" title="Ctrl+Enter" onClick={run}><Icon name="play" size={15} />Replace</button>}
      {!isChanged && query.status === "running" && (
        <button type="button" class="button" onClick={() => void act("pause", "is paused.")}><Icon name="pause" size={15} />Pause</button>
      )}
      {!isChanged && (
        <button type="button" class={query.status === "running" ? "button" : "button primary"} title="Start again with empty windows" onClick={() => void act("restart", "was restarted.")}>
          <Icon name="restart" size={15} />Restart
        </button>
      )}
      <button type="button" class="icon-button" title="Delete" aria-label="Delete" onClick={ask}><Icon name="bin" /></button>
    </>
  );
}

function VerdictLine({ verdict, toFault }: { verdict: Verdict; toFault(): void }) {
  switch (verdict.state) {
    case "wrong": {
      const { line, column, detail } = verdict.problem;
      return (
        <div class="verdict bad">
          <button type="button" class="linklike fault" onClick={toFault}>{line === undefined ? "" : `${line}:${column ?? 1} `}{detail}</button>
          <Fixes fixes={verdict.fixes} />
        </div>
      );
    }
    case "right":
      return (
        <div class="verdict">
          <span class="badge">{verdict.facts.dialect}</span>
          <span class="badge">{verdict.facts.r2s}</span>
          <span class={verdict.facts.plan.incremental ? "badge good" : "badge warn"}>{verdict.facts.plan.incremental ? "incremental" : "re-evaluated"}</span>
          {verdict.warnings > 0
            ? <button type="button" class="linklike warn" onClick={toFault}>{verdict.warnings} {verdict.warnings === 1 ? "warning" : "warnings"}</button>
            : <span class="quiet">no errors</span>}
          <Fixes fixes={verdict.fixes} />
        </div>
      );
    case "offline":
      return <div class="verdict quiet">The server is not responding; the query is checked when it is back.</div>;
    default:
      return <div class="verdict quiet">{verdict.state === "empty" ? "Write a query, or open one from the gallery." : " "}</div>;
  }
}

function Fixes({ fixes }: { fixes: Fix[] }) {
  return <>{fixes.slice(0, 2).map((fix) => <button type="button" key={fix.name} class="chip fix" onClick={() => fix.apply()}>{fix.name}</button>)}</>;
}

/** A line of a plan as text: what does not fit hangs below its own beginning. */
function PlanLine({ line }: { line: string }) {
  const indent = line.length - line.trimStart().length;
  return <span class="plan-line" style={{ paddingLeft: `${indent + 2}ch` }}>{line.trimStart()}</span>;
}

/** What a text would do, before it runs. */
function Preview({ verdict }: { verdict: Verdict }) {
  if (verdict.state !== "right") return <p class="empty">Run the query (Ctrl+Enter) to see its results here.</p>;
  const { facts } = verdict;
  return (
    <div class="preview">
      <p class="empty">Run the query (Ctrl+Enter) to see its results here.</p>
      <h3>Plan</h3>
      <ul class="preview-list">
        {facts.windows.map((window) => <li key={window.name}>window <code>{window.short}</code> <code>{window.text}</code> on <code>{window.stream}</code></li>)}
        <li>results: {facts.variables.length > 0 ? facts.variables.map((name) => `?${name}`).join(" ") : facts.form}</li>
      </ul>
      <pre class="snippet wrapped">{facts.plan.text.split("\n").map((line, at) => <PlanLine key={at} line={line} />)}</pre>
    </div>
  );
}
