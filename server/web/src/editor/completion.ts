/** What may come next: keywords, prefixes, functions, streams, windows, variables, and predicates that really occur. */
import {
  snippetCompletion, startCompletion, type Completion, type CompletionContext, type CompletionResult,
} from "@codemirror/autocomplete";
import { streams } from "../api/catalogue";
import { COMMON_PREFIXES, prefixesOf, shortIri } from "../rdf/terms";
import { AGAIN_MS, look, seen } from "./seen";
import { variablesOf, windowsOf } from "./text";
import { AGGREGATES, FUNCTIONS, KEYWORDS, STREAM_WORDS } from "./words";

const WORDS: readonly Completion[] = [
  ...KEYWORDS.map((label) => ({ label, type: "keyword" })),
  ...STREAM_WORDS.map((label) => ({ label, type: "keyword", detail: "streams" })),
  ...AGGREGATES.map((label) => snippetCompletion(`${label}(\${?x})`, { label, type: "function", detail: "aggregate" })),
  ...FUNCTIONS.map((label) => snippetCompletion(`${label}(\${})`, { label, type: "function" })),
  snippetCompletion("FROM NAMED WINDOW :${w} ON :${stream} [RANGE ${10s} STEP ${5s}]", {
    label: "FROM NAMED WINDOW … ON …", type: "text", detail: "a window by time", boost: 20,
  }),
  snippetCompletion("WINDOW :${w} { ${} }", { label: "WINDOW … { }", type: "text", detail: "patterns over a window", boost: 10 }),
  snippetCompletion("STREAM <${iri}> [RANGE ${10s}] { ${} }", { label: "STREAM … { }", type: "text", detail: "CQELS-QL" }),
];

/** How long the list may wait for the predicates of streams that nobody has looked at yet. */
const LOOK_MS = 1_500;

export function complete(context: CompletionContext): CompletionResult | null | Promise<CompletionResult | null> {
  const text = context.state.doc.toString();
  const before = context.state.sliceDoc(Math.max(0, context.pos - 120), context.pos);
  return variables(context, text) ?? prefixes(context, before) ?? places(context, text, before) ?? anything(context, text);
}

function variables(context: CompletionContext, text: string): CompletionResult | null {
  const word = context.matchBefore(/[?$][\p{L}\p{N}_]*/u);
  if (word === null) return null;
  const others = variablesOf(text).filter((name) => name !== word.text);
  return { from: word.from, options: others.map((label) => ({ label, type: "variable" })), validFor: /^[?$][\w]*$/ };
}

function prefixes(context: CompletionContext, before: string): CompletionResult | null {
  const found = /\bPREFIX\s+([\w-]*)$/i.exec(before);
  if (found === null) return null;
  const declared = Object.entries(COMMON_PREFIXES).map(([name, iri]) => ({ label: `${name}: <${iri}>`, type: "namespace" }));
  const own = new Set(streams.value.map((one) => one.streamIRI.replace(/[^/#]+$/, "")));
  const ours = Array.from(own, (iri) => ({ label: `: <${iri}>`, type: "namespace", detail: "of a stream here", boost: 5 }));
  return { from: context.pos - (found[1] ?? "").length, options: [...ours, ...declared] };
}

/** After ON and STREAM comes a stream, after WINDOW the name of a window. */
function places(context: CompletionContext, text: string, before: string): CompletionResult | null {
  const found = /\b(ON(?:\s+STREAM)?|STREAM|NAMED\s+WINDOW|WINDOW)\s+(\S*)$/i.exec(before);
  if (found === null || /^NAMED/i.test(found[1] ?? "")) return null;
  const from = context.pos - (found[2] ?? "").length;
  if (/^WINDOW/i.test(found[1] ?? "")) return { from, options: windowsOf(text).map((label) => ({ label, type: "class" })) };
  return { from, options: streamOptions(text) };
}

function streamOptions(text: string): Completion[] {
  const known = prefixesOf(text);
  return streams.value.map((one) => ({
    label: shortIri(one.streamIRI, known), type: "class", detail: `${one.rate.toFixed(1)}/s`,
  }));
}

async function anything(context: CompletionContext, text: string): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\p{L}\p{N}_-]*:?[\p{L}\p{N}_-]*/u);
  if (word === null || (word.text === "" && !context.explicit)) return null;
  const looked = look(streams.value.map((one) => one.streamIRI)).then(() => true);
  const isInTime = await Promise.race([looked, new Promise<boolean>((late) => setTimeout(() => late(false), LOOK_MS))]);
  const names = predicates(text);
  const options = word.text.includes(":") ? names : [...names, ...WORDS];
  const isKnown = isInTime && options.some((one) => one.label.startsWith(word.text));
  // Windows may not hold yet what is being typed: the list is asked for again with the next letter, and after a while.
  if (!isKnown) void looked.then(() => setTimeout(() => openAgain(context), isInTime ? AGAIN_MS : 0));
  return { from: word.from, options, ...(isKnown && { validFor: /^[\p{L}\p{N}_:-]*$/u }) };
}

/** Open the list once more, unless something was typed or the caret has left in the meantime. */
function openAgain(context: CompletionContext): void {
  const view = context.view;
  if (view === undefined || !view.hasFocus || view.state.doc !== context.state.doc) return;
  if (view.state.selection.main.head === context.pos) startCompletion(view);
}

function predicates(text: string): Completion[] {
  const known = prefixesOf(text);
  const found = new Map<string, string>();
  for (const [stream, names] of seen.value) for (const name of names.keys()) found.set(name, stream);
  return Array.from(found, ([iri, stream]) => ({
    label: shortIri(iri, known), type: "property", detail: `seen on ${shortIri(stream, known)}`, boost: 30,
  }));
}
