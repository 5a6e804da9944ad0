/** The documents of the server, as docs/reference/http.md and websocket.md describe them. */

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  hint?: string;
  code?: string;
  line?: number;
  column?: number;
  snippet?: string;
  stream?: string;
}

export interface Warning {
  code: string;
  message: string;
  hint?: string;
  line?: number;
  column?: number;
}

export interface StreamSettings {
  timestampPredicate: string | null;
  lateness: number;
  idleTimeout: number | null;
  retention: number | null;
  time: "event" | "arrival";
  assumeZone: string | null;
}

export interface StreamDocument {
  streamIRI: string;
  status: "open" | "closed" | "output";
  watermark: number | null;
  events: number;
  triples: number;
  late: number;
  refused: number;
  ahead: number;
  lastRefusal: { at: number; reason: string; code: string | null; line: number | null } | null;
  rate: number;
  queries: string[];
  writtenBy: string | null;
  settings: StreamSettings | null;
}

export interface WindowDocument {
  name: string;
  /** With the prefixes of the query, or the number of a window without a name. */
  short: string;
  stream: string;
  kind: string;
  text: string;
  rangeMs?: number;
  stepMs?: number;
  graph: string | null;
}

export interface QueryStats {
  results: number;
  lastResultAt: number | null;
  evaluations?: number;
  stateSize?: number;
  droppedResults?: number;
  windows?: Record<string, number>;
  evaluationSeconds?: number;
}

export interface QueryDocument {
  id: string;
  streams: string[];
  body: string;
  dialect: string | null;
  form: string | null;
  variables: string[];
  r2s: string | null;
  status: "running" | "paused" | "failed";
  windows: WindowDocument[];
  output: string | null;
  options: Record<string, unknown>;
  incarnation: string;
  watermark: number | null;
  lastSeq: number;
  subscribers: number;
  problem: Problem | null;
  stats: QueryStats;
}

export interface Validation {
  dialect: string;
  form: string;
  variables: string[];
  r2s: string;
  windows: WindowDocument[];
  streams: string[];
  plan: { incremental: boolean; text: string };
  warnings: Warning[];
}

export interface RdfTerm {
  type: "uri" | "literal" | "bnode" | "triple" | "typed-literal";
  value: string | { subject: RdfTerm; predicate: RdfTerm; object: RdfTerm };
  datatype?: string;
  "xml:lang"?: string;
}

export type Mapping = Record<string, RdfTerm>;

export interface Table {
  head: { vars?: string[] };
  results?: { bindings: Mapping[] };
  boolean?: boolean;
}

export interface Envelope {
  query: string;
  incarnation: string;
  seq: number;
  token: string;
  t: number | null;
  snapshot?: boolean;
  windows?: { name: string; open: number | null; close: number | null }[];
  r2s: string | null;
  type: "bindings" | "boolean" | "graph" | "changes";
  results?: Table | string;
  insert?: Table | string;
  delete?: Table | string;
}

export interface PlanIndex {
  on: string[];
  keys: number;
  bytes?: number;
}

export interface PlanBuffer {
  role: number;
  pattern?: string;
  condition?: string;
  input?: number;
  window?: string;
  matched?: number;
  merged?: number;
  live?: number;
  bytes?: number;
  indexes?: PlanIndex[];
  ordered_on?: string;
}

export interface PlanOperator {
  operator: string;
  detail?: string;
  mode?: string;
  reason?: string;
  variables?: string[];
  keys?: string[];
  keeps?: number;
  /** Of what it keeps; joins have theirs in buffers and trees. */
  bytes?: number;
  emitted?: number;
  retraction?: string;
  trees?: { live: number; bytes: number };
  early_stops?: number;
  buffers?: PlanBuffer[];
  orders?: { order: (number | string)[]; taken: number }[];
  inputs?: PlanOperator[];
}

export interface PlanDocument {
  query: { dialect: string; form: string; variables: string[]; r2s: string; report: string[]; tick: string };
  windows: { name: string; short: string; stream: string; text: string; kind: string }[];
  incremental: boolean;
  root?: PlanOperator;
}

export interface WhyPattern {
  pattern: string;
  window: string;
  matched: number;
  live: number;
  condition: string | null;
  required: boolean;
  seen: string[];
}

export interface WhyWindow {
  name: string;
  short: string;
  stream: string;
  events: number;
  late: number;
  watermark: number | null;
  open: number | null;
  close: number | null;
}

export interface WhyDocument {
  query: string;
  state: string;
  summary: string;
  advice: string | null;
  windows: WhyWindow[];
  patterns: WhyPattern[];
  late: number;
  filtered: number;
  results: number;
  watermark: number | null;
}

export interface TokenDocument {
  id: string;
  name: string;
  scopes: string[];
  createdAt: number;
}
