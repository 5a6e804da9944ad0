/**
 * Highlighting of RSP-QL, C-SPARQL and CQELS-QL. A tokeniser is enough: what is right and what is wrong the server says,
 * and grammars of plain SPARQL refuse every window.
 */
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { AGGREGATES, FUNCTIONS, KEYWORDS, STREAM_WORDS } from "./words";

const keywords = new Set(KEYWORDS);
const streamWords = new Set(STREAM_WORDS);
const functions = new Set([...AGGREGATES, ...FUNCTIONS]);

interface State {
  /** The quotes that end the string we are in. */
  quotes: string | null;
  /** How many braces and brackets are open. */
  depth: number;
}

type Rule = readonly [RegExp, string | ((text: string) => string | null)];

const RULES: readonly Rule[] = [
  [/^#.*/, "comment"],
  [/^<[^<>"{}|^`\\\s]*>/, "url"],
  [/^[?$][\p{L}\p{N}_]+/u, "variableName"],
  [/^@[A-Za-z]+(-[A-Za-z0-9]+)*/, "meta"],
  [/^_:[\p{L}\p{N}_.-]+/u, "atom"],
  [/^[\p{L}][\p{L}\p{N}_.-]*:[\p{L}\p{N}_%.:-]*|^:[\p{L}\p{N}_%.:-]*/u, "propertyName"],
  [/^-?P(\d+[YMWD])*(T(\d+(\.\d+)?[HMS])+)?(?![\w])/, "unit"],
  [/^\d+(\.\d+)?(ms|ns|s|m|h|d)(?![\w])/, "unit"],
  [/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?/, "number"],
  [/^[\p{L}_][\p{L}\p{N}_]*/u, word],
  [/^\^\^/, "operator"],
  [/^(&&|\|\||!=|<=|>=|[=<>!+\-*/^|])/, "operator"],
  [/^[{}()[\]]/, "bracket"],
  [/^[.;,]/, "punctuation"],
];

function word(text: string): string | null {
  const upper = text.toUpperCase();
  if (streamWords.has(upper)) return "modifier";
  if (keywords.has(upper)) return "keyword";
  if (functions.has(upper)) return "function";
  return text === "a" || upper === "TRUE" || upper === "FALSE" ? "atom" : null;
}

function token(stream: StringStream, state: State): string | null {
  if (state.quotes !== null) return insideString(stream, state);
  if (stream.eatSpace()) return null;
  const opening = stream.match(/^("""|'''|"|')/) as RegExpMatchArray | null;
  if (opening !== null) {
    state.quotes = opening[0];
    return insideString(stream, state);
  }
  for (const [pattern, style] of RULES) {
    const found = stream.match(pattern) as RegExpMatchArray | null;
    if (found === null || found[0] === "") continue;
    if (style === "bracket") state.depth = Math.max(0, state.depth + (/[{([]/.test(found[0]) ? 1 : -1));
    return typeof style === "string" ? style : style(found[0]);
  }
  stream.next();
  return null;
}

function insideString(stream: StringStream, state: State): string {
  const quotes = state.quotes ?? '"';
  while (!stream.eol()) {
    if (stream.match(quotes)) {
      state.quotes = null;
      return "string";
    }
    if (stream.next() === "\\") stream.next();
  }
  // Only long strings go on in the next line.
  if (quotes.length === 1) state.quotes = null;
  return "string";
}

export const rspql = StreamLanguage.define<State>({
  name: "rspql",
  startState: () => ({ quotes: null, depth: 0 }),
  copyState: (state) => ({ ...state }),
  token,
  indent: (state, textAfter, context) => context.unit * Math.max(0, state.depth - (/^\s*[})\]]/.test(textAfter) ? 1 : 0)),
  tokenTable: {
    modifier: tags.modifier,
    function: tags.function(tags.name),
    unit: tags.unit,
    url: tags.url,
    punctuation: tags.punctuation,
    bracket: tags.bracket,
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});

const style = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: tags.modifier, color: "var(--code-stream)", fontWeight: "600" },
  { tag: tags.function(tags.name), color: "var(--code-function)" },
  { tag: tags.variableName, color: "var(--code-variable)", whiteSpace: "nowrap" },
  { tag: tags.propertyName, color: "var(--code-name)", whiteSpace: "nowrap" },
  { tag: tags.url, color: "var(--code-iri)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.unit], color: "var(--code-number)" },
  { tag: [tags.atom, tags.meta], color: "var(--code-atom)" },
  { tag: [tags.operator, tags.punctuation, tags.bracket], color: "var(--code-mark)" },
]);

export const highlighting = syntaxHighlighting(style);
