/** Requests of the REST interface. A refusal is an `ApiProblem`, and a server that does not answer an `OfflineError`. */
import { connection, isRefused, token } from "./session";
import type {
  PlanDocument,
  Problem,
  QueryDocument,
  StreamDocument,
  Table,
  TokenDocument,
  Validation,
  WhyDocument,
} from "./types";

export const base = location.origin + location.pathname.replace(/\/$/, "");

export class ApiProblem extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }

  /** The stable last part of the problem's type. */
  get slug(): string {
    return this.problem.type.slice(this.problem.type.lastIndexOf(":") + 1);
  }
}

export class OfflineError extends Error {}

export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (token.value !== null) headers.set("Authorization", `Bearer ${token.value}`);
  const answer = await fetch(base + path, { ...options, headers, cache: "no-store" }).catch(() => {
    connection.value = "offline";
    throw new OfflineError("the server does not answer");
  });
  if (answer.status !== 503) connection.value = "online";
  if (answer.ok) {
    if (path !== "/healthz") isRefused.value = false;
    return answer;
  }
  if (answer.status === 401) isRefused.value = true;
  throw new ApiProblem(await problemOf(answer));
}

async function problemOf(answer: Response): Promise<Problem> {
  try {
    return (await answer.json()) as Problem;
  } catch {
    const detail = `the server answers ${answer.status}`;
    return { type: "about:blank", title: detail, status: answer.status, detail };
  }
}

async function json<T>(path: string, options?: RequestInit): Promise<T> {
  return (await (await send(path, options)).json()) as T;
}

function body(method: string, content: string, type: string): RequestInit {
  return { method, body: content, headers: { "Content-Type": type } };
}

const RSP_QL = "application/rsp-ql";
const JSON_TYPE = "application/json";
const streamPath = (iri: string): string => `/streams/${encodeURIComponent(iri)}`;
const queryPath = (name: string): string => `/queries/${encodeURIComponent(name)}`;

export interface Ingested {
  accepted: number;
  late: number;
  duplicates: number;
  ahead: number;
  watermark: number | null;
}

export const api = {
  queries: async () => (await json<{ queries: QueryDocument[] }>("/queries")).queries,
  query: (name: string) => json<QueryDocument>(queryPath(name)),
  register: (name: string, text: string) => json<QueryDocument>(queryPath(name), body("PUT", text, RSP_QL)),
  /** Another text under the same name. If it is refused, the old one goes on. */
  replace: (name: string, text: string) => json<QueryDocument>(`${queryPath(name)}?replace=true`, body("PUT", text, RSP_QL)),
  validate: (text: string, signal?: AbortSignal) =>
    json<Validation>("/queries/validate", { ...body("POST", text, RSP_QL), signal: signal ?? null }),
  act: (name: string, action: "pause" | "restart") =>
    json<QueryDocument>(queryPath(name), body("POST", JSON.stringify({ action }), JSON_TYPE)),
  remove: async (name: string) => void (await send(queryPath(name), { method: "DELETE" })),
  plan: (name: string) => json<PlanDocument>(`${queryPath(name)}/plan`),
  why: (name: string) => json<WhyDocument>(`${queryPath(name)}/why`),
  answer: async (name: string, accept: string) =>
    (await send(`${queryPath(name)}/results`, { headers: { Accept: accept } })).text(),

  streams: async () => (await json<{ streams: StreamDocument[] }>("/streams")).streams,
  declare: (iri: string, settings: Record<string, unknown>) =>
    json<StreamDocument>(streamPath(iri), body("PUT", JSON.stringify(settings), JSON_TYPE)),
  push: (iri: string, turtle: string, t: string) =>
    json<Ingested>(`${streamPath(iri)}${t === "" ? "" : `?t=${encodeURIComponent(t)}`}`, body("POST", turtle, "text/turtle")),
  dropStream: async (iri: string, cascade: boolean) =>
    void (await send(`${streamPath(iri)}${cascade ? "?cascade=true" : ""}`, { method: "DELETE" })),

  /** Many events at once, each with its time; none is accepted if one is refused. */
  pushAll: (iri: string, events: readonly { t: number; data: string }[]) =>
    json<Ingested>(streamPath(iri), body("POST", events.map((one) => `${JSON.stringify(one)}\n`).join(""), "application/x-ndjson")),
  /** Put a static graph where there is none of this name. */
  addGraph: async (iri: string, turtle: string): Promise<void> => {
    const path = `/graphs?graph=${encodeURIComponent(iri)}`;
    const isThere = await send(path, { method: "HEAD" }).then(() => true, (error: unknown) => !(error instanceof ApiProblem && error.problem.status === 404));
    if (!isThere) await send(path, body("PUT", turtle, "text/turtle"));
  },

  sparql: (text: string) =>
    json<Table>("/sparql", {
      ...body("POST", text, "application/sparql-query"),
      headers: { "Content-Type": "application/sparql-query", Accept: "application/sparql-results+json" },
    }),
  /** How many times the usual number of events the demo sends. */
  demoRate: async () => (await json<{ rate: number }>("/demo")).rate,
  setDemoRate: async (rate: number) => (await json<{ rate: number }>("/demo", body("PUT", JSON.stringify({ rate }), JSON_TYPE))).rate,
  metrics: async () => (await send("/metrics")).text(),
  tokens: async () => (await json<{ tokens: TokenDocument[] }>("/tokens")).tokens,
  makeToken: (name: string, scopes: string[]) =>
    json<TokenDocument & { token: string }>("/tokens", body("POST", JSON.stringify({ name, scopes }), JSON_TYPE)),
  dropToken: async (id: string) => void (await send(`/tokens/${encodeURIComponent(id)}`, { method: "DELETE" })),
};

/** What to tell a person about a failure. */
export function said(error: unknown): string {
  if (error instanceof ApiProblem) {
    return error.problem.hint ? `${error.problem.detail} — ${error.problem.hint}` : error.problem.detail;
  }
  return error instanceof Error ? error.message : String(error);
}
