/**
 * What a page knows of a query's results: the current answer with what is new, gone and changed in it, what arrived
 * last, and series for a chart. Everything is bounded; a page that is open for days does not grow.
 */
import type { Envelope, Mapping, RdfTerm, Table } from "../api/types";
import { statementRows } from "../rdf/nquads";
import { isNumeric, ntriples, numberOf, XSD, shownNumber } from "../rdf/terms";
import { bare } from "../editor/text";

const ROWS_MAX = 5_000;
const ARRIVALS_MAX = 1_000;
const GONE_MAX = 50;
const GONE_MS = 2_500;
const POINTS_MAX = 400;
const SERIES_MAX = 12;

export interface Row {
  id: string;
  mapping: Mapping;
  /** When it was first seen, and when it last changed; zero for what was there when we came. */
  newAt: number;
  changedAt: number;
  /** By variable, what the number was before. */
  before: ReadonlyMap<string, number | null>;
}

export interface Arrival {
  number: number;
  t: number | null;
  isDeleted: boolean;
  mapping: Mapping;
}

export interface Series {
  label: string;
  /** Instant → value, in the order of instants. */
  points: Map<number, number>;
  lastAt: number;
}

export class Results {
  variables: string[];
  rows: Row[] = [];
  gone: { row: Row; at: number }[] = [];
  arrivals: Arrival[] = [];
  total = 0;
  lost = 0;
  lastAt: number | null = null;
  /** Whether an answer has come at all, if only an empty one. */
  hasAnswer = false;
  readonly series = new Map<string, Map<string, Series>>();
  private readonly computed: ReadonlySet<string>;
  private readonly isGraph: boolean;
  private counter = 0;
  private isNews = false;

  /** Results up to `startSeq` were there before we came: they are history, and nothing in them is news. */
  constructor(
    readonly text: string, variables: string[], form: string | null, readonly r2s: string | null, private readonly startSeq: number,
  ) {
    this.isGraph = form === "CONSTRUCT" || form === "DESCRIBE";
    this.variables = this.isGraph ? ["subject", "predicate", "object"] : form === "ASK" ? ["answer"] : variables;
    this.computed = computedVariables(text);
  }

  /** As they are now, whatever comes. */
  held(): Results {
    const copied = ([id, one]: [string, Series]): [string, Series] => [id, { ...one, points: new Map(one.points) }];
    const series = new Map(Array.from(this.series, ([name, of]) => [name, new Map(Array.from(of, copied))]));
    return Object.assign(Object.create(Results.prototype) as Results, this, { series });
  }

  /** Whether each result is the whole answer. */
  get isWhole(): boolean {
    return this.r2s === "RSTREAM" || this.r2s === null;
  }

  take(envelope: Envelope): void {
    this.lastAt = envelope.t ?? this.lastAt;
    this.isNews = envelope.seq > this.startSeq;
    if (envelope.type === "changes") this.takeChanges(envelope);
    else if (envelope.snapshot === true || this.isWhole) this.answer(this.mappings(envelope.results), envelope.t);
    else this.arrive(this.mappings(envelope.results), envelope.t, this.r2s === "DSTREAM");
    this.total += 1;
  }

  /** The whole answer, from a result or asked for. */
  answer(mappings: Mapping[], t: number | null): void {
    const keys = this.keys(mappings);
    const old = new Map(this.rows.map((row) => [row.id, row]));
    const now = Date.now();
    const fresh = uniquely(mappings, keys).map(([id, mapping]) => this.row(id, mapping, old.get(id), now));
    const kept = new Set(fresh.map((row) => row.id));
    const left = this.rows.filter((row) => !kept.has(row.id)).slice(0, GONE_MAX);
    if (this.isWhole && this.hasAnswer) this.noteDifferences(fresh, left, old, t);
    if (this.isNews) this.gone = [...left.map((row) => ({ row, at: now })), ...this.gone].slice(0, GONE_MAX);
    this.rows = fresh.slice(0, ROWS_MAX);
    this.hasAnswer = true;
    if (this.isWhole && t !== null) this.plot(mappings, t);
  }

  /** Rows that went a moment ago, for a last look. */
  get going(): Row[] {
    const limit = Date.now() - GONE_MS;
    this.gone = this.gone.filter((one) => one.at > limit);
    return this.gone.map((one) => one.row);
  }

  /** Variables whose values are drawn: numbers, computed ones before others. */
  get values(): string[] {
    const rows = this.rows.length > 0 ? this.rows : this.arrivals;
    const numeric = this.variables.filter((name) => rows.length > 0 && rows.every((row) => isNumberOrNone(row.mapping[name])));
    const computed = numeric.filter((name) => this.computed.has(name));
    return (computed.length > 0 ? computed : numeric).filter((name) => !isCoordinate(name));
  }

  /** Variables that say which thing a row is about. */
  get labels(): string[] {
    const rest = this.variables.filter((name) => !this.computed.has(name));
    const named = this.computed.size > 0 && rest.length > 0 ? rest : this.variables.filter((name) => !this.values.includes(name));
    return named.filter((name) => !isCoordinate(name));
  }

  labelOf(mapping: Mapping, show: (term: RdfTerm | undefined) => string): string {
    return this.labels.map((name) => show(mapping[name])).filter((text) => text !== "").join(" · ");
  }

  private mappings(results: Table | string | undefined): Mapping[] {
    if (results === undefined) return [];
    if (typeof results === "string") {
      return this.statements(results);
    }
    if (results.boolean !== undefined) {
      return [{ answer: { type: "literal", value: String(results.boolean), datatype: `${XSD}boolean` } }];
    }
    return results.results?.bindings ?? [];
  }

  /** The rows of a graph. The column of its names is there from the first statement in a named graph on. */
  statements(text: string): Mapping[] {
    const rows = statementRows(text);
    if (this.variables.length === 3 && rows.some((row) => row["graph"] !== undefined)) this.variables = ["graph", ...this.variables];
    return rows;
  }

  private takeChanges(envelope: Envelope): void {
    const deleted = this.mappings(envelope.delete);
    const inserted = this.mappings(envelope.insert);
    const waiting = new Map<string, number>();
    for (const mapping of deleted) waiting.set(identity(mapping), (waiting.get(identity(mapping)) ?? 0) + 1);
    const left = this.rows.map((row) => row.mapping).filter((mapping) => {
      const open = waiting.get(identity(mapping)) ?? 0;
      if (open > 0) waiting.set(identity(mapping), open - 1);
      return open === 0;
    });
    this.arrive(deleted, envelope.t, true);
    this.arrive(inserted, envelope.t, false);
    this.answer([...left, ...inserted], envelope.t);
    if (envelope.t !== null) this.plot([...left, ...inserted], envelope.t);
  }

  private arrive(mappings: Mapping[], t: number | null, isDeleted: boolean): void {
    const fresh = mappings.map((mapping) => ({ number: ++this.counter, t, isDeleted, mapping }));
    this.arrivals = [...fresh.reverse(), ...this.arrivals].slice(0, ARRIVALS_MAX);
    if (!isDeleted && t !== null && this.r2s !== "CHANGES") this.plot(mappings, t);
  }

  private noteDifferences(fresh: Row[], left: Row[], old: Map<string, Row>, t: number | null): void {
    const log = (row: Row, isDeleted: boolean): Arrival => ({ number: ++this.counter, t, isDeleted, mapping: row.mapping });
    const gone = left.map((row) => log(row, true));
    const changed = fresh.filter((row) => identity(old.get(row.id)?.mapping ?? {}) !== identity(row.mapping));
    const came = changed.map((row) => log(row, false));
    this.arrivals = [...came.reverse(), ...gone, ...this.arrivals].slice(0, ARRIVALS_MAX);
  }

  private row(id: string, mapping: Mapping, old: Row | undefined, now: number): Row {
    if (old === undefined) return { id, mapping, newAt: this.isNews ? now : 0, changedAt: 0, before: new Map() };
    if (identity(old.mapping) === identity(mapping)) return old;
    // A change that nobody can see, in the last digits of a number, is none to point at.
    const differing = this.variables.filter((name) => seenAs(old.mapping[name]) !== seenAs(mapping[name]));
    if (differing.length === 0) return { ...old, mapping };
    const before = new Map(differing.map((name) => [name, numberOf(old.mapping[name])]));
    return { id, mapping, newAt: old.newAt, changedAt: this.isNews ? now : 0, before };
  }

  /** The variables by which a row is known again; all of them where fewer would mix rows up. */
  private keys(mappings: Mapping[]): string[] {
    if (this.isGraph) return this.variables;
    const rest = this.variables.filter((name) => !this.computed.has(name));
    const named = rest.filter((name) => !mappings.every((mapping) => isNumeric(mapping[name])));
    for (const candidate of this.computed.size > 0 ? [rest, named] : [named]) {
      const ids = new Set(mappings.map((mapping) => identity(mapping, candidate)));
      if (candidate.length > 0 && ids.size === mappings.length) return candidate;
    }
    return this.variables;
  }

  private plot(mappings: Mapping[], t: number): void {
    for (const name of this.values) {
      const of = this.series.get(name) ?? new Map<string, Series>();
      this.series.set(name, of);
      for (const mapping of mappings) this.addPoint(of, mapping, name, t);
      if (of.size > SERIES_MAX) forgetOldest(of);
    }
  }

  private addPoint(of: Map<string, Series>, mapping: Mapping, name: string, t: number): void {
    const value = numberOf(mapping[name]);
    if (value === null) return;
    const id = this.labels.map((label) => ntriples(mapping[label])).join(" ");
    const series = of.get(id) ?? { label: "", points: new Map<number, number>(), lastAt: t };
    of.set(id, series);
    series.label ||= this.labelOf(mapping, plainly) || name;
    series.points.set(t, value);
    series.lastAt = t;
    while (series.points.size > POINTS_MAX) series.points.delete(series.points.keys().next().value as number);
  }
}

/** Whether a query asks for the first few of an order. */
export function isTopK(text: string): boolean {
  return /\bORDER\s+BY\b[\s\S]*\bLIMIT\s+\d+/i.test(bare(text));
}

export interface CoordinatePair {
  label: string;
  lat: string;
  lon: string;
}

const LATITUDE = /^(.*?)(latitude|lat)(.*)$/i;
const isCoordinate = (name: string): boolean => /(^|[a-z_])(lat|lon|lng|latitude|longitude)$/i.test(name);

/** Variables that are places on earth: `?fromLat` and `?fromLon`. */
export function coordinatesOf(variables: readonly string[]): CoordinatePair[] {
  const lower = new Map(variables.map((name) => [name.toLowerCase(), name]));
  return variables.flatMap((lat) => {
    const [, before = "", , after = ""] = LATITUDE.exec(lat) ?? [];
    if (!LATITUDE.test(lat)) return [];
    const lon = ["longitude", "lon", "lng", "long"].map((word) => lower.get(`${before}${word}${after}`.toLowerCase()));
    const found = lon.find((name) => name !== undefined);
    return found === undefined ? [] : [{ label: before + after, lat, lon: found }];
  });
}

/** Variables that the SELECT clause makes: `(COUNT(*) AS ?n)`. */
function computedVariables(text: string): ReadonlySet<string> {
  const head = bare(text).split(/\bWHERE\b|\{/i, 1)[0] ?? "";
  return new Set(Array.from(head.matchAll(/\bAS\s+[?$]([\p{L}\p{N}_]+)\s*\)/giu), ([, name]) => name ?? ""));
}

const isNumberOrNone = (term: RdfTerm | undefined): boolean => term === undefined || isNumeric(term);

const seenAs = (term: RdfTerm | undefined): string => (isNumeric(term) ? shownNumber(String(term?.value)) : ntriples(term));

const plainly = (term: RdfTerm | undefined): string => {
  if (term === undefined || typeof term.value !== "string") return "";
  return term.type === "uri" ? term.value.replace(/^.*[/#]/, "") : term.value;
};

function identity(mapping: Mapping, variables?: readonly string[]): string {
  return (variables ?? Object.keys(mapping).sort()).map((name) => ntriples(mapping[name])).join("\u0001");
}

/** Mappings with their identities; copies are told apart by a number. */
function uniquely(mappings: Mapping[], keys: readonly string[]): [string, Mapping][] {
  const copies = new Map<string, number>();
  return mappings.map((mapping) => {
    const id = identity(mapping, keys);
    const copy = copies.get(id) ?? 0;
    copies.set(id, copy + 1);
    return [copy === 0 ? id : `${id}\u0002${copy}`, mapping];
  });
}

function forgetOldest(of: Map<string, Series>): void {
  const byAge = [...of].sort(([, a], [, b]) => b.lastAt - a.lastAt);
  for (const [id] of byAge.slice(SERIES_MAX)) of.delete(id);
}
