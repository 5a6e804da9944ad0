/** Faults where they are, while one types: the server's own, and two that only an onlooker can see. */
import type { Action, Diagnostic } from "@codemirror/lint";
import { StateEffect } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { streams } from "../api/catalogue";
import { api, ApiProblem, OfflineError } from "../api/http";
import type { Problem, QueryDocument, Validation, Warning } from "../api/types";
import { prefixesOf, shortIri } from "../rdf/terms";
import { fixesOf, replaceBy, warningFixes } from "./fixes";
import { AGAIN_MS, look, seen } from "./seen";
import { bare, iriOf, nearest, placeOf, predicatesOf, variablesOf } from "./text";

export type Verdict =
  | { state: "empty" | "checking" | "offline" }
  | { state: "right"; facts: Validation; warnings: number; fixes: Fix[] }
  | { state: "wrong"; problem: Problem; fixes: Fix[] };

/** A quick fix that can be done now. */
export interface Fix {
  name: string;
  apply(): void;
}

const LOOK_MS = 2_000;

/** The text is to be judged again, though it has not changed. */
export const judgeAgain = StateEffect.define<null>();

interface Place {
  from: number;
  to: number;
}

/** Ask the server about a text; `own` is the query that is edited, which may go on writing the stream that it writes. */
export async function judge(view: EditorView, tell: (verdict: Verdict) => void, own: QueryDocument | null): Promise<Diagnostic[]> {
  const text = view.state.doc.toString();
  if (text.trim() === "") return tell({ state: "empty" }), [];
  const isWriter = own !== null && own.output !== null;
  if (isWriter && text === own.body) return tell({ state: "checking" }), [];
  try {
    const facts = await api.validate(text);
    // Which predicates occur is worth a moment, not more; who has seen only some of them must not call others unknown.
    const isKnown = await Promise.race([look(facts.streams).then(() => true), new Promise<boolean>((done) => setTimeout(() => done(false), LOOK_MS))]);
    if (flows(facts) && (!isKnown || predicatesSeen(facts).size === 0)) judgeLater(view, text);
    const found = [...facts.warnings.map((one) => warned(one, text)), ...(isKnown ? unseen(text, facts) : []), ...lonely(text)];
    tell({ state: "right", facts, warnings: found.length, fixes: found.flatMap((one) => fixesIn(one, view)) });
    return found;
  } catch (error) {
    if (error instanceof OfflineError) return tell({ state: "offline" }), [];
    if (!(error instanceof ApiProblem)) throw error;
    if (isWriter && error.slug === "output-taken") return tell({ state: "checking" }), [];
    const found = diagnostic(error.problem, text);
    tell({ state: "wrong", problem: error.problem, fixes: fixesIn(found, view) });
    return [found];
  }
}

/** A stream that has just begun shows its predicates a little later; the text may be another one by then. */
function judgeLater(view: EditorView, text: string): void {
  setTimeout(() => {
    if (view.dom.isConnected && view.state.doc.toString() === text) view.dispatch({ effects: judgeAgain.of(null) });
  }, AGAIN_MS);
}

function flows(facts: Validation): boolean {
  return streams.value.some((one) => facts.streams.includes(one.streamIRI) && one.events > 0);
}

function predicatesSeen(facts: Validation): Set<string> {
  return new Set(facts.streams.flatMap((stream) => [...(seen.value.get(stream)?.keys() ?? [])]));
}

function fixesIn({ actions = [], from, to }: Diagnostic, view: EditorView): Fix[] {
  return actions.map((action) => ({ name: action.name, apply: () => action.apply(view, from, to) }));
}

function diagnostic(problem: Problem, text: string): Diagnostic {
  const place = placed(problem, text);
  const message = problem.hint ? `${problem.detail}\n${problem.hint}` : problem.detail;
  return { ...place, severity: "error", message, actions: fixesOf(problem, text, place) };
}

function placed(problem: { line?: number; column?: number; stream?: string }, text: string): Place {
  if (problem.stream !== undefined) {
    const place = placeOf(problem.stream, text, prefixesOf(text));
    if (place !== null) return place;
  }
  return problem.line === undefined ? head(text) : word(text, offset(text, problem.line, problem.column ?? 1));
}

/** Lines and columns count from one, columns in code points. */
function offset(text: string, line: number, column: number): number {
  let from = 0;
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf("\n", from);
    if (end < 0) return text.length;
    from = end + 1;
  }
  const rest = Array.from(text.slice(from, from + 2 * column)).slice(0, column - 1);
  return Math.min(text.length, from + rest.join("").length);
}

function word(text: string, from: number): Place {
  const found = /^(?:<[^>\s]*>|[?$\p{L}\p{N}_:.-]+|\S)/u.exec(text.slice(from));
  if (found !== null) return { from, to: from + found[0].length };
  return from > 0 ? { from: from - 1, to: from } : { from, to: from };
}

/** What concerns the whole of a query is shown at the word that begins it. */
function head(text: string): Place {
  const at = bare(text).search(/\b(SELECT|CONSTRUCT|ASK|DESCRIBE|REGISTER)\b/i);
  return word(text, Math.max(0, at));
}

function warned(warning: Warning, text: string): Diagnostic {
  const message = warning.hint ? `${warning.message}\n${warning.hint}` : warning.message;
  return { ...placed(warning, text), severity: "warning", message, actions: warningFixes(warning, text, placed(warning, text)) };
}

/** A predicate that no triple on these streams has had so far. */
function unseen(text: string, facts: Validation): Diagnostic[] {
  const prefixes = prefixesOf(text);
  const known = predicatesSeen(facts);
  if (known.size === 0 || !flows(facts)) return [];
  return predicatesOf(text).flatMap(({ name, from, to }) => {
    const iri = iriOf(name, prefixes);
    if (iri === null || known.has(iri)) return [];
    const similar = nearest(iri, known);
    const actions: Action[] = similar === null ? [] : [replaceBy(shortIri(similar, prefixes))];
    const hint = similar === null ? "" : `\ndid you mean ${shortIri(similar, prefixes)}?`;
    return [{ from, to, severity: "warning", message: `no triple with ${name} has been seen on this stream yet${hint}`, actions }];
  });
}

/** A variable that stands nowhere else is often a typing error; where it is meant, nothing is lost by a hint. */
function lonely(text: string): Diagnostic[] {
  const body = bare(text);
  const selected = /\bSELECT\b(?:\s+(?:DISTINCT|REDUCED|ISTREAM|DSTREAM|RSTREAM))*\s+([^{]*?)\b(?:FROM|WHERE)\b|\bSELECT\b([^{]*)\{/i.exec(body);
  const names = variablesOf(selected?.[1] ?? selected?.[2] ?? "");
  return names.flatMap((name) => {
    const places = Array.from(body.matchAll(new RegExp(`\\${name}(?![\\p{L}\\p{N}_])`, "gu")), (found) => found.index);
    const [from] = places;
    if (places.length !== 1 || from === undefined || /AS\s*$/i.test(body.slice(0, from))) return [];
    const similar = nearest(name, variablesOf(text).filter((one) => one !== name));
    const hint = similar === null ? "" : `\ndid you mean ${similar}?`;
    const actions: Action[] = similar === null ? [] : [replaceBy(similar)];
    const message = `${name} is selected, but nothing binds it${hint}`;
    return [{ from, to: from + name.length, severity: "warning", message, actions }];
  });
}
